"""Encoders of ControlledShutdownRequest, v0 to v3.

Made by `make codec` from protocol/schema/07_controlled_shutdown.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_i = Struct(">i").pack
pack_iq = Struct(">iq").pack
pack_iqx = Struct(">iqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    broker_id, _ = msg
    # broker_id to the end
    put(pack_i(broker_id))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    broker_id, broker_epoch = msg
    # broker_id to the end
    put(pack_iq(broker_id, broker_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    broker_id, broker_epoch = msg
    # broker_id to the end
    put(pack_iqx(broker_id, broker_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v3}
PLACES: Final = """\
16 23 29 36 42 49 the message
21 34 47 broker_id to the end
"""

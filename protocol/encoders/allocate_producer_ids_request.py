"""Encoders of AllocateProducerIdsRequest, v0.

Made by `make codec` from protocol/schema/67_allocate_producer_ids.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_iqx = Struct(">iqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
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


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
14 21 the message
19 broker_id to the end
"""

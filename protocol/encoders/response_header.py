"""Encoders of ResponseHeader, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_i = Struct(">i").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (correlation_id,) = msg
    # correlation_id to the end
    put(pack_i(correlation_id))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (correlation_id,) = msg
    # correlation_id to the end
    put(pack_ix(correlation_id))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
15 22 28 35 the message
20 33 correlation_id to the end
"""

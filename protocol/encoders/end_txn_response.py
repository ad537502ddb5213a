"""Encoders of EndTxnResponse, v0 to v4.

Made by `make codec` from protocol/schema/26_end_txn.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_ih = Struct(">ih").pack
pack_ihx = Struct(">ihx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code = msg
    # throttle_time_ms to the end
    put(pack_ih(throttle_time_ms, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code = msg
    # throttle_time_ms to the end
    put(pack_ihx(throttle_time_ms, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v3,
}
PLACES: Final = """\
15 22 28 35 the message
20 33 throttle_time_ms to the end
"""

"""Encoders of InitProducerIdResponse, v0 to v5.

Made by `make codec` from protocol/schema/22_init_producer_id.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_ihqh = Struct(">ihqh").pack
pack_ihqhx = Struct(">ihqhx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, producer_id, producer_epoch = msg
    # throttle_time_ms to the end
    put(pack_ihqh(throttle_time_ms, error_code, producer_id, producer_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, producer_id, producer_epoch = msg
    # throttle_time_ms to the end
    put(pack_ihqhx(throttle_time_ms, error_code, producer_id, producer_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
    5: encode_v2,
}
PLACES: Final = """\
15 22 28 35 the message
20 33 throttle_time_ms to the end
"""

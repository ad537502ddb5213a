"""Encoders of HeartbeatResponse, v0 to v4.

Made by `make codec` from protocol/schema/12_heartbeat.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_ih = Struct(">ih").pack
pack_ihx = Struct(">ihx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, error_code = msg
    # error_code to the end
    put(pack_h(error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
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


def encode_v4(msg: Any) -> list[Any]:
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
    1: encode_v1,
    2: encode_v1,
    3: encode_v1,
    4: encode_v4,
}
PLACES: Final = """\
16 23 29 36 42 49 the message
21 error_code to the end
34 47 throttle_time_ms to the end
"""

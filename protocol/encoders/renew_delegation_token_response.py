"""Encoders of RenewDelegationTokenResponse, v0 to v2.

Made by `make codec` from protocol/schema/39_renew_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_hqi = Struct(">hqi").pack
pack_hqix = Struct(">hqix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, expiry_timestamp_ms, throttle_time_ms = msg
    # error_code to the end
    put(pack_hqi(error_code, expiry_timestamp_ms, throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, expiry_timestamp_ms, throttle_time_ms = msg
    # error_code to the end
    put(pack_hqix(error_code, expiry_timestamp_ms, throttle_time_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
15 22 28 35 the message
20 33 error_code to the end
"""

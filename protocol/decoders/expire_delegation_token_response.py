"""Decoders of ExpireDelegationTokenResponse, v0 to v2.

Made by `make codec` from protocol/schema/40_expire_delegation_token.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.expire_delegation_token_response import ExpireDelegationTokenResponse

unpack_hqi = Struct(">hqi").unpack_from
unpack_hqiB = Struct(">hqiB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ExpireDelegationTokenResponse:
    pos = 0
    # error_code to the end
    error_code, expiry_timestamp_ms, throttle_time_ms = unpack_hqi(buf, pos)
    # the message
    pos += 14
    return new(ExpireDelegationTokenResponse, (error_code, expiry_timestamp_ms, throttle_time_ms))


def decode_v2(buf: memoryview) -> ExpireDelegationTokenResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to tags
    error_code, expiry_timestamp_ms, throttle_time_ms, n = unpack_hqiB(buf, pos)
    # tags
    pos += 15
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ExpireDelegationTokenResponse, (error_code, expiry_timestamp_ms, throttle_time_ms))


DECODERS: Final[dict[int, Callable[[memoryview], ExpireDelegationTokenResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
}
PLACES: Final = """\
19 23 28 38 the message
21 error_code to the end
32 error_code to tags
34 tags
"""

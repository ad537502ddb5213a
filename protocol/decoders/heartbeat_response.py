"""Decoders of HeartbeatResponse, v0 to v4.

Made by `make codec` from protocol/schema/12_heartbeat.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.heartbeat_response import HeartbeatResponse

unpack_h = Struct(">h").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> HeartbeatResponse:
    pos = 0
    # error_code to the end
    (error_code,) = unpack_h(buf, pos)
    # the message
    pos += 2
    return new(HeartbeatResponse, (0, error_code))


def decode_v1(buf: memoryview) -> HeartbeatResponse:
    pos = 0
    # throttle_time_ms to the end
    throttle_time_ms, error_code = unpack_ih(buf, pos)
    # the message
    pos += 6
    return new(HeartbeatResponse, (throttle_time_ms, error_code))


def decode_v4(buf: memoryview) -> HeartbeatResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to tags
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # tags
    pos += 7
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(HeartbeatResponse, (throttle_time_ms, error_code))


DECODERS: Final[dict[int, Callable[[memoryview], HeartbeatResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v4,
}
PLACES: Final = """\
20 24 29 33 38 48 the message
22 error_code to the end
31 throttle_time_ms to the end
42 throttle_time_ms to tags
44 tags
"""

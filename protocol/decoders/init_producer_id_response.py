"""Decoders of InitProducerIdResponse, v0 to v5.

Made by `make codec` from protocol/schema/22_init_producer_id.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.init_producer_id_response import InitProducerIdResponse

unpack_ihqh = Struct(">ihqh").unpack_from
unpack_ihqhB = Struct(">ihqhB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> InitProducerIdResponse:
    pos = 0
    # throttle_time_ms to the end
    throttle_time_ms, error_code, producer_id, producer_epoch = unpack_ihqh(buf, pos)
    # the message
    pos += 16
    return new(InitProducerIdResponse, (throttle_time_ms, error_code, producer_id, producer_epoch))


def decode_v2(buf: memoryview) -> InitProducerIdResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to tags
    throttle_time_ms, error_code, producer_id, producer_epoch, n = unpack_ihqhB(buf, pos)
    # tags
    pos += 17
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(InitProducerIdResponse, (throttle_time_ms, error_code, producer_id, producer_epoch))


DECODERS: Final[dict[int, Callable[[memoryview], InitProducerIdResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
    5: decode_v2,
}
PLACES: Final = """\
19 23 28 38 the message
21 throttle_time_ms to the end
32 throttle_time_ms to tags
34 tags
"""

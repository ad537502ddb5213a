"""Decoders of AllocateProducerIdsResponse, v0.

Made by `make codec` from protocol/schema/67_allocate_producer_ids.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse

unpack_ihqiB = Struct(">ihqiB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AllocateProducerIdsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to tags
    throttle_time_ms, error_code, producer_id_start, producer_id_len, n = unpack_ihqiB(buf, pos)
    # tags
    pos += 19
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AllocateProducerIdsResponse, (throttle_time_ms, error_code, producer_id_start, producer_id_len))


DECODERS: Final[dict[int, Callable[[memoryview], AllocateProducerIdsResponse]]] = {0: decode_v0}
PLACES: Final = """\
18 28 the message
22 throttle_time_ms to tags
24 tags
"""

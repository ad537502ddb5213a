"""Decoders of AllocateProducerIdsRequest, v0.

Made by `make codec` from protocol/schema/67_allocate_producer_ids.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest

unpack_iqB = Struct(">iqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AllocateProducerIdsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # broker_id to tags
    broker_id, broker_epoch, n = unpack_iqB(buf, pos)
    # tags
    pos += 13
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AllocateProducerIdsRequest, (broker_id, broker_epoch))


DECODERS: Final[dict[int, Callable[[memoryview], AllocateProducerIdsRequest]]] = {0: decode_v0}
PLACES: Final = """\
18 28 the message
22 broker_id to tags
24 tags
"""

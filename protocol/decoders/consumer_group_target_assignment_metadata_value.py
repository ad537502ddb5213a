"""Decoders of ConsumerGroupTargetAssignmentMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import skip_tags
from headrace.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)

unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupTargetAssignmentMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # assignment_epoch to tags
    assignment_epoch, n = unpack_iB(buf, pos)
    # tags
    pos += 5
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ConsumerGroupTargetAssignmentMetadataValue, (assignment_epoch,))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupTargetAssignmentMetadataValue]]] = {0: decode_v0}
PLACES: Final = """\
20 30 the message
24 assignment_epoch to tags
26 tags
"""

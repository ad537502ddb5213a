"""Decoders of ConsumerGroupTargetAssignmentMemberValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupTargetAssignmentMemberValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topic_partitions
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 18 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 252
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    topic_partitions = []
    for _ in range(n):
        # topic_partitions.topic_id to topic_partitions.partitions
        topic_id, n = unpack_16sB(buf, pos)
        # topic_partitions.partitions
        pos += 17
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 4 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 52
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
        # topic_partitions.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topic_partitions
        topic_partitions.append(new(TopicPartition, (topic_id, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ConsumerGroupTargetAssignmentMemberValue, (topic_partitions,))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupTargetAssignmentMemberValue]]] = {0: decode_v0}
PLACES: Final = """\
22 69 the message
26 62 topic_partitions
41 topic_partitions.topic_id to topic_partitions.partitions
43 topic_partitions.partitions
57 topic_partitions.tags
64 tags
"""

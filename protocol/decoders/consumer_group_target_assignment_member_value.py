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
    topic_partitions_count = buf[pos]
    pos += 1
    if topic_partitions_count > 127:
        topic_partitions_count, pos = read_uvarint(buf, pos - 1)
    topic_partitions_count -= 1
    if topic_partitions_count < 0:
        raise Malformed(f"invalid length {topic_partitions_count}")
    if topic_partitions_count * 18 > end - pos:
        raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= topic_partitions_count * 252
    if budget < 0:
        raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topic_partitions = []
    for _ in range(topic_partitions_count):
        # topic_partitions.topic_id to topic_partitions.partitions
        topic_id, partitions_count = unpack_16sB(buf, pos)
        # topic_partitions.partitions
        pos += 17
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 4 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 52
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
        pos += partitions_count * 4
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

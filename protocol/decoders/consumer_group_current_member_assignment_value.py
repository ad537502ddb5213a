"""Decoders of ConsumerGroupCurrentMemberAssignmentValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_iibB = Struct(">iibB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupCurrentMemberAssignmentValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # member_epoch to assigned_partitions
    member_epoch, previous_member_epoch, state, assigned_partitions_count = unpack_iibB(buf, pos)
    # assigned_partitions
    pos += 10
    if assigned_partitions_count > 127:
        assigned_partitions_count, pos = read_uvarint(buf, pos - 1)
    assigned_partitions_count -= 1
    if assigned_partitions_count < 0:
        raise Malformed(f"invalid length {assigned_partitions_count}")
    if assigned_partitions_count * 18 > end - pos:
        raise Malformed(f"{assigned_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= assigned_partitions_count * 252
    if budget < 0:
        raise Malformed(f"{assigned_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    assigned_partitions = []
    for _ in range(assigned_partitions_count):
        # assigned_partitions.topic_id to assigned_partitions.partitions
        topic_id, partitions_count = unpack_16sB(buf, pos)
        # assigned_partitions.partitions
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
        # assigned_partitions.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # assigned_partitions
        assigned_partitions.append(new(TopicPartitions, (topic_id, partitions)))
    # partitions_pending_revocation
    partitions_pending_revocation_count = buf[pos]
    pos += 1
    if partitions_pending_revocation_count > 127:
        partitions_pending_revocation_count, pos = read_uvarint(buf, pos - 1)
    partitions_pending_revocation_count -= 1
    if partitions_pending_revocation_count < 0:
        raise Malformed(f"invalid length {partitions_pending_revocation_count}")
    if partitions_pending_revocation_count * 18 > end - pos:
        raise Malformed(f"{partitions_pending_revocation_count} elements announced, {end - pos} bytes remain")
    budget -= partitions_pending_revocation_count * 252
    if budget < 0:
        raise Malformed(f"{partitions_pending_revocation_count} more would take more than {DECODED_BYTES_MAX} bytes")
    partitions_pending_revocation = []
    for _ in range(partitions_pending_revocation_count):
        # partitions_pending_revocation.topic_id to partitions_pending_revocation.partitions
        topic_id_2, partitions_count_2 = unpack_16sB(buf, pos)
        # partitions_pending_revocation.partitions
        pos += 17
        if partitions_count_2 > 127:
            partitions_count_2, pos = read_uvarint(buf, pos - 1)
        partitions_count_2 -= 1
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # partitions_pending_revocation.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # partitions_pending_revocation
        partitions_pending_revocation.append(new(TopicPartitions, (topic_id_2, partitions_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        ConsumerGroupCurrentMemberAssignmentValue,
        (member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation),
    )


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupCurrentMemberAssignmentValue]]] = {0: decode_v0}
PLACES: Final = """\
23 109 the message
27 member_epoch to assigned_partitions
29 64 assigned_partitions
43 assigned_partitions.topic_id to assigned_partitions.partitions
45 assigned_partitions.partitions
59 assigned_partitions.tags
66 102 partitions_pending_revocation
81 partitions_pending_revocation.topic_id to partitions_pending_revocation.partitions
83 partitions_pending_revocation.partitions
97 partitions_pending_revocation.tags
104 tags
"""

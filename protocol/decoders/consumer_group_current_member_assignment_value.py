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
    member_epoch, previous_member_epoch, state, n = unpack_iibB(buf, pos)
    # assigned_partitions
    pos += 10
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
    assigned_partitions = []
    for _ in range(n):
        # assigned_partitions.topic_id to assigned_partitions.partitions
        topic_id, n = unpack_16sB(buf, pos)
        # assigned_partitions.partitions
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
        # assigned_partitions.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # assigned_partitions
        assigned_partitions.append(new(TopicPartitions, (topic_id, partitions)))
    # partitions_pending_revocation
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
    partitions_pending_revocation = []
    for _ in range(n):
        # partitions_pending_revocation.topic_id to partitions_pending_revocation.partitions
        topic_id_2, n = unpack_16sB(buf, pos)
        # partitions_pending_revocation.partitions
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
        partitions_2 = list(unpack_from(f">{n}i", buf, pos))
        pos += n * 4
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

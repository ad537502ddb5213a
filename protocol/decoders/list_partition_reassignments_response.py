"""Decoders of ListPartitionReassignmentsResponse, v0.

Made by `make codec` from protocol/schema/46_list_partition_reassignments.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from headrace.protocol.varint import read_uvarint

unpack_iB = Struct(">iB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListPartitionReassignmentsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # error_message
    pos += 7
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 3 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 8 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 412
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.replicas
            partition_index, replicas_count = unpack_iB(buf, pos)
            # topics.partitions.replicas
            pos += 5
            if replicas_count > 127:
                replicas_count, pos = read_uvarint(buf, pos - 1)
            replicas_count -= 1
            if replicas_count < 0:
                raise Malformed(f"invalid length {replicas_count}")
            if replicas_count * 4 > end - pos:
                raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
            budget -= replicas_count * 52
            if budget < 0:
                raise Malformed(f"{replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
            pos += replicas_count * 4
            # topics.partitions.adding_replicas
            adding_replicas_count = buf[pos]
            pos += 1
            if adding_replicas_count > 127:
                adding_replicas_count, pos = read_uvarint(buf, pos - 1)
            adding_replicas_count -= 1
            if adding_replicas_count < 0:
                raise Malformed(f"invalid length {adding_replicas_count}")
            if adding_replicas_count * 4 > end - pos:
                raise Malformed(f"{adding_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= adding_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{adding_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            adding_replicas = list(unpack_from(f">{adding_replicas_count}i", buf, pos))
            pos += adding_replicas_count * 4
            # topics.partitions.removing_replicas
            removing_replicas_count = buf[pos]
            pos += 1
            if removing_replicas_count > 127:
                removing_replicas_count, pos = read_uvarint(buf, pos - 1)
            removing_replicas_count -= 1
            if removing_replicas_count < 0:
                raise Malformed(f"invalid length {removing_replicas_count}")
            if removing_replicas_count * 4 > end - pos:
                raise Malformed(f"{removing_replicas_count} elements announced, {end - pos} bytes remain")
            budget -= removing_replicas_count * 52
            if budget < 0:
                raise Malformed(f"{removing_replicas_count} more would take more than {DECODED_BYTES_MAX} bytes")
            removing_replicas = list(unpack_from(f">{removing_replicas_count}i", buf, pos))
            pos += removing_replicas_count * 4
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(OngoingPartitionReassignment, (partition_index, replicas, adding_replicas, removing_replicas))
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(OngoingTopicReassignment, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ListPartitionReassignmentsResponse, (throttle_time_ms, error_code, error_message, topics))


DECODERS: Final[dict[int, Callable[[memoryview], ListPartitionReassignmentsResponse]]] = {0: decode_v0}
PLACES: Final = """\
25 158 the message
29 throttle_time_ms to error_message
31 error_message
46 151 topics
61 topics.name
76 142 topics.partitions
91 topics.partitions.partition_index to topics.partitions.replicas
93 topics.partitions.replicas
107 topics.partitions.adding_replicas
122 topics.partitions.removing_replicas
137 topics.partitions.tags
146 topics.tags
153 tags
"""

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
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 3 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 268
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(n):
        # topics.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        if n * 8 > end - pos:
            raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
        budget -= n * 412
        if budget < 0:
            raise Malformed(f"{n} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(n):
            # topics.partitions.partition_index to topics.partitions.replicas
            partition_index, n = unpack_iB(buf, pos)
            # topics.partitions.replicas
            pos += 5
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
            replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topics.partitions.adding_replicas
            n = buf[pos]
            pos += 1
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
            adding_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
            # topics.partitions.removing_replicas
            n = buf[pos]
            pos += 1
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
            removing_replicas = list(unpack_from(f">{n}i", buf, pos))
            pos += n * 4
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

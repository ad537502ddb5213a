"""Decoders of ListPartitionReassignmentsRequest, v0.

Made by `make codec` from protocol/schema/46_list_partition_reassignments.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from headrace.protocol.varint import read_uvarint

unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListPartitionReassignmentsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # timeout_ms to topics
    timeout_ms, topics_count = unpack_iB(buf, pos)
    # topics
    pos += 5
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        topics = None
    else:
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
            # topics.partition_indexes
            partition_indexes_count = buf[pos]
            pos += 1
            if partition_indexes_count > 127:
                partition_indexes_count, pos = read_uvarint(buf, pos - 1)
            partition_indexes_count -= 1
            if partition_indexes_count < 0:
                raise Malformed(f"invalid length {partition_indexes_count}")
            if partition_indexes_count * 4 > end - pos:
                raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
            budget -= partition_indexes_count * 52
            if budget < 0:
                raise Malformed(
                    f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
            pos += partition_indexes_count * 4
            # topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics
            topics.append(new(ListPartitionReassignmentsTopics, (name, partition_indexes)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(ListPartitionReassignmentsRequest, (timeout_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], ListPartitionReassignmentsRequest]]] = {0: decode_v0}
PLACES: Final = """\
23 88 the message
27 timeout_ms to topics
29 81 topics
44 topics.name
59 topics.partition_indexes
76 topics.tags
83 tags
"""

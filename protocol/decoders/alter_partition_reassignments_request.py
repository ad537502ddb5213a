"""Decoders of AlterPartitionReassignmentsRequest, v0.

Made by `make codec` from protocol/schema/45_alter_partition_reassignments.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterPartitionReassignmentsRequest:
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
        raise Malformed(f"invalid length {topics_count}")
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
        # topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 6 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 220
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
                replicas = None
            else:
                if replicas_count * 4 > end - pos:
                    raise Malformed(f"{replicas_count} elements announced, {end - pos} bytes remain")
                budget -= replicas_count * 52
                if budget < 0:
                    raise Malformed(f"{replicas_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
                replicas = list(unpack_from(f">{replicas_count}i", buf, pos))
                pos += replicas_count * 4
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(new(ReassignablePartition, (partition_index, replicas)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(ReassignableTopic, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterPartitionReassignmentsRequest, (timeout_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], AlterPartitionReassignmentsRequest]]] = {0: decode_v0}
PLACES: Final = """\
24 110 the message
28 timeout_ms to topics
30 103 topics
44 topics.name
59 96 topics.partitions
74 topics.partitions.partition_index to topics.partitions.replicas
76 topics.partitions.replicas
91 topics.partitions.tags
98 topics.tags
105 tags
"""

"""Decoders of ConsumerGroupPartitionMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_partition_metadata_value import (
    ConsumerGroupPartitionMetadataValue,
    PartitionMetadata,
    TopicMetadata,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupPartitionMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    topics_count = buf[pos]
    pos += 1
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 23 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 380
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.topic_id to topics.topic_name
        topic_id, n = unpack_16sB(buf, pos)
        # topics.topic_name
        pos += 17
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
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.num_partitions to topics.partition_metadata
        num_partitions, partition_metadata_count = unpack_iB(buf, pos)
        # topics.partition_metadata
        pos += 5
        if partition_metadata_count > 127:
            partition_metadata_count, pos = read_uvarint(buf, pos - 1)
        partition_metadata_count -= 1
        if partition_metadata_count < 0:
            raise Malformed(f"invalid length {partition_metadata_count}")
        if partition_metadata_count * 6 > end - pos:
            raise Malformed(f"{partition_metadata_count} elements announced, {end - pos} bytes remain")
        budget -= partition_metadata_count * 220
        if budget < 0:
            raise Malformed(f"{partition_metadata_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_metadata = []
        for _ in range(partition_metadata_count):
            # topics.partition_metadata.partition to topics.partition_metadata.racks
            partition, racks_count = unpack_iB(buf, pos)
            # topics.partition_metadata.racks
            pos += 5
            if racks_count > 127:
                racks_count, pos = read_uvarint(buf, pos - 1)
            racks_count -= 1
            if racks_count < 0:
                raise Malformed(f"invalid length {racks_count}")
            if racks_count * 1 > end - pos:
                raise Malformed(f"{racks_count} elements announced, {end - pos} bytes remain")
            budget -= racks_count * 100
            if budget < 0:
                raise Malformed(f"{racks_count} more would take more than {DECODED_BYTES_MAX} bytes")
            racks = []
            for _ in range(racks_count):
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
                one = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                racks.append(one)
            # topics.partition_metadata.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partition_metadata
            partition_metadata.append(new(PartitionMetadata, (partition, racks)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(TopicMetadata, (topic_id, topic_name, num_partitions, partition_metadata)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ConsumerGroupPartitionMetadataValue, (topics,))


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupPartitionMetadataValue]]] = {0: decode_v0}
PLACES: Final = """\
25 126 the message
29 119 topics
44 topics.topic_id to topics.topic_name
46 topics.topic_name
60 topics.num_partitions to topics.partition_metadata
62 112 topics.partition_metadata
76 topics.partition_metadata.partition to topics.partition_metadata.racks
78 topics.partition_metadata.racks
107 topics.partition_metadata.tags
114 topics.tags
121 tags
"""

"""Decoders of ShareGroupPartitionMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.share_group_partition_metadata_value import (
    ShareGroupPartitionMetadataValue,
    TopicInfo,
    TopicPartitionsInfo,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ShareGroupPartitionMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # initialized_topics
    initialized_topics_count = buf[pos]
    pos += 1
    if initialized_topics_count > 127:
        initialized_topics_count, pos = read_uvarint(buf, pos - 1)
    initialized_topics_count -= 1
    if initialized_topics_count < 0:
        raise Malformed(f"invalid length {initialized_topics_count}")
    if initialized_topics_count * 19 > end - pos:
        raise Malformed(f"{initialized_topics_count} elements announced, {end - pos} bytes remain")
    budget -= initialized_topics_count * 340
    if budget < 0:
        raise Malformed(f"{initialized_topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    initialized_topics = []
    for _ in range(initialized_topics_count):
        # initialized_topics.topic_id to initialized_topics.topic_name
        topic_id, n = unpack_16sB(buf, pos)
        # initialized_topics.topic_name
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
        # initialized_topics.partitions
        partitions_count = buf[pos]
        pos += 1
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
        # initialized_topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # initialized_topics
        initialized_topics.append(new(TopicPartitionsInfo, (topic_id, topic_name, partitions)))
    # deleting_topics
    deleting_topics_count = buf[pos]
    pos += 1
    if deleting_topics_count > 127:
        deleting_topics_count, pos = read_uvarint(buf, pos - 1)
    deleting_topics_count -= 1
    if deleting_topics_count < 0:
        raise Malformed(f"invalid length {deleting_topics_count}")
    if deleting_topics_count * 18 > end - pos:
        raise Malformed(f"{deleting_topics_count} elements announced, {end - pos} bytes remain")
    budget -= deleting_topics_count * 244
    if budget < 0:
        raise Malformed(f"{deleting_topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    deleting_topics = []
    for _ in range(deleting_topics_count):
        # deleting_topics.topic_id to deleting_topics.topic_name
        topic_id_2, n = unpack_16sB(buf, pos)
        # deleting_topics.topic_name
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
        topic_name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # deleting_topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # deleting_topics
        deleting_topics.append(new(TopicInfo, (topic_id_2, topic_name_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ShareGroupPartitionMetadataValue, (initialized_topics, deleting_topics))


DECODERS: Final[dict[int, Callable[[memoryview], ShareGroupPartitionMetadataValue]]] = {0: decode_v0}
PLACES: Final = """\
24 124 the message
28 79 initialized_topics
43 initialized_topics.topic_id to initialized_topics.topic_name
45 initialized_topics.topic_name
59 initialized_topics.partitions
74 initialized_topics.tags
81 117 deleting_topics
96 deleting_topics.topic_id to deleting_topics.topic_name
98 deleting_topics.topic_name
112 deleting_topics.tags
119 tags
"""

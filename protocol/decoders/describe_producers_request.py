"""Decoders of DescribeProducersRequest, v0.

Made by `make codec` from protocol/schema/61_describe_producers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from headrace.protocol.varint import read_uvarint

new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeProducersRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
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
            raise Malformed(f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
        pos += partition_indexes_count * 4
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(TopicRequest, (name, partition_indexes)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeProducersRequest, (topics,))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeProducersRequest]]] = {0: decode_v0}
PLACES: Final = """\
19 80 the message
23 73 topics
38 topics.name
53 topics.partition_indexes
68 topics.tags
75 tags
"""

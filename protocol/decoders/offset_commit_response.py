"""Decoders of OffsetCommitResponse, v0 to v9.

Made by `make codec` from protocol/schema/08_offset_commit.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetCommitResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 6 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions
            partition_index, error_code = unpack_ih(buf, pos)
            # topics.partitions
            pos += 6
            partitions.append(new(OffsetCommitResponsePartition, (partition_index, error_code)))
        # topics
        topics.append(new(OffsetCommitResponseTopic, (name, partitions)))
    # the message
    return new(OffsetCommitResponse, (0, topics))


def decode_v3(buf: memoryview) -> OffsetCommitResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, topics_count = unpack_ii(buf, pos)
    # topics
    pos += 8
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 6 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions
            partition_index, error_code = unpack_ih(buf, pos)
            # topics.partitions
            pos += 6
            partitions.append(new(OffsetCommitResponsePartition, (partition_index, error_code)))
        # topics
        topics.append(new(OffsetCommitResponseTopic, (name, partitions)))
    # the message
    return new(OffsetCommitResponse, (throttle_time_ms, topics))


def decode_v8(buf: memoryview) -> OffsetCommitResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, topics_count = unpack_iB(buf, pos)
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
        if partitions_count * 7 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.tags
            partition_index, error_code, n = unpack_ihB(buf, pos)
            # topics.partitions.tags
            pos += 7
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(new(OffsetCommitResponsePartition, (partition_index, error_code)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(OffsetCommitResponseTopic, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(OffsetCommitResponse, (throttle_time_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetCommitResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v3,
    5: decode_v3,
    6: decode_v3,
    7: decode_v3,
    8: decode_v8,
    9: decode_v8,
}
PLACES: Final = """\
29 74 78 124 128 198 the message
33 72 84 122 134 191 topics
45 95 148 topics.name
55 69 105 119 163 184 topics.partitions
67 117 topics.partitions.partition_index to topics.partitions
82 132 throttle_time_ms to topics
178 topics.partitions.partition_index to topics.partitions.tags
180 topics.partitions.tags
186 topics.tags
193 tags
"""

"""Decoders of OffsetForLeaderEpochResponse, v0 to v4.

Made by `make codec` from protocol/schema/23_offset_for_leader_epoch.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hiiq = Struct(">hiiq").unpack_from
unpack_hiiqB = Struct(">hiiqB").unpack_from
unpack_hiq = Struct(">hiq").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetForLeaderEpochResponse:
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
        # topics.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 14 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 228
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions
            error_code, partition, end_offset = unpack_hiq(buf, pos)
            # topics.partitions
            pos += 14
            partitions.append(new(EpochEndOffset, (error_code, partition, -1, end_offset)))
        # topics
        topics.append(new(OffsetForLeaderTopicResult, (topic, partitions)))
    # the message
    return new(OffsetForLeaderEpochResponse, (0, topics))


def decode_v1(buf: memoryview) -> OffsetForLeaderEpochResponse:
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
        # topics.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 260
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions
            error_code, partition, leader_epoch, end_offset = unpack_hiiq(buf, pos)
            # topics.partitions
            pos += 18
            partitions.append(new(EpochEndOffset, (error_code, partition, leader_epoch, end_offset)))
        # topics
        topics.append(new(OffsetForLeaderTopicResult, (topic, partitions)))
    # the message
    return new(OffsetForLeaderEpochResponse, (0, topics))


def decode_v2(buf: memoryview) -> OffsetForLeaderEpochResponse:
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
        # topics.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 260
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions
            error_code, partition, leader_epoch, end_offset = unpack_hiiq(buf, pos)
            # topics.partitions
            pos += 18
            partitions.append(new(EpochEndOffset, (error_code, partition, leader_epoch, end_offset)))
        # topics
        topics.append(new(OffsetForLeaderTopicResult, (topic, partitions)))
    # the message
    return new(OffsetForLeaderEpochResponse, (throttle_time_ms, topics))


def decode_v4(buf: memoryview) -> OffsetForLeaderEpochResponse:
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
        # topics.topic
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
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 19 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 260
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.error_code to topics.partitions.tags
            error_code, partition, leader_epoch, end_offset, n = unpack_hiiqB(buf, pos)
            # topics.partitions.tags
            pos += 19
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(new(EpochEndOffset, (error_code, partition, leader_epoch, end_offset)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(OffsetForLeaderTopicResult, (topic, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(OffsetForLeaderEpochResponse, (throttle_time_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetForLeaderEpochResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
    4: decode_v4,
}
PLACES: Final = """\
30 75 79 124 128 174 178 248 the message
34 73 83 122 134 172 184 241 topics
46 95 145 198 topics.topic
56 70 105 119 155 169 213 234 topics.partitions
68 117 167 topics.partitions.error_code to topics.partitions
132 182 throttle_time_ms to topics
228 topics.partitions.error_code to topics.partitions.tags
230 topics.partitions.tags
236 topics.tags
243 tags
"""

"""Decoders of ListOffsetsResponse, v0 to v9.

Made by `make codec` from protocol/schema/02_list_offsets.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ihi = Struct(">ihi").unpack_from
unpack_ihqq = Struct(">ihqq").unpack_from
unpack_ihqqi = Struct(">ihqqi").unpack_from
unpack_ihqqiB = Struct(">ihqqiB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ListOffsetsResponse:
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
        if partitions_count * 10 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 284
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.old_style_offsets
            partition_index, error_code, old_style_offsets_count = unpack_ihi(buf, pos)
            # topics.partitions.old_style_offsets
            pos += 10
            if old_style_offsets_count < 0:
                raise Malformed(f"invalid length {old_style_offsets_count}")
            if old_style_offsets_count * 8 > end - pos:
                raise Malformed(f"{old_style_offsets_count} elements announced, {end - pos} bytes remain")
            budget -= old_style_offsets_count * 68
            if budget < 0:
                raise Malformed(f"{old_style_offsets_count} more would take more than {DECODED_BYTES_MAX} bytes")
            old_style_offsets = list(unpack_from(f">{old_style_offsets_count}q", buf, pos))
            pos += old_style_offsets_count * 8
            # topics.partitions
            partitions.append(
                new(ListOffsetsPartitionResponse, (partition_index, error_code, old_style_offsets, -1, -1, -1))
            )
        # topics
        topics.append(new(ListOffsetsTopicResponse, (name, partitions)))
    # the message
    return new(ListOffsetsResponse, (0, topics))


def decode_v1(buf: memoryview) -> ListOffsetsResponse:
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
        if partitions_count * 22 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 292
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions
            partition_index, error_code, timestamp, offset = unpack_ihqq(buf, pos)
            # topics.partitions
            pos += 22
            partitions.append(
                new(ListOffsetsPartitionResponse, (partition_index, error_code, (), timestamp, offset, -1))
            )
        # topics
        topics.append(new(ListOffsetsTopicResponse, (name, partitions)))
    # the message
    return new(ListOffsetsResponse, (0, topics))


def decode_v2(buf: memoryview) -> ListOffsetsResponse:
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
        if partitions_count * 22 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 292
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions
            partition_index, error_code, timestamp, offset = unpack_ihqq(buf, pos)
            # topics.partitions
            pos += 22
            partitions.append(
                new(ListOffsetsPartitionResponse, (partition_index, error_code, (), timestamp, offset, -1))
            )
        # topics
        topics.append(new(ListOffsetsTopicResponse, (name, partitions)))
    # the message
    return new(ListOffsetsResponse, (throttle_time_ms, topics))


def decode_v4(buf: memoryview) -> ListOffsetsResponse:
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
        if partitions_count * 26 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 324
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions
            partition_index, error_code, timestamp, offset, leader_epoch = unpack_ihqqi(buf, pos)
            # topics.partitions
            pos += 26
            partitions.append(
                new(ListOffsetsPartitionResponse, (partition_index, error_code, (), timestamp, offset, leader_epoch))
            )
        # topics
        topics.append(new(ListOffsetsTopicResponse, (name, partitions)))
    # the message
    return new(ListOffsetsResponse, (throttle_time_ms, topics))


def decode_v6(buf: memoryview) -> ListOffsetsResponse:
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
        if partitions_count * 27 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 324
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.tags
            partition_index, error_code, timestamp, offset, leader_epoch, n = unpack_ihqqiB(buf, pos)
            # topics.partitions.tags
            pos += 27
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(ListOffsetsPartitionResponse, (partition_index, error_code, (), timestamp, offset, leader_epoch))
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(ListOffsetsTopicResponse, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ListOffsetsResponse, (throttle_time_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], ListOffsetsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
    4: decode_v4,
    5: decode_v4,
    6: decode_v6,
    7: decode_v6,
    8: decode_v6,
    9: decode_v6,
}
PLACES: Final = """\
31 88 92 139 143 191 195 243 247 319 the message
35 86 96 137 149 189 201 241 253 312 topics
47 108 160 212 267 topics.name
57 82 118 132 170 184 222 236 282 303 topics.partitions
69 topics.partitions.partition_index to topics.partitions.old_style_offsets
71 topics.partitions.old_style_offsets
130 182 234 topics.partitions.partition_index to topics.partitions
147 199 251 throttle_time_ms to topics
297 topics.partitions.partition_index to topics.partitions.tags
299 topics.partitions.tags
307 topics.tags
314 tags
"""

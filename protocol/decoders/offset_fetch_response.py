"""Decoders of OffsetFetchResponse, v0 to v9.

Made by `make codec` from protocol/schema/09_offset_fetch.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
unpack_iqh = Struct(">iqh").unpack_from
unpack_iqiB = Struct(">iqiB").unpack_from
unpack_iqih = Struct(">iqih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetFetchResponse:
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
        if partitions_count * 16 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.error_code to topics.partitions
            (error_code,) = unpack_h(buf, pos)
            # topics.partitions
            pos += 2
            partitions.append(
                new(OffsetFetchResponsePartition, (partition_index, committed_offset, -1, metadata, error_code))
            )
        # topics
        topics.append(new(OffsetFetchResponseTopic, (name, partitions)))
    # the message
    return new(OffsetFetchResponse, (0, topics, 0, ()))


def decode_v2(buf: memoryview) -> OffsetFetchResponse:
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
        if partitions_count * 16 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.error_code to topics.partitions
            (error_code,) = unpack_h(buf, pos)
            # topics.partitions
            pos += 2
            partitions.append(
                new(OffsetFetchResponsePartition, (partition_index, committed_offset, -1, metadata, error_code))
            )
        # topics
        topics.append(new(OffsetFetchResponseTopic, (name, partitions)))
    # error_code to the end
    (error_code_2,) = unpack_h(buf, pos)
    # the message
    pos += 2
    return new(OffsetFetchResponse, (0, topics, error_code_2, ()))


def decode_v3(buf: memoryview) -> OffsetFetchResponse:
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
        if partitions_count * 16 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.error_code to topics.partitions
            (error_code,) = unpack_h(buf, pos)
            # topics.partitions
            pos += 2
            partitions.append(
                new(OffsetFetchResponsePartition, (partition_index, committed_offset, -1, metadata, error_code))
            )
        # topics
        topics.append(new(OffsetFetchResponseTopic, (name, partitions)))
    # error_code to the end
    (error_code_2,) = unpack_h(buf, pos)
    # the message
    pos += 2
    return new(OffsetFetchResponse, (throttle_time_ms, topics, error_code_2, ()))


def decode_v5(buf: memoryview) -> OffsetFetchResponse:
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
        if partitions_count * 20 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 348
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqih(buf, pos)
            # topics.partitions.metadata
            pos += 18
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.error_code to topics.partitions
            (error_code,) = unpack_h(buf, pos)
            # topics.partitions
            pos += 2
            partitions.append(
                new(
                    OffsetFetchResponsePartition,
                    (partition_index, committed_offset, committed_leader_epoch, metadata, error_code),
                )
            )
        # topics
        topics.append(new(OffsetFetchResponseTopic, (name, partitions)))
    # error_code to the end
    (error_code_2,) = unpack_h(buf, pos)
    # the message
    pos += 2
    return new(OffsetFetchResponse, (throttle_time_ms, topics, error_code_2, ()))


def decode_v6(buf: memoryview) -> OffsetFetchResponse:
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
        if partitions_count * 20 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 348
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqiB(buf, pos)
            # topics.partitions.metadata
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.error_code to topics.partitions.tags
            error_code, n = unpack_hB(buf, pos)
            # topics.partitions.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    OffsetFetchResponsePartition,
                    (partition_index, committed_offset, committed_leader_epoch, metadata, error_code),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(OffsetFetchResponseTopic, (name, partitions)))
    # error_code to tags
    error_code_2, n = unpack_hB(buf, pos)
    # tags
    pos += 3
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(OffsetFetchResponse, (throttle_time_ms, topics, error_code_2, ()))


def decode_v8(buf: memoryview) -> OffsetFetchResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to groups
    throttle_time_ms, groups_count = unpack_iB(buf, pos)
    # groups
    pos += 5
    if groups_count > 127:
        groups_count, pos = read_uvarint(buf, pos - 1)
    groups_count -= 1
    if groups_count < 0:
        raise Malformed(f"invalid length {groups_count}")
    if groups_count * 5 > end - pos:
        raise Malformed(f"{groups_count} elements announced, {end - pos} bytes remain")
    budget -= groups_count * 308
    if budget < 0:
        raise Malformed(f"{groups_count} more would take more than {DECODED_BYTES_MAX} bytes")
    groups = []
    for _ in range(groups_count):
        # groups.group_id
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
        group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # groups.topics
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
            # groups.topics.name
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
            # groups.topics.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 20 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 348
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # groups.topics.partitions.partition_index to groups.topics.partitions.metadata
                partition_index, committed_offset, committed_leader_epoch, n = unpack_iqiB(buf, pos)
                # groups.topics.partitions.metadata
                pos += 17
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    metadata = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # groups.topics.partitions.error_code to groups.topics.partitions.tags
                error_code, n = unpack_hB(buf, pos)
                # groups.topics.partitions.tags
                pos += 3
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # groups.topics.partitions
                partitions.append(
                    new(
                        OffsetFetchResponsePartitions,
                        (partition_index, committed_offset, committed_leader_epoch, metadata, error_code),
                    )
                )
            # groups.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # groups.topics
            topics.append(new(OffsetFetchResponseTopics, (name, partitions)))
        # groups.error_code to groups.tags
        error_code_2, n = unpack_hB(buf, pos)
        # groups.tags
        pos += 3
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # groups
        groups.append(new(OffsetFetchResponseGroup, (group_id, topics, error_code_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(OffsetFetchResponse, (throttle_time_ms, (), 0, groups))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetFetchResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
    4: decode_v3,
    5: decode_v5,
    6: decode_v6,
    7: decode_v6,
    8: decode_v8,
    9: decode_v8,
}
PLACES: Final = """\
34 95 99 162 167 231 236 303 308 401 405 535 the message
38 93 103 158 173 227 242 299 314 393 topics
50 115 184 253 328 topics.name
60 88 125 153 194 222 263 291 343 381 topics.partitions
72 137 206 275 358 topics.partitions.partition_index to topics.partitions.metadata
74 139 208 277 360 topics.partitions.metadata
86 151 220 289 topics.partitions.error_code to topics.partitions
160 229 301 error_code to the end
171 240 312 throttle_time_ms to topics
375 topics.partitions.error_code to topics.partitions.tags
377 topics.partitions.tags
388 topics.tags
395 error_code to tags
397 530 tags
409 throttle_time_ms to groups
411 528 groups
425 groups.group_id
440 520 groups.topics
455 groups.topics.name
470 508 groups.topics.partitions
485 groups.topics.partitions.partition_index to groups.topics.partitions.metadata
487 groups.topics.partitions.metadata
502 groups.topics.partitions.error_code to groups.topics.partitions.tags
504 groups.topics.partitions.tags
515 groups.topics.tags
522 groups.error_code to groups.tags
524 groups.tags
"""

"""Decoders of OffsetCommitRequest, v0 to v9.

Made by `make codec` from protocol/schema/08_offset_commit.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_iqh = Struct(">iqh").unpack_from
unpack_iqiB = Struct(">iqiB").unpack_from
unpack_iqih = Struct(">iqih").unpack_from
unpack_iqqh = Struct(">iqqh").unpack_from
unpack_qi = Struct(">qi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 14 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 284
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.committed_metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(OffsetCommitRequestPartition, (partition_index, committed_offset, -1, -1, committed_metadata))
            )
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(OffsetCommitRequest, (group_id, -1, "", None, -1, topics))


def decode_v1(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation_id_or_member_epoch to member_id
    generation_id_or_member_epoch, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        budget -= partitions_count * 332
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, commit_timestamp, n = unpack_iqqh(buf, pos)
            # topics.partitions.committed_metadata
            pos += 22
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(
                    OffsetCommitRequestPartition,
                    (partition_index, committed_offset, -1, commit_timestamp, committed_metadata),
                )
            )
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(OffsetCommitRequest, (group_id, generation_id_or_member_epoch, member_id, None, -1, topics))


def decode_v2(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation_id_or_member_epoch to member_id
    generation_id_or_member_epoch, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # retention_time_ms to topics
    retention_time_ms, topics_count = unpack_qi(buf, pos)
    # topics
    pos += 12
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 14 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 284
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.committed_metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(OffsetCommitRequestPartition, (partition_index, committed_offset, -1, -1, committed_metadata))
            )
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(
        OffsetCommitRequest, (group_id, generation_id_or_member_epoch, member_id, None, retention_time_ms, topics)
    )


def decode_v5(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation_id_or_member_epoch to member_id
    generation_id_or_member_epoch, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 14 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 284
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, n = unpack_iqh(buf, pos)
            # topics.partitions.committed_metadata
            pos += 14
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(OffsetCommitRequestPartition, (partition_index, committed_offset, -1, -1, committed_metadata))
            )
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(OffsetCommitRequest, (group_id, generation_id_or_member_epoch, member_id, None, -1, topics))


def decode_v6(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation_id_or_member_epoch to member_id
    generation_id_or_member_epoch, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqih(buf, pos)
            # topics.partitions.committed_metadata
            pos += 18
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(
                    OffsetCommitRequestPartition,
                    (partition_index, committed_offset, committed_leader_epoch, -1, committed_metadata),
                )
            )
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(OffsetCommitRequest, (group_id, generation_id_or_member_epoch, member_id, None, -1, topics))


def decode_v7(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    group_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # generation_id_or_member_epoch to member_id
    generation_id_or_member_epoch, n = unpack_ih(buf, pos)
    # member_id
    pos += 6
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_instance_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < -1:
        raise Malformed(f"length {n}")
    if n < 0:
        group_instance_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqih(buf, pos)
            # topics.partitions.committed_metadata
            pos += 18
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions
            partitions.append(
                new(
                    OffsetCommitRequestPartition,
                    (partition_index, committed_offset, committed_leader_epoch, -1, committed_metadata),
                )
            )
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # the message
    return new(OffsetCommitRequest, (group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics))


def decode_v8(buf: memoryview) -> OffsetCommitRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # group_id
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
    # generation_id_or_member_epoch to member_id
    generation_id_or_member_epoch, n = unpack_iB(buf, pos)
    # member_id
    pos += 5
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
    member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # group_instance_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        group_instance_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        group_instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
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
        # topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 18 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            partition_index, committed_offset, committed_leader_epoch, n = unpack_iqiB(buf, pos)
            # topics.partitions.committed_metadata
            pos += 17
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                committed_metadata = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                committed_metadata = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    OffsetCommitRequestPartition,
                    (partition_index, committed_offset, committed_leader_epoch, -1, committed_metadata),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(OffsetCommitRequestTopic, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(OffsetCommitRequest, (group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetCommitRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
    5: decode_v5,
    6: decode_v6,
    7: decode_v7,
    8: decode_v8,
    9: decode_v8,
}
PLACES: Final = """\
32 100 104 186 190 270 276 355 359 441 445 540 544 681 the message
36 108 194 280 363 449 548 group_id
46 98 129 184 217 268 301 353 384 439 483 538 595 674 topics
58 141 228 313 396 495 610 topics.name
68 94 151 177 238 264 323 349 406 432 505 531 625 662 topics.partitions
80 163 250 335 418 517 640 topics.partitions.partition_index to topics.partitions.committed_metadata
82 165 252 337 420 519 642 topics.partitions.committed_metadata
118 204 290 373 459 563 generation_id_or_member_epoch to member_id
120 206 292 375 461 565 member_id
215 retention_time_ms to topics
470 579 group_instance_id
657 topics.partitions.tags
669 topics.tags
676 tags
"""

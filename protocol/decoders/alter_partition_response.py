"""Decoders of AlterPartitionResponse, v0 to v3.

Made by `make codec` from protocol/schema/56_alter_partition.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_biB = Struct(">biB").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihiiB = Struct(">ihiiB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterPartitionResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, error_code, topics_count = unpack_ihB(buf, pos)
    # topics
    pos += 7
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 3 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.topic_name
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
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
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
        budget -= partitions_count * 388
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.isr
            partition_index, error_code_2, leader_id, leader_epoch, isr_count = unpack_ihiiB(buf, pos)
            # topics.partitions.isr
            pos += 15
            if isr_count > 127:
                isr_count, pos = read_uvarint(buf, pos - 1)
            isr_count -= 1
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topics.partitions.partition_epoch to topics.partitions.tags
            partition_epoch, n = unpack_iB(buf, pos)
            # topics.partitions.tags
            pos += 5
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(PartitionData, (partition_index, error_code_2, leader_id, leader_epoch, isr, 0, partition_epoch))
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(TopicData, (topic_name, ZERO_UUID, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterPartitionResponse, (throttle_time_ms, error_code, topics))


def decode_v1(buf: memoryview) -> AlterPartitionResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, error_code, topics_count = unpack_ihB(buf, pos)
    # topics
    pos += 7
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 3 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.topic_name
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
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 21 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 420
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.isr
            partition_index, error_code_2, leader_id, leader_epoch, isr_count = unpack_ihiiB(buf, pos)
            # topics.partitions.isr
            pos += 15
            if isr_count > 127:
                isr_count, pos = read_uvarint(buf, pos - 1)
            isr_count -= 1
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topics.partitions.leader_recovery_state to topics.partitions.tags
            leader_recovery_state, partition_epoch, n = unpack_biB(buf, pos)
            # topics.partitions.tags
            pos += 6
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        leader_id,
                        leader_epoch,
                        isr,
                        leader_recovery_state,
                        partition_epoch,
                    ),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(TopicData, (topic_name, ZERO_UUID, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterPartitionResponse, (throttle_time_ms, error_code, topics))


def decode_v2(buf: memoryview) -> AlterPartitionResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to topics
    throttle_time_ms, error_code, topics_count = unpack_ihB(buf, pos)
    # topics
    pos += 7
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 18 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 260
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.topic_id to topics.partitions
        topic_id, partitions_count = unpack_16sB(buf, pos)
        # topics.partitions
        pos += 17
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 21 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 420
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.isr
            partition_index, error_code_2, leader_id, leader_epoch, isr_count = unpack_ihiiB(buf, pos)
            # topics.partitions.isr
            pos += 15
            if isr_count > 127:
                isr_count, pos = read_uvarint(buf, pos - 1)
            isr_count -= 1
            if isr_count < 0:
                raise Malformed(f"invalid length {isr_count}")
            if isr_count * 4 > end - pos:
                raise Malformed(f"{isr_count} elements announced, {end - pos} bytes remain")
            budget -= isr_count * 52
            if budget < 0:
                raise Malformed(f"{isr_count} more would take more than {DECODED_BYTES_MAX} bytes")
            isr = list(unpack_from(f">{isr_count}i", buf, pos))
            pos += isr_count * 4
            # topics.partitions.leader_recovery_state to topics.partitions.tags
            leader_recovery_state, partition_epoch, n = unpack_biB(buf, pos)
            # topics.partitions.tags
            pos += 6
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    PartitionData,
                    (
                        partition_index,
                        error_code_2,
                        leader_id,
                        leader_epoch,
                        isr,
                        leader_recovery_state,
                        partition_epoch,
                    ),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(TopicData, ("", topic_id, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterPartitionResponse, (throttle_time_ms, error_code, topics))


DECODERS: Final[dict[int, Callable[[memoryview], AlterPartitionResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
25 113 117 216 220 305 the message
29 121 224 throttle_time_ms to topics
31 106 123 209 226 298 topics
45 137 topics.topic_name
60 97 152 189 242 278 topics.partitions
75 167 256 topics.partitions.partition_index to topics.partitions.isr
77 169 258 topics.partitions.isr
91 topics.partitions.partition_epoch to topics.partitions.tags
93 185 274 topics.partitions.tags
101 204 293 topics.tags
108 211 300 tags
183 272 topics.partitions.leader_recovery_state to topics.partitions.tags
240 topics.topic_id to topics.partitions
"""

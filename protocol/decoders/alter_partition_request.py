"""Decoders of AlterPartitionRequest, v0 to v3.

Made by `make codec` from protocol/schema/56_alter_partition.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_biB = Struct(">biB").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iiB = Struct(">iiB").unpack_from
unpack_iqB = Struct(">iqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterPartitionRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # broker_id to topics
    broker_id, broker_epoch, topics_count = unpack_iqB(buf, pos)
    # topics
    pos += 13
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 3 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 14 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 316
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.new_isr
            partition_index, leader_epoch, new_isr_count = unpack_iiB(buf, pos)
            # topics.partitions.new_isr
            pos += 9
            if new_isr_count > 127:
                new_isr_count, pos = read_uvarint(buf, pos - 1)
            new_isr_count -= 1
            if new_isr_count < 0:
                raise Malformed(f"invalid length {new_isr_count}")
            if new_isr_count * 4 > end - pos:
                raise Malformed(f"{new_isr_count} elements announced, {end - pos} bytes remain")
            budget -= new_isr_count * 52
            if budget < 0:
                raise Malformed(f"{new_isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            new_isr = list(unpack_from(f">{new_isr_count}i", buf, pos))
            pos += new_isr_count * 4
            # topics.partitions.partition_epoch to topics.partitions.tags
            partition_epoch, n = unpack_iB(buf, pos)
            # topics.partitions.tags
            pos += 5
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(new(PartitionData, (partition_index, leader_epoch, new_isr, (), 0, partition_epoch)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(TopicData, (topic_name, ZERO_UUID, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterPartitionRequest, (broker_id, broker_epoch, topics))


def decode_v1(buf: memoryview) -> AlterPartitionRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # broker_id to topics
    broker_id, broker_epoch, topics_count = unpack_iqB(buf, pos)
    # topics
    pos += 13
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 3 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 15 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 348
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.new_isr
            partition_index, leader_epoch, new_isr_count = unpack_iiB(buf, pos)
            # topics.partitions.new_isr
            pos += 9
            if new_isr_count > 127:
                new_isr_count, pos = read_uvarint(buf, pos - 1)
            new_isr_count -= 1
            if new_isr_count < 0:
                raise Malformed(f"invalid length {new_isr_count}")
            if new_isr_count * 4 > end - pos:
                raise Malformed(f"{new_isr_count} elements announced, {end - pos} bytes remain")
            budget -= new_isr_count * 52
            if budget < 0:
                raise Malformed(f"{new_isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            new_isr = list(unpack_from(f">{new_isr_count}i", buf, pos))
            pos += new_isr_count * 4
            # topics.partitions.leader_recovery_state to topics.partitions.tags
            leader_recovery_state, partition_epoch, n = unpack_biB(buf, pos)
            # topics.partitions.tags
            pos += 6
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(PartitionData, (partition_index, leader_epoch, new_isr, (), leader_recovery_state, partition_epoch))
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(TopicData, (topic_name, ZERO_UUID, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterPartitionRequest, (broker_id, broker_epoch, topics))


def decode_v2(buf: memoryview) -> AlterPartitionRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # broker_id to topics
    broker_id, broker_epoch, topics_count = unpack_iqB(buf, pos)
    # topics
    pos += 13
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 18 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 260
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 15 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 348
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.new_isr
            partition_index, leader_epoch, new_isr_count = unpack_iiB(buf, pos)
            # topics.partitions.new_isr
            pos += 9
            if new_isr_count > 127:
                new_isr_count, pos = read_uvarint(buf, pos - 1)
            new_isr_count -= 1
            if new_isr_count < 0:
                raise Malformed(f"invalid length {new_isr_count}")
            if new_isr_count * 4 > end - pos:
                raise Malformed(f"{new_isr_count} elements announced, {end - pos} bytes remain")
            budget -= new_isr_count * 52
            if budget < 0:
                raise Malformed(f"{new_isr_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            new_isr = list(unpack_from(f">{new_isr_count}i", buf, pos))
            pos += new_isr_count * 4
            # topics.partitions.leader_recovery_state to topics.partitions.tags
            leader_recovery_state, partition_epoch, n = unpack_biB(buf, pos)
            # topics.partitions.tags
            pos += 6
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(PartitionData, (partition_index, leader_epoch, new_isr, (), leader_recovery_state, partition_epoch))
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(TopicData, ("", topic_id, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterPartitionRequest, (broker_id, broker_epoch, topics))


def decode_v3(buf: memoryview) -> AlterPartitionRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # broker_id to topics
    broker_id, broker_epoch, topics_count = unpack_iqB(buf, pos)
    # topics
    pos += 13
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 18 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 260
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 15 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 348
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions.new_isr_with_epochs
            partition_index, leader_epoch, new_isr_with_epochs_count = unpack_iiB(buf, pos)
            # topics.partitions.new_isr_with_epochs
            pos += 9
            if new_isr_with_epochs_count > 127:
                new_isr_with_epochs_count, pos = read_uvarint(buf, pos - 1)
            new_isr_with_epochs_count -= 1
            if new_isr_with_epochs_count < 0:
                raise Malformed(f"invalid length {new_isr_with_epochs_count}")
            if new_isr_with_epochs_count * 13 > end - pos:
                raise Malformed(f"{new_isr_with_epochs_count} elements announced, {end - pos} bytes remain")
            budget -= new_isr_with_epochs_count * 180
            if budget < 0:
                raise Malformed(
                    f"{new_isr_with_epochs_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes"
                )
            new_isr_with_epochs = []
            for _ in range(new_isr_with_epochs_count):
                # topics.partitions.new_isr_with_epochs.broker_id to topics.partitions.new_isr_with_epochs.tags
                broker_id_2, broker_epoch_2, n = unpack_iqB(buf, pos)
                # topics.partitions.new_isr_with_epochs.tags
                pos += 13
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
                # topics.partitions.new_isr_with_epochs
                new_isr_with_epochs.append(new(BrokerState, (broker_id_2, broker_epoch_2)))
            # topics.partitions.leader_recovery_state to topics.partitions.tags
            leader_recovery_state, partition_epoch, n = unpack_biB(buf, pos)
            # topics.partitions.tags
            pos += 6
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    PartitionData,
                    (partition_index, leader_epoch, (), new_isr_with_epochs, leader_recovery_state, partition_epoch),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(TopicData, ("", topic_id, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterPartitionRequest, (broker_id, broker_epoch, topics))


DECODERS: Final[dict[int, Callable[[memoryview], AlterPartitionRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
}
PLACES: Final = """\
30 116 120 208 212 286 290 377 the message
34 124 216 294 broker_id to topics
36 109 126 201 218 279 296 370 topics
50 140 topics.topic_name
65 102 155 192 234 270 312 358 topics.partitions
80 170 248 topics.partitions.partition_index to topics.partitions.new_isr
82 172 250 topics.partitions.new_isr
96 topics.partitions.partition_epoch to topics.partitions.tags
98 188 266 354 topics.partitions.tags
104 196 274 365 topics.tags
111 203 281 372 tags
186 264 352 topics.partitions.leader_recovery_state to topics.partitions.tags
232 310 topics.topic_id to topics.partitions
326 topics.partitions.partition_index to topics.partitions.new_isr_with_epochs
328 350 topics.partitions.new_isr_with_epochs
344 topics.partitions.new_isr_with_epochs.broker_id to topics.partitions.new_isr_with_epochs.tags
346 topics.partitions.new_isr_with_epochs.tags
"""

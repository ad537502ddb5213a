"""Decoders of StopReplicaRequest, v0 to v4.

Made by `make codec` from protocol/schema/05_stop_replica.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB0iqB = Struct(">i?iqB").unpack_from
unpack_iiB0B = Struct(">ii?B").unpack_from
unpack_iiB0i = Struct(">ii?i").unpack_from
unpack_iiqB = Struct(">iiqB").unpack_from
unpack_iiqB0B = Struct(">iiq?B").unpack_from
unpack_iiqB0i = Struct(">iiq?i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> StopReplicaRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to ungrouped_partitions
    controller_id, controller_epoch, delete_partitions, ungrouped_partitions_count = unpack_iiB0i(buf, pos)
    # ungrouped_partitions
    pos += 13
    if ungrouped_partitions_count < 0:
        raise Malformed(f"invalid length {ungrouped_partitions_count}")
    if ungrouped_partitions_count * 6 > end - pos:
        raise Malformed(f"{ungrouped_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= ungrouped_partitions_count * 212
    if budget < 0:
        raise Malformed(f"{ungrouped_partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    ungrouped_partitions = []
    for _ in range(ungrouped_partitions_count):
        # ungrouped_partitions.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # ungrouped_partitions.partition_index to ungrouped_partitions
        (partition_index,) = unpack_i(buf, pos)
        # ungrouped_partitions
        pos += 4
        ungrouped_partitions.append(new(StopReplicaPartitionV0, (topic_name, partition_index)))
    # the message
    return new(
        StopReplicaRequest,
        (controller_id, False, controller_epoch, -1, delete_partitions, ungrouped_partitions, (), ()),
    )


def decode_v1(buf: memoryview) -> StopReplicaRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topics
    controller_id, controller_epoch, broker_epoch, delete_partitions, topics_count = unpack_iiqB0i(buf, pos)
    # topics
    pos += 21
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
        # topics.partition_indexes
        (partition_indexes_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_indexes_count < 0:
            raise Malformed(f"invalid length {partition_indexes_count}")
        if partition_indexes_count * 4 > end - pos:
            raise Malformed(f"{partition_indexes_count} elements announced, {end - pos} bytes remain")
        budget -= partition_indexes_count * 52
        if budget < 0:
            raise Malformed(f"{partition_indexes_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_indexes = list(unpack_from(f">{partition_indexes_count}i", buf, pos))
        pos += partition_indexes_count * 4
        # topics
        topics.append(new(StopReplicaTopicV1, (name, partition_indexes)))
    # the message
    return new(
        StopReplicaRequest, (controller_id, False, controller_epoch, broker_epoch, delete_partitions, (), topics, ())
    )


def decode_v2(buf: memoryview) -> StopReplicaRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topics
    controller_id, controller_epoch, broker_epoch, delete_partitions, topics_count = unpack_iiqB0B(buf, pos)
    # topics
    pos += 18
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
        topics.append(new(StopReplicaTopicV1, (name, partition_indexes)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        StopReplicaRequest, (controller_id, False, controller_epoch, broker_epoch, delete_partitions, (), topics, ())
    )


def decode_v3(buf: memoryview) -> StopReplicaRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, controller_epoch, broker_epoch, topic_states_count = unpack_iiqB(buf, pos)
    # topic_states
    pos += 17
    if topic_states_count > 127:
        topic_states_count, pos = read_uvarint(buf, pos - 1)
    topic_states_count -= 1
    if topic_states_count < 0:
        raise Malformed(f"invalid length {topic_states_count}")
    if topic_states_count * 3 > end - pos:
        raise Malformed(f"{topic_states_count} elements announced, {end - pos} bytes remain")
    budget -= topic_states_count * 268
    if budget < 0:
        raise Malformed(f"{topic_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(topic_states_count):
        # topic_states.topic_name
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
        # topic_states.partition_states
        partition_states_count = buf[pos]
        pos += 1
        if partition_states_count > 127:
            partition_states_count, pos = read_uvarint(buf, pos - 1)
        partition_states_count -= 1
        if partition_states_count < 0:
            raise Malformed(f"invalid length {partition_states_count}")
        if partition_states_count * 10 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 172
        if budget < 0:
            raise Malformed(f"{partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(partition_states_count):
            # topic_states.partition_states.partition_index to topic_states.partition_states.tags
            partition_index, leader_epoch, delete_partition, n = unpack_iiB0B(buf, pos)
            # topic_states.partition_states.tags
            pos += 10
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(new(StopReplicaPartitionState, (partition_index, leader_epoch, delete_partition)))
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(StopReplicaTopicState, (topic_name, partition_states)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(StopReplicaRequest, (controller_id, False, controller_epoch, broker_epoch, False, (), (), topic_states))


def decode_v4(buf: memoryview) -> StopReplicaRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # controller_id to topic_states
    controller_id, is_kraft_controller, controller_epoch, broker_epoch, topic_states_count = unpack_iB0iqB(buf, pos)
    # topic_states
    pos += 18
    if topic_states_count > 127:
        topic_states_count, pos = read_uvarint(buf, pos - 1)
    topic_states_count -= 1
    if topic_states_count < 0:
        raise Malformed(f"invalid length {topic_states_count}")
    if topic_states_count * 3 > end - pos:
        raise Malformed(f"{topic_states_count} elements announced, {end - pos} bytes remain")
    budget -= topic_states_count * 268
    if budget < 0:
        raise Malformed(f"{topic_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topic_states = []
    for _ in range(topic_states_count):
        # topic_states.topic_name
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
        # topic_states.partition_states
        partition_states_count = buf[pos]
        pos += 1
        if partition_states_count > 127:
            partition_states_count, pos = read_uvarint(buf, pos - 1)
        partition_states_count -= 1
        if partition_states_count < 0:
            raise Malformed(f"invalid length {partition_states_count}")
        if partition_states_count * 10 > end - pos:
            raise Malformed(f"{partition_states_count} elements announced, {end - pos} bytes remain")
        budget -= partition_states_count * 172
        if budget < 0:
            raise Malformed(f"{partition_states_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partition_states = []
        for _ in range(partition_states_count):
            # topic_states.partition_states.partition_index to topic_states.partition_states.tags
            partition_index, leader_epoch, delete_partition, n = unpack_iiB0B(buf, pos)
            # topic_states.partition_states.tags
            pos += 10
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topic_states.partition_states
            partition_states.append(new(StopReplicaPartitionState, (partition_index, leader_epoch, delete_partition)))
        # topic_states.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topic_states
        topic_states.append(new(StopReplicaTopicState, (topic_name, partition_states)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(
        StopReplicaRequest,
        (controller_id, is_kraft_controller, controller_epoch, broker_epoch, False, (), (), topic_states),
    )


DECODERS: Final[dict[int, Callable[[memoryview], StopReplicaRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v3,
    4: decode_v4,
}
PLACES: Final = """\
33 65 72 113 119 181 187 257 261 331 the message
37 controller_id to ungrouped_partitions
39 62 ungrouped_partitions
50 ungrouped_partitions.topic_name
60 ungrouped_partitions.partition_index to ungrouped_partitions
76 123 controller_id to topics
78 111 125 174 topics
89 139 topics.name
99 154 topics.partition_indexes
169 topics.tags
176 252 326 tags
191 265 controller_id to topic_states
193 250 267 324 topic_states
207 281 topic_states.topic_name
222 243 296 317 topic_states.partition_states
237 311 topic_states.partition_states.partition_index to topic_states.partition_states.tags
239 313 topic_states.partition_states.tags
245 319 topic_states.tags
"""

"""Decoders of FetchRequest, v0 to v17.

Made by `make codec` from protocol/schema/01_fetch.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Any, Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from headrace.protocol.varint import read_uvarint

REPLICA_STATE = FetchRequest._field_defaults["replica_state"]
unpack_16s = Struct(">16s").unpack_from
unpack_16sB = Struct(">16sB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iiibiiB = Struct(">iiibiiB").unpack_from
unpack_iiii = Struct(">iiii").unpack_from
unpack_iiiibi = Struct(">iiiibi").unpack_from
unpack_iiiibiiB = Struct(">iiiibiiB").unpack_from
unpack_iiiibiii = Struct(">iiiibiii").unpack_from
unpack_iiiii = Struct(">iiiii").unpack_from
unpack_iiqiqiB = Struct(">iiqiqiB").unpack_from
unpack_iiqqi = Struct(">iiqqi").unpack_from
unpack_iqB = Struct(">iqB").unpack_from
unpack_iqi = Struct(">iqi").unpack_from
unpack_iqqi = Struct(">iqqi").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, topics_count = unpack_iiii(buf, pos)
    # topics
    pos += 16
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 16 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 252
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, fetch_offset, partition_max_bytes = unpack_iqi(buf, pos)
            # topics.partitions
            pos += 16
            partitions.append(
                new(FetchPartition, (partition, -1, fetch_offset, -1, -1, partition_max_bytes, ZERO_UUID))
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # the message
    return new(
        FetchRequest, (None, replica_id, REPLICA_STATE, max_wait_ms, min_bytes, 2147483647, 0, 0, -1, topics, (), "")
    )


def decode_v3(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, topics_count = unpack_iiiii(buf, pos)
    # topics
    pos += 20
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 16 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 252
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, fetch_offset, partition_max_bytes = unpack_iqi(buf, pos)
            # topics.partitions
            pos += 16
            partitions.append(
                new(FetchPartition, (partition, -1, fetch_offset, -1, -1, partition_max_bytes, ZERO_UUID))
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # the message
    return new(
        FetchRequest, (None, replica_id, REPLICA_STATE, max_wait_ms, min_bytes, max_bytes, 0, 0, -1, topics, (), "")
    )


def decode_v4(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, topics_count = unpack_iiiibi(buf, pos)
    # topics
    pos += 21
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 16 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 252
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, fetch_offset, partition_max_bytes = unpack_iqi(buf, pos)
            # topics.partitions
            pos += 16
            partitions.append(
                new(FetchPartition, (partition, -1, fetch_offset, -1, -1, partition_max_bytes, ZERO_UUID))
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # the message
    return new(
        FetchRequest,
        (None, replica_id, REPLICA_STATE, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, (), ""),
    )


def decode_v5(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, topics_count = unpack_iiiibi(buf, pos)
    # topics
    pos += 21
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 24 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 300
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, fetch_offset, log_start_offset, partition_max_bytes = unpack_iqqi(buf, pos)
            # topics.partitions
            pos += 24
            partitions.append(
                new(FetchPartition, (partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, ZERO_UUID))
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # the message
    return new(
        FetchRequest,
        (None, replica_id, REPLICA_STATE, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics, (), ""),
    )


def decode_v7(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        unpack_iiiibiii(buf, pos)
    )
    # topics
    pos += 29
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 24 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 300
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, fetch_offset, log_start_offset, partition_max_bytes = unpack_iqqi(buf, pos)
            # topics.partitions
            pos += 24
            partitions.append(
                new(FetchPartition, (partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes, ZERO_UUID))
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # forgotten_topics_data
    (forgotten_topics_data_count,) = unpack_i(buf, pos)
    pos += 4
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 6 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 276
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # forgotten_topics_data.partitions
        (partitions_count_2,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, (topic_2, ZERO_UUID, partitions_2)))
    # the message
    return new(
        FetchRequest,
        (
            None,
            replica_id,
            REPLICA_STATE,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            "",
        ),
    )


def decode_v9(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        unpack_iiiibiii(buf, pos)
    )
    # topics
    pos += 29
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 28 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 332
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = unpack_iiqqi(
                buf, pos
            )
            # topics.partitions
            pos += 28
            partitions.append(
                new(
                    FetchPartition,
                    (
                        partition,
                        current_leader_epoch,
                        fetch_offset,
                        -1,
                        log_start_offset,
                        partition_max_bytes,
                        ZERO_UUID,
                    ),
                )
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # forgotten_topics_data
    (forgotten_topics_data_count,) = unpack_i(buf, pos)
    pos += 4
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 6 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 276
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # forgotten_topics_data.partitions
        (partitions_count_2,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, (topic_2, ZERO_UUID, partitions_2)))
    # the message
    return new(
        FetchRequest,
        (
            None,
            replica_id,
            REPLICA_STATE,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            "",
        ),
    )


def decode_v11(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        unpack_iiiibiii(buf, pos)
    )
    # topics
    pos += 29
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 276
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        if partitions_count * 28 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 332
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions
            partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = unpack_iiqqi(
                buf, pos
            )
            # topics.partitions
            pos += 28
            partitions.append(
                new(
                    FetchPartition,
                    (
                        partition,
                        current_leader_epoch,
                        fetch_offset,
                        -1,
                        log_start_offset,
                        partition_max_bytes,
                        ZERO_UUID,
                    ),
                )
            )
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # forgotten_topics_data
    (forgotten_topics_data_count,) = unpack_i(buf, pos)
    pos += 4
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 6 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 276
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # forgotten_topics_data.partitions
        (partitions_count_2,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, (topic_2, ZERO_UUID, partitions_2)))
    # rack_id
    (n,) = unpack_h(buf, pos)
    pos += 2
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    return new(
        FetchRequest,
        (
            None,
            replica_id,
            REPLICA_STATE,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        ),
    )


def decode_v12(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        unpack_iiiibiiB(buf, pos)
    )
    # topics
    pos += 26
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
        if partitions_count * 33 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 364
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions.tags
            (
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                n,
            ) = unpack_iiqiqiB(buf, pos)
            # topics.partitions.tags
            pos += 33
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    FetchPartition,
                    (
                        partition,
                        current_leader_epoch,
                        fetch_offset,
                        last_fetched_epoch,
                        log_start_offset,
                        partition_max_bytes,
                        ZERO_UUID,
                    ),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(FetchTopic, (topic, ZERO_UUID, partitions)))
    # forgotten_topics_data
    forgotten_topics_data_count = buf[pos]
    pos += 1
    if forgotten_topics_data_count > 127:
        forgotten_topics_data_count, pos = read_uvarint(buf, pos - 1)
    forgotten_topics_data_count -= 1
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 3 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 276
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic
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
        topic_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # forgotten_topics_data.partitions
        partitions_count_2 = buf[pos]
        pos += 1
        if partitions_count_2 > 127:
            partitions_count_2, pos = read_uvarint(buf, pos - 1)
        partitions_count_2 -= 1
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, (topic_2, ZERO_UUID, partitions_2)))
    # rack_id
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
    rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    cluster_id = None
    # tags
    n = buf[pos]
    pos += 1
    if n:
        tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        for _ in range(tag_count):
            tag = buf[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_uvarint(buf, pos - 1)
            tag_size = buf[pos]
            pos += 1
            if tag_size > 127:
                tag_size, pos = read_uvarint(buf, pos - 1)
            tag_stop = pos + tag_size
            if tag_stop > end:
                raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
            if tag == 0:
                # tags.cluster_id
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    cluster_id = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop
    # the message
    return new(
        FetchRequest,
        (
            cluster_id,
            replica_id,
            REPLICA_STATE,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        ),
    )


def decode_v13(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # replica_id to topics
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = (
        unpack_iiiibiiB(buf, pos)
    )
    # topics
    pos += 26
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
        if partitions_count * 33 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 364
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions.tags
            (
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                n,
            ) = unpack_iiqiqiB(buf, pos)
            # topics.partitions.tags
            pos += 33
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    FetchPartition,
                    (
                        partition,
                        current_leader_epoch,
                        fetch_offset,
                        last_fetched_epoch,
                        log_start_offset,
                        partition_max_bytes,
                        ZERO_UUID,
                    ),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(FetchTopic, ("", topic_id, partitions)))
    # forgotten_topics_data
    forgotten_topics_data_count = buf[pos]
    pos += 1
    if forgotten_topics_data_count > 127:
        forgotten_topics_data_count, pos = read_uvarint(buf, pos - 1)
    forgotten_topics_data_count -= 1
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 18 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 260
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
        topic_id_2, partitions_count_2 = unpack_16sB(buf, pos)
        # forgotten_topics_data.partitions
        pos += 17
        if partitions_count_2 > 127:
            partitions_count_2, pos = read_uvarint(buf, pos - 1)
        partitions_count_2 -= 1
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, ("", topic_id_2, partitions_2)))
    # rack_id
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
    rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    cluster_id = None
    # tags
    n = buf[pos]
    pos += 1
    if n:
        tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        for _ in range(tag_count):
            tag = buf[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_uvarint(buf, pos - 1)
            tag_size = buf[pos]
            pos += 1
            if tag_size > 127:
                tag_size, pos = read_uvarint(buf, pos - 1)
            tag_stop = pos + tag_size
            if tag_stop > end:
                raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
            if tag == 0:
                # tags.cluster_id
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    cluster_id = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop
    # the message
    return new(
        FetchRequest,
        (
            cluster_id,
            replica_id,
            REPLICA_STATE,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        ),
    )


def decode_v15(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # max_wait_ms to topics
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = unpack_iiibiiB(
        buf, pos
    )
    # topics
    pos += 22
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
        if partitions_count * 33 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 364
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition to topics.partitions.tags
            (
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                n,
            ) = unpack_iiqiqiB(buf, pos)
            # topics.partitions.tags
            pos += 33
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.partitions
            partitions.append(
                new(
                    FetchPartition,
                    (
                        partition,
                        current_leader_epoch,
                        fetch_offset,
                        last_fetched_epoch,
                        log_start_offset,
                        partition_max_bytes,
                        ZERO_UUID,
                    ),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(FetchTopic, ("", topic_id, partitions)))
    # forgotten_topics_data
    forgotten_topics_data_count = buf[pos]
    pos += 1
    if forgotten_topics_data_count > 127:
        forgotten_topics_data_count, pos = read_uvarint(buf, pos - 1)
    forgotten_topics_data_count -= 1
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 18 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 260
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
        topic_id_2, partitions_count_2 = unpack_16sB(buf, pos)
        # forgotten_topics_data.partitions
        pos += 17
        if partitions_count_2 > 127:
            partitions_count_2, pos = read_uvarint(buf, pos - 1)
        partitions_count_2 -= 1
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, ("", topic_id_2, partitions_2)))
    # rack_id
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
    rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    cluster_id = None
    replica_state = REPLICA_STATE
    # tags
    n = buf[pos]
    pos += 1
    if n:
        tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        for _ in range(tag_count):
            tag = buf[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_uvarint(buf, pos - 1)
            tag_size = buf[pos]
            pos += 1
            if tag_size > 127:
                tag_size, pos = read_uvarint(buf, pos - 1)
            tag_stop = pos + tag_size
            if tag_stop > end:
                raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
            if tag == 0:
                # tags.cluster_id
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    cluster_id = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            if tag == 1:
                # tags.replica_state.replica_id to tags.replica_state.tags
                replica_id, replica_epoch, n = unpack_iqB(buf, pos)
                # tags.replica_state.tags
                pos += 13
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
                # tags.replica_state
                replica_state = new(ReplicaState, (replica_id, replica_epoch))
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop
    # the message
    return new(
        FetchRequest,
        (
            cluster_id,
            -1,
            replica_state,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        ),
    )


def decode_v17(buf: memoryview) -> FetchRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # max_wait_ms to topics
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics_count = unpack_iiibiiB(
        buf, pos
    )
    # topics
    pos += 22
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
        if partitions_count * 33 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 428
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            replica_directory_id: Any = ZERO_UUID
            # topics.partitions.partition to topics.partitions.tags
            (
                partition,
                current_leader_epoch,
                fetch_offset,
                last_fetched_epoch,
                log_start_offset,
                partition_max_bytes,
                n,
            ) = unpack_iiqiqiB(buf, pos)
            # topics.partitions.tags
            pos += 33
            if n:
                tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
                for _ in range(tag_count):
                    tag = buf[pos]
                    pos += 1
                    if tag > 127:
                        tag, pos = read_uvarint(buf, pos - 1)
                    tag_size = buf[pos]
                    pos += 1
                    if tag_size > 127:
                        tag_size, pos = read_uvarint(buf, pos - 1)
                    tag_stop = pos + tag_size
                    if tag_stop > end:
                        raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
                    if tag == 0:
                        # topics.partitions.tags.replica_directory_id
                        (replica_directory_id,) = unpack_16s(buf, pos)
                        pos += 16
                        if pos != tag_stop:
                            raise Malformed("content and its size disagree")
                    # topics.partitions.tags
                    pos = tag_stop
            # topics.partitions
            partitions.append(
                new(
                    FetchPartition,
                    (
                        partition,
                        current_leader_epoch,
                        fetch_offset,
                        last_fetched_epoch,
                        log_start_offset,
                        partition_max_bytes,
                        replica_directory_id,
                    ),
                )
            )
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(FetchTopic, ("", topic_id, partitions)))
    # forgotten_topics_data
    forgotten_topics_data_count = buf[pos]
    pos += 1
    if forgotten_topics_data_count > 127:
        forgotten_topics_data_count, pos = read_uvarint(buf, pos - 1)
    forgotten_topics_data_count -= 1
    if forgotten_topics_data_count < 0:
        raise Malformed(f"invalid length {forgotten_topics_data_count}")
    if forgotten_topics_data_count * 18 > end - pos:
        raise Malformed(f"{forgotten_topics_data_count} elements announced, {end - pos} bytes remain")
    budget -= forgotten_topics_data_count * 260
    if budget < 0:
        raise Malformed(f"{forgotten_topics_data_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    forgotten_topics_data = []
    for _ in range(forgotten_topics_data_count):
        # forgotten_topics_data.topic_id to forgotten_topics_data.partitions
        topic_id_2, partitions_count_2 = unpack_16sB(buf, pos)
        # forgotten_topics_data.partitions
        pos += 17
        if partitions_count_2 > 127:
            partitions_count_2, pos = read_uvarint(buf, pos - 1)
        partitions_count_2 -= 1
        if partitions_count_2 < 0:
            raise Malformed(f"invalid length {partitions_count_2}")
        if partitions_count_2 * 4 > end - pos:
            raise Malformed(f"{partitions_count_2} elements announced, {end - pos} bytes remain")
        budget -= partitions_count_2 * 52
        if budget < 0:
            raise Malformed(f"{partitions_count_2} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        partitions_2 = list(unpack_from(f">{partitions_count_2}i", buf, pos))
        pos += partitions_count_2 * 4
        # forgotten_topics_data.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # forgotten_topics_data
        forgotten_topics_data.append(new(ForgottenTopic, ("", topic_id_2, partitions_2)))
    # rack_id
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
    rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # the message
    cluster_id = None
    replica_state = REPLICA_STATE
    # tags
    n = buf[pos]
    pos += 1
    if n:
        tag_count_2, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        for _ in range(tag_count_2):
            tag_2 = buf[pos]
            pos += 1
            if tag_2 > 127:
                tag_2, pos = read_uvarint(buf, pos - 1)
            tag_size_2 = buf[pos]
            pos += 1
            if tag_size_2 > 127:
                tag_size_2, pos = read_uvarint(buf, pos - 1)
            tag_stop_2 = pos + tag_size_2
            if tag_stop_2 > end:
                raise Malformed(f"{tag_size_2} bytes announced for tag {tag_2}, {end - pos} remain")
            if tag_2 == 0:
                # tags.cluster_id
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    cluster_id = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    cluster_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                if pos != tag_stop_2:
                    raise Malformed("content and its size disagree")
            # tags
            if tag_2 == 1:
                # tags.replica_state.replica_id to tags.replica_state.tags
                replica_id, replica_epoch, n = unpack_iqB(buf, pos)
                # tags.replica_state.tags
                pos += 13
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
                # tags.replica_state
                replica_state = new(ReplicaState, (replica_id, replica_epoch))
                if pos != tag_stop_2:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop_2
    # the message
    return new(
        FetchRequest,
        (
            cluster_id,
            -1,
            replica_state,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], FetchRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
    5: decode_v5,
    6: decode_v5,
    7: decode_v7,
    8: decode_v7,
    9: decode_v9,
    10: decode_v9,
    11: decode_v11,
    12: decode_v12,
    13: decode_v13,
    14: decode_v13,
    15: decode_v15,
    16: decode_v15,
    17: decode_v17,
}
PLACES: Final = """\
42 90 96 144 150 198 205 253 260 346 366 465 485 594 614 769 809 829 956 996 1016 1143 1196 1216 1364 1417 the message
46 100 154 209 264 370 489 618 833 replica_id to topics
48 88 102 142 156 196 211 251 268 308 374 427 493 546 622 700 837 901 1024 1088 1224 1309 topics
59 113 167 222 279 385 504 636 topics.topic
69 83 123 137 177 191 232 246 289 303 395 411 514 530 651 680 853 881 1040 1068 1240 1289 topics.partitions
81 135 189 244 301 407 526 topics.partitions.partition to topics.partitions
310 344 429 463 548 582 702 752 903 939 1090 1126 1311 1347 forgotten_topics_data
322 441 560 717 forgotten_topics_data.topic
332 451 570 732 920 1107 1328 forgotten_topics_data.partitions
584 754 941 1128 1349 rack_id
666 867 1054 1255 topics.partitions.partition to topics.partitions.tags
676 877 1064 1265 1287 topics.partitions.tags
695 896 1083 1304 topics.tags
747 934 1121 1342 forgotten_topics_data.tags
771 807 958 994 1146 1182 1194 1367 1403 1415 tags
789 976 1164 1385 tags.cluster_id
851 1038 1238 topics.topic_id to topics.partitions
918 1105 1326 forgotten_topics_data.topic_id to forgotten_topics_data.partitions
1020 1220 max_wait_ms to topics
1184 1405 tags.replica_state.replica_id to tags.replica_state.tags
1186 1407 tags.replica_state.tags
1190 1411 tags.replica_state
1282 topics.partitions.tags.replica_directory_id
"""

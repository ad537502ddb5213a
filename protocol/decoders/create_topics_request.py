"""Decoders of CreateTopicsRequest, v0 to v7.

Made by `make codec` from protocol/schema/19_create_topics.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iB0 = Struct(">i?").unpack_from
unpack_iB0B = Struct(">i?B").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihi = Struct(">ihi").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreateTopicsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 16 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 444
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
        # topics.num_partitions to topics.assignments
        num_partitions, replication_factor, assignments_count = unpack_ihi(buf, pos)
        # topics.assignments
        pos += 10
        if assignments_count < 0:
            raise Malformed(f"invalid length {assignments_count}")
        if assignments_count * 8 > end - pos:
            raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
        budget -= assignments_count * 220
        if budget < 0:
            raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        assignments = []
        for _ in range(assignments_count):
            # topics.assignments.partition_index to topics.assignments.broker_ids
            partition_index, broker_ids_count = unpack_ii(buf, pos)
            # topics.assignments.broker_ids
            pos += 8
            if broker_ids_count < 0:
                raise Malformed(f"invalid length {broker_ids_count}")
            if broker_ids_count * 4 > end - pos:
                raise Malformed(f"{broker_ids_count} elements announced, {end - pos} bytes remain")
            budget -= broker_ids_count * 52
            if budget < 0:
                raise Malformed(f"{broker_ids_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            broker_ids = list(unpack_from(f">{broker_ids_count}i", buf, pos))
            pos += broker_ids_count * 4
            # topics.assignments
            assignments.append(new(CreatableReplicaAssignment, (partition_index, broker_ids)))
        # topics.configs
        (configs_count,) = unpack_i(buf, pos)
        pos += 4
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 4 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 260
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # topics.configs.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.configs.value
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.configs
            configs.append(new(CreatableTopicConfig, (name_2, value)))
        # topics
        topics.append(new(CreatableTopic, (name, num_partitions, replication_factor, assignments, configs)))
    # timeout_ms to the end
    (timeout_ms,) = unpack_i(buf, pos)
    # the message
    pos += 4
    return new(CreateTopicsRequest, (topics, timeout_ms, False))


def decode_v1(buf: memoryview) -> CreateTopicsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 16 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 444
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
        # topics.num_partitions to topics.assignments
        num_partitions, replication_factor, assignments_count = unpack_ihi(buf, pos)
        # topics.assignments
        pos += 10
        if assignments_count < 0:
            raise Malformed(f"invalid length {assignments_count}")
        if assignments_count * 8 > end - pos:
            raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
        budget -= assignments_count * 220
        if budget < 0:
            raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        assignments = []
        for _ in range(assignments_count):
            # topics.assignments.partition_index to topics.assignments.broker_ids
            partition_index, broker_ids_count = unpack_ii(buf, pos)
            # topics.assignments.broker_ids
            pos += 8
            if broker_ids_count < 0:
                raise Malformed(f"invalid length {broker_ids_count}")
            if broker_ids_count * 4 > end - pos:
                raise Malformed(f"{broker_ids_count} elements announced, {end - pos} bytes remain")
            budget -= broker_ids_count * 52
            if budget < 0:
                raise Malformed(f"{broker_ids_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            broker_ids = list(unpack_from(f">{broker_ids_count}i", buf, pos))
            pos += broker_ids_count * 4
            # topics.assignments
            assignments.append(new(CreatableReplicaAssignment, (partition_index, broker_ids)))
        # topics.configs
        (configs_count,) = unpack_i(buf, pos)
        pos += 4
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 4 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 260
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # topics.configs.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.configs.value
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.configs
            configs.append(new(CreatableTopicConfig, (name_2, value)))
        # topics
        topics.append(new(CreatableTopic, (name, num_partitions, replication_factor, assignments, configs)))
    # timeout_ms to the end
    timeout_ms, validate_only = unpack_iB0(buf, pos)
    # the message
    pos += 5
    return new(CreateTopicsRequest, (topics, timeout_ms, validate_only))


def decode_v5(buf: memoryview) -> CreateTopicsRequest:
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
    if topics_count * 10 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 444
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
        # topics.num_partitions to topics.assignments
        num_partitions, replication_factor, assignments_count = unpack_ihB(buf, pos)
        # topics.assignments
        pos += 7
        if assignments_count > 127:
            assignments_count, pos = read_uvarint(buf, pos - 1)
        assignments_count -= 1
        if assignments_count < 0:
            raise Malformed(f"invalid length {assignments_count}")
        if assignments_count * 6 > end - pos:
            raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
        budget -= assignments_count * 220
        if budget < 0:
            raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        assignments = []
        for _ in range(assignments_count):
            # topics.assignments.partition_index to topics.assignments.broker_ids
            partition_index, broker_ids_count = unpack_iB(buf, pos)
            # topics.assignments.broker_ids
            pos += 5
            if broker_ids_count > 127:
                broker_ids_count, pos = read_uvarint(buf, pos - 1)
            broker_ids_count -= 1
            if broker_ids_count < 0:
                raise Malformed(f"invalid length {broker_ids_count}")
            if broker_ids_count * 4 > end - pos:
                raise Malformed(f"{broker_ids_count} elements announced, {end - pos} bytes remain")
            budget -= broker_ids_count * 52
            if budget < 0:
                raise Malformed(f"{broker_ids_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            broker_ids = list(unpack_from(f">{broker_ids_count}i", buf, pos))
            pos += broker_ids_count * 4
            # topics.assignments.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.assignments
            assignments.append(new(CreatableReplicaAssignment, (partition_index, broker_ids)))
        # topics.configs
        configs_count = buf[pos]
        pos += 1
        if configs_count > 127:
            configs_count, pos = read_uvarint(buf, pos - 1)
        configs_count -= 1
        if configs_count < 0:
            raise Malformed(f"invalid length {configs_count}")
        if configs_count * 3 > end - pos:
            raise Malformed(f"{configs_count} elements announced, {end - pos} bytes remain")
        budget -= configs_count * 260
        if budget < 0:
            raise Malformed(f"{configs_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        configs = []
        for _ in range(configs_count):
            # topics.configs.name
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
            name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # topics.configs.value
            n = buf[pos]
            pos += 1
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                value = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                value = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # topics.configs.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # topics.configs
            configs.append(new(CreatableTopicConfig, (name_2, value)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(CreatableTopic, (name, num_partitions, replication_factor, assignments, configs)))
    # timeout_ms to tags
    timeout_ms, validate_only, n = unpack_iB0B(buf, pos)
    # tags
    pos += 6
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(CreateTopicsRequest, (topics, timeout_ms, validate_only))


DECODERS: Final[dict[int, Callable[[memoryview], CreateTopicsRequest]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v1,
    3: decode_v1,
    4: decode_v1,
    5: decode_v5,
    6: decode_v5,
    7: decode_v5,
}
PLACES: Final = """\
32 127 132 227 232 371 the message
36 123 136 223 236 363 topics
48 148 251 topics.name
58 158 266 topics.num_partitions to topics.assignments
60 84 160 184 268 303 topics.assignments
71 171 282 topics.assignments.partition_index to topics.assignments.broker_ids
73 173 284 topics.assignments.broker_ids
86 121 186 221 305 356 topics.configs
98 198 320 topics.configs.name
108 208 335 topics.configs.value
125 225 timeout_ms to the end
298 topics.assignments.tags
351 topics.configs.tags
358 topics.tags
365 timeout_ms to tags
367 tags
"""

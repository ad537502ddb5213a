"""Decoders of CreatePartitionsRequest, v0 to v3.

Made by `make codec` from protocol/schema/37_create_partitions.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_iB0 = Struct(">i?").unpack_from
unpack_iB0B = Struct(">i?B").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> CreatePartitionsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # topics
    (topics_count,) = unpack_i(buf, pos)
    pos += 4
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 10 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 308
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
        # topics.count to topics.assignments
        count, assignments_count = unpack_ii(buf, pos)
        # topics.assignments
        pos += 8
        if assignments_count < -1:
            raise Malformed(f"length {assignments_count}")
        if assignments_count < 0:
            assignments = None
        else:
            if assignments_count * 4 > end - pos:
                raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
            budget -= assignments_count * 180
            if budget < 0:
                raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            assignments = []
            for _ in range(assignments_count):
                # topics.assignments.broker_ids
                (broker_ids_count,) = unpack_i(buf, pos)
                pos += 4
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
                assignments.append(new(CreatePartitionsAssignment, (broker_ids,)))
        # topics
        topics.append(new(CreatePartitionsTopic, (name, count, assignments)))
    # timeout_ms to the end
    timeout_ms, validate_only = unpack_iB0(buf, pos)
    # the message
    pos += 5
    return new(CreatePartitionsRequest, (topics, timeout_ms, validate_only))


def decode_v2(buf: memoryview) -> CreatePartitionsRequest:
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
    if topics_count * 7 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 308
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
        # topics.count to topics.assignments
        count, assignments_count = unpack_iB(buf, pos)
        # topics.assignments
        pos += 5
        if assignments_count > 127:
            assignments_count, pos = read_uvarint(buf, pos - 1)
        assignments_count -= 1
        if assignments_count < 0:
            assignments = None
        else:
            if assignments_count * 2 > end - pos:
                raise Malformed(f"{assignments_count} elements announced, {end - pos} bytes remain")
            budget -= assignments_count * 180
            if budget < 0:
                raise Malformed(f"{assignments_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            assignments = []
            for _ in range(assignments_count):
                # topics.assignments.broker_ids
                broker_ids_count = buf[pos]
                pos += 1
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
                assignments.append(new(CreatePartitionsAssignment, (broker_ids,)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # topics
        topics.append(new(CreatePartitionsTopic, (name, count, assignments)))
    # timeout_ms to tags
    timeout_ms, validate_only, n = unpack_iB0B(buf, pos)
    # tags
    pos += 6
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(CreatePartitionsRequest, (topics, timeout_ms, validate_only))


DECODERS: Final[dict[int, Callable[[memoryview], CreatePartitionsRequest]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
29 89 94 180 the message
33 85 98 172 topics
45 113 topics.name
55 128 topics.count to topics.assignments
57 83 130 165 topics.assignments
71 145 topics.assignments.broker_ids
87 timeout_ms to the end
160 topics.assignments.tags
167 topics.tags
174 timeout_ms to tags
176 tags
"""

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
    (n,) = unpack_i(buf, pos)
    pos += 4
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 10 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 308
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topics = []
    for _ in range(n):
        # topics.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.count to topics.assignments
        count, n = unpack_ii(buf, pos)
        # topics.assignments
        pos += 8
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            assignments = None
        else:
            if n * 4 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 180
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            assignments = []
            for _ in range(n):
                # topics.assignments.broker_ids
                (n,) = unpack_i(buf, pos)
                pos += 4
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                if n * 4 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 52
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
                broker_ids = list(unpack_from(f">{n}i", buf, pos))
                pos += n * 4
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
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
    n -= 1
    if n < 0:
        raise Malformed(f"length {n}, which may not be")
    if n * 7 > end - pos:
        raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
    budget -= n * 308
    if budget < 0:
        raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    topics = []
    for _ in range(n):
        # topics.name
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"length {n}, which may not be")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # topics.count to topics.assignments
        count, n = unpack_iB(buf, pos)
        # topics.assignments
        pos += 5
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            assignments = None
        else:
            if n * 2 > end - pos:
                raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
            budget -= n * 180
            if budget < 0:
                raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
            assignments = []
            for _ in range(n):
                # topics.assignments.broker_ids
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                n -= 1
                if n < 0:
                    raise Malformed(f"length {n}, which may not be")
                if n * 4 > end - pos:
                    raise Malformed(f"{n} elements announced, {end - pos} bytes remain")
                budget -= n * 52
                if budget < 0:
                    raise Malformed(f"{n} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
                broker_ids = list(unpack_from(f">{n}i", buf, pos))
                pos += n * 4
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

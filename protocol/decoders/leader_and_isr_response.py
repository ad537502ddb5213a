"""Decoders of LeaderAndIsrResponse, v0 to v7.

Made by `make codec` from protocol/schema/04_leader_and_isr.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.leader_and_isr_response import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hi = Struct(">hi").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> LeaderAndIsrResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to partition_errors
    error_code, partition_errors_count = unpack_hi(buf, pos)
    # partition_errors
    pos += 6
    if partition_errors_count < 0:
        raise Malformed(f"invalid length {partition_errors_count}")
    if partition_errors_count * 8 > end - pos:
        raise Malformed(f"{partition_errors_count} elements announced, {end - pos} bytes remain")
    budget -= partition_errors_count * 252
    if budget < 0:
        raise Malformed(f"{partition_errors_count} more would take more than {DECODED_BYTES_MAX} bytes")
    partition_errors = []
    for _ in range(partition_errors_count):
        # partition_errors.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # partition_errors.partition_index to partition_errors
        partition_index, error_code_2 = unpack_ih(buf, pos)
        # partition_errors
        pos += 6
        partition_errors.append(new(LeaderAndIsrPartitionError, (topic_name, partition_index, error_code_2)))
    # the message
    return new(LeaderAndIsrResponse, (error_code, partition_errors, ()))


def decode_v4(buf: memoryview) -> LeaderAndIsrResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to partition_errors
    error_code, partition_errors_count = unpack_hB(buf, pos)
    # partition_errors
    pos += 3
    if partition_errors_count > 127:
        partition_errors_count, pos = read_uvarint(buf, pos - 1)
    partition_errors_count -= 1
    if partition_errors_count < 0:
        raise Malformed(f"invalid length {partition_errors_count}")
    if partition_errors_count * 8 > end - pos:
        raise Malformed(f"{partition_errors_count} elements announced, {end - pos} bytes remain")
    budget -= partition_errors_count * 252
    if budget < 0:
        raise Malformed(f"{partition_errors_count} more would take more than {DECODED_BYTES_MAX} bytes")
    partition_errors = []
    for _ in range(partition_errors_count):
        # partition_errors.topic_name
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
        # partition_errors.partition_index to partition_errors.tags
        partition_index, error_code_2, n = unpack_ihB(buf, pos)
        # partition_errors.tags
        pos += 7
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # partition_errors
        partition_errors.append(new(LeaderAndIsrPartitionError, (topic_name, partition_index, error_code_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(LeaderAndIsrResponse, (error_code, partition_errors, ()))


def decode_v5(buf: memoryview) -> LeaderAndIsrResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to topics
    error_code, topics_count = unpack_hB(buf, pos)
    # topics
    pos += 3
    if topics_count > 127:
        topics_count, pos = read_uvarint(buf, pos - 1)
    topics_count -= 1
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 18 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 252
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
    topics = []
    for _ in range(topics_count):
        # topics.topic_id to topics.partition_errors
        topic_id, partition_errors_count = unpack_16sB(buf, pos)
        # topics.partition_errors
        pos += 17
        if partition_errors_count > 127:
            partition_errors_count, pos = read_uvarint(buf, pos - 1)
        partition_errors_count -= 1
        if partition_errors_count < 0:
            raise Malformed(f"invalid length {partition_errors_count}")
        if partition_errors_count * 7 > end - pos:
            raise Malformed(f"{partition_errors_count} elements announced, {end - pos} bytes remain")
        budget -= partition_errors_count * 172
        if budget < 0:
            raise Malformed(f"{partition_errors_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_errors = []
        for _ in range(partition_errors_count):
            # topics.partition_errors.partition_index to topics.partition_errors.tags
            partition_index, error_code_2, n = unpack_ihB(buf, pos)
            # topics.partition_errors.tags
            pos += 7
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # topics.partition_errors
            partition_errors.append(new(LeaderAndIsrPartitionError, ("", partition_index, error_code_2)))
        # topics.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # topics
        topics.append(new(LeaderAndIsrTopicError, (topic_id, partition_errors)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(LeaderAndIsrResponse, (error_code, (), topics))


DECODERS: Final[dict[int, Callable[[memoryview], LeaderAndIsrResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v0,
    4: decode_v4,
    5: decode_v5,
    6: decode_v5,
    7: decode_v5,
}
PLACES: Final = """\
29 61 65 113 117 173 the message
33 69 error_code to partition_errors
35 58 71 106 partition_errors
46 85 partition_errors.topic_name
56 partition_errors.partition_index to partition_errors
100 partition_errors.partition_index to partition_errors.tags
102 partition_errors.tags
108 168 tags
121 error_code to topics
123 166 topics
137 topics.topic_id to topics.partition_errors
139 159 topics.partition_errors
153 topics.partition_errors.partition_index to topics.partition_errors.tags
155 topics.partition_errors.tags
161 topics.tags
"""

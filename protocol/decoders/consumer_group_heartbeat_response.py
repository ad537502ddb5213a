"""Decoders of ConsumerGroupHeartbeatResponse, v0.

Made by `make codec` from protocol/schema/68_consumer_group_heartbeat.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct, unpack_from
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from headrace.protocol.varint import read_uvarint

unpack_16sB = Struct(">16sB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_iib = Struct(">iib").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupHeartbeatResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # error_message
    pos += 7
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # member_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        member_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        member_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # member_epoch to assignment
    member_epoch, heartbeat_interval_ms, n = unpack_iib(buf, pos)
    # assignment
    pos += 9
    if n < 0:
        assignment = None
    else:
        # assignment.topic_partitions
        topic_partitions_count = buf[pos]
        pos += 1
        if topic_partitions_count > 127:
            topic_partitions_count, pos = read_uvarint(buf, pos - 1)
        topic_partitions_count -= 1
        if topic_partitions_count < 0:
            raise Malformed(f"invalid length {topic_partitions_count}")
        if topic_partitions_count * 18 > end - pos:
            raise Malformed(f"{topic_partitions_count} elements announced, {end - pos} bytes remain")
        budget -= topic_partitions_count * 252
        if budget < 0:
            raise Malformed(f"{topic_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topic_partitions = []
        for _ in range(topic_partitions_count):
            # assignment.topic_partitions.topic_id to assignment.topic_partitions.partitions
            topic_id, partitions_count = unpack_16sB(buf, pos)
            # assignment.topic_partitions.partitions
            pos += 17
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 4 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 52
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = list(unpack_from(f">{partitions_count}i", buf, pos))
            pos += partitions_count * 4
            # assignment.topic_partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # assignment.topic_partitions
            topic_partitions.append(new(TopicPartitions, (topic_id, partitions)))
        # assignment.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # assignment
        assignment = new(Assignment, (topic_partitions,))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(
        ConsumerGroupHeartbeatResponse,
        (throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment),
    )


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupHeartbeatResponse]]] = {0: decode_v0}
PLACES: Final = """\
26 120 the message
30 throttle_time_ms to error_message
32 error_message
47 member_id
63 member_epoch to assignment
65 113 assignment
70 106 assignment.topic_partitions
85 assignment.topic_partitions.topic_id to assignment.topic_partitions.partitions
87 assignment.topic_partitions.partitions
101 assignment.topic_partitions.tags
108 assignment.tags
115 tags
"""

"""Decoders of StopReplicaResponse, v0 to v4.

Made by `make codec` from protocol/schema/05_stop_replica.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hi = Struct(">hi").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> StopReplicaResponse:
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
        partition_errors.append(new(StopReplicaPartitionError, (topic_name, partition_index, error_code_2)))
    # the message
    return new(StopReplicaResponse, (error_code, partition_errors))


def decode_v2(buf: memoryview) -> StopReplicaResponse:
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
        partition_errors.append(new(StopReplicaPartitionError, (topic_name, partition_index, error_code_2)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(StopReplicaResponse, (error_code, partition_errors))


DECODERS: Final[dict[int, Callable[[memoryview], StopReplicaResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v2,
    4: decode_v2,
}
PLACES: Final = """\
24 56 60 108 the message
28 64 error_code to partition_errors
30 53 66 101 partition_errors
41 80 partition_errors.topic_name
51 partition_errors.partition_index to partition_errors
95 partition_errors.partition_index to partition_errors.tags
97 partition_errors.tags
103 tags
"""

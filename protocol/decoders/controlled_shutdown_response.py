"""Decoders of ControlledShutdownResponse, v0 to v3.

Made by `make codec` from protocol/schema/07_controlled_shutdown.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.controlled_shutdown_response import ControlledShutdownResponse, RemainingPartition
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hi = Struct(">hi").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ControlledShutdownResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to remaining_partitions
    error_code, remaining_partitions_count = unpack_hi(buf, pos)
    # remaining_partitions
    pos += 6
    if remaining_partitions_count < 0:
        raise Malformed(f"invalid length {remaining_partitions_count}")
    if remaining_partitions_count * 6 > end - pos:
        raise Malformed(f"{remaining_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= remaining_partitions_count * 212
    if budget < 0:
        raise Malformed(f"{remaining_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    remaining_partitions = []
    for _ in range(remaining_partitions_count):
        # remaining_partitions.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # remaining_partitions.partition_index to remaining_partitions
        (partition_index,) = unpack_i(buf, pos)
        # remaining_partitions
        pos += 4
        remaining_partitions.append(new(RemainingPartition, (topic_name, partition_index)))
    # the message
    return new(ControlledShutdownResponse, (error_code, remaining_partitions))


def decode_v3(buf: memoryview) -> ControlledShutdownResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to remaining_partitions
    error_code, remaining_partitions_count = unpack_hB(buf, pos)
    # remaining_partitions
    pos += 3
    if remaining_partitions_count > 127:
        remaining_partitions_count, pos = read_uvarint(buf, pos - 1)
    remaining_partitions_count -= 1
    if remaining_partitions_count < 0:
        raise Malformed(f"invalid length {remaining_partitions_count}")
    if remaining_partitions_count * 6 > end - pos:
        raise Malformed(f"{remaining_partitions_count} elements announced, {end - pos} bytes remain")
    budget -= remaining_partitions_count * 212
    if budget < 0:
        raise Malformed(f"{remaining_partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
    remaining_partitions = []
    for _ in range(remaining_partitions_count):
        # remaining_partitions.topic_name
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
        # remaining_partitions.partition_index to remaining_partitions.tags
        partition_index, n = unpack_iB(buf, pos)
        # remaining_partitions.tags
        pos += 5
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # remaining_partitions
        remaining_partitions.append(new(RemainingPartition, (topic_name, partition_index)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ControlledShutdownResponse, (error_code, remaining_partitions))


DECODERS: Final[dict[int, Callable[[memoryview], ControlledShutdownResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
}
PLACES: Final = """\
24 56 60 108 the message
28 64 error_code to remaining_partitions
30 53 66 101 remaining_partitions
41 80 remaining_partitions.topic_name
51 remaining_partitions.partition_index to remaining_partitions
95 remaining_partitions.partition_index to remaining_partitions.tags
97 remaining_partitions.tags
103 tags
"""

"""Decoders of OffsetDeleteResponse, v0.

Made by `make codec` from protocol/schema/47_offset_delete.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed
from headrace.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

unpack_h = Struct(">h").unpack_from
unpack_hii = Struct(">hii").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ih = Struct(">ih").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> OffsetDeleteResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # error_code to topics
    error_code, throttle_time_ms, topics_count = unpack_hii(buf, pos)
    # topics
    pos += 10
    if topics_count < 0:
        raise Malformed(f"invalid length {topics_count}")
    if topics_count * 6 > end - pos:
        raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
    budget -= topics_count * 268
    if budget < 0:
        raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
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
        # topics.partitions
        (partitions_count,) = unpack_i(buf, pos)
        pos += 4
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 6 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # topics.partitions.partition_index to topics.partitions
            partition_index, error_code_2 = unpack_ih(buf, pos)
            # topics.partitions
            pos += 6
            partitions.append(new(OffsetDeleteResponsePartition, (partition_index, error_code_2)))
        # topics
        topics.append(new(OffsetDeleteResponseTopic, (name, partitions)))
    # the message
    return new(OffsetDeleteResponse, (error_code, throttle_time_ms, topics))


DECODERS: Final[dict[int, Callable[[memoryview], OffsetDeleteResponse]]] = {0: decode_v0}
PLACES: Final = """\
26 72 the message
30 error_code to topics
32 70 topics
43 topics.name
53 67 topics.partitions
65 topics.partitions.partition_index to topics.partitions
"""

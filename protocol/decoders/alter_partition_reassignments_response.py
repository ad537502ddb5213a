"""Decoders of AlterPartitionReassignmentsResponse, v0.

Made by `make codec` from protocol/schema/45_alter_partition_reassignments.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterPartitionReassignmentsResponse:
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
    # responses
    responses_count = buf[pos]
    pos += 1
    if responses_count > 127:
        responses_count, pos = read_uvarint(buf, pos - 1)
    responses_count -= 1
    if responses_count < 0:
        raise Malformed(f"invalid length {responses_count}")
    if responses_count * 3 > end - pos:
        raise Malformed(f"{responses_count} elements announced, {end - pos} bytes remain")
    budget -= responses_count * 268
    if budget < 0:
        raise Malformed(f"{responses_count} more would take more than {DECODED_BYTES_MAX} bytes")
    responses = []
    for _ in range(responses_count):
        # responses.name
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
        # responses.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 8 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 252
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # responses.partitions.partition_index to responses.partitions.error_message
            partition_index, error_code_2, n = unpack_ihB(buf, pos)
            # responses.partitions.error_message
            pos += 7
            if n > 127:
                n, pos = read_uvarint(buf, pos - 1)
                if n > STRING_BYTES_MAX + 1:
                    raise Malformed(f"length {n - 1}")
            n -= 1
            if n < 0:
                error_message_2 = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # responses.partitions.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # responses.partitions
            partitions.append(new(ReassignablePartitionResponse, (partition_index, error_code_2, error_message_2)))
        # responses.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # responses
        responses.append(new(ReassignableTopicResponse, (name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterPartitionReassignmentsResponse, (throttle_time_ms, error_code, error_message, responses))


DECODERS: Final[dict[int, Callable[[memoryview], AlterPartitionReassignmentsResponse]]] = {0: decode_v0}
PLACES: Final = """\
24 126 the message
28 throttle_time_ms to error_message
30 error_message
45 119 responses
60 responses.name
75 112 responses.partitions
90 responses.partitions.partition_index to responses.partitions.error_message
92 responses.partitions.error_message
107 responses.partitions.tags
114 responses.tags
121 tags
"""

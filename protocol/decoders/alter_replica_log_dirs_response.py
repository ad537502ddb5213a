"""Decoders of AlterReplicaLogDirsResponse, v0 to v2.

Made by `make codec` from protocol/schema/34_alter_replica_log_dirs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterReplicaLogDirsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 6 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 268
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.topic_name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.partitions
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
            # results.partitions.partition_index to results.partitions
            partition_index, error_code = unpack_ih(buf, pos)
            # results.partitions
            pos += 6
            partitions.append(new(AlterReplicaLogDirPartitionResult, (partition_index, error_code)))
        # results
        results.append(new(AlterReplicaLogDirTopicResult, (topic_name, partitions)))
    # the message
    return new(AlterReplicaLogDirsResponse, (throttle_time_ms, results))


def decode_v2(buf: memoryview) -> AlterReplicaLogDirsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_iB(buf, pos)
    # results
    pos += 5
    if results_count > 127:
        results_count, pos = read_uvarint(buf, pos - 1)
    results_count -= 1
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 3 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 268
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.topic_name
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
        # results.partitions
        partitions_count = buf[pos]
        pos += 1
        if partitions_count > 127:
            partitions_count, pos = read_uvarint(buf, pos - 1)
        partitions_count -= 1
        if partitions_count < 0:
            raise Malformed(f"invalid length {partitions_count}")
        if partitions_count * 7 > end - pos:
            raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
        budget -= partitions_count * 164
        if budget < 0:
            raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partitions = []
        for _ in range(partitions_count):
            # results.partitions.partition_index to results.partitions.tags
            partition_index, error_code, n = unpack_ihB(buf, pos)
            # results.partitions.tags
            pos += 7
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results.partitions
            partitions.append(new(AlterReplicaLogDirPartitionResult, (partition_index, error_code)))
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(AlterReplicaLogDirTopicResult, (topic_name, partitions)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterReplicaLogDirsResponse, (throttle_time_ms, results))


DECODERS: Final[dict[int, Callable[[memoryview], AlterReplicaLogDirsResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
}
PLACES: Final = """\
29 75 79 149 the message
33 83 throttle_time_ms to results
35 73 85 142 results
46 99 results.topic_name
56 70 114 135 results.partitions
68 results.partitions.partition_index to results.partitions
129 results.partitions.partition_index to results.partitions.tags
131 results.partitions.tags
137 results.tags
144 tags
"""

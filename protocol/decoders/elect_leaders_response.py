"""Decoders of ElectLeadersResponse, v0 to v2.

Made by `make codec` from protocol/schema/43_elect_leaders.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihh = Struct(">ihh").unpack_from
unpack_ihi = Struct(">ihi").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ElectLeadersResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to replica_election_results
    throttle_time_ms, replica_election_results_count = unpack_ii(buf, pos)
    # replica_election_results
    pos += 8
    if replica_election_results_count < 0:
        raise Malformed(f"invalid length {replica_election_results_count}")
    if replica_election_results_count * 6 > end - pos:
        raise Malformed(f"{replica_election_results_count} elements announced, {end - pos} bytes remain")
    budget -= replica_election_results_count * 268
    if budget < 0:
        raise Malformed(f"{replica_election_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    replica_election_results = []
    for _ in range(replica_election_results_count):
        # replica_election_results.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # replica_election_results.partition_result
        (partition_result_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_result_count < 0:
            raise Malformed(f"invalid length {partition_result_count}")
        if partition_result_count * 8 > end - pos:
            raise Malformed(f"{partition_result_count} elements announced, {end - pos} bytes remain")
        budget -= partition_result_count * 252
        if budget < 0:
            raise Malformed(f"{partition_result_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_result = []
        for _ in range(partition_result_count):
            # replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
            partition_id, error_code, n = unpack_ihh(buf, pos)
            # replica_election_results.partition_result.error_message
            pos += 8
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                error_message = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # replica_election_results.partition_result
            partition_result.append(new(PartitionResult, (partition_id, error_code, error_message)))
        # replica_election_results
        replica_election_results.append(new(ReplicaElectionResult, (topic, partition_result)))
    # the message
    return new(ElectLeadersResponse, (throttle_time_ms, 0, replica_election_results))


def decode_v1(buf: memoryview) -> ElectLeadersResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to replica_election_results
    throttle_time_ms, error_code, replica_election_results_count = unpack_ihi(buf, pos)
    # replica_election_results
    pos += 10
    if replica_election_results_count < 0:
        raise Malformed(f"invalid length {replica_election_results_count}")
    if replica_election_results_count * 6 > end - pos:
        raise Malformed(f"{replica_election_results_count} elements announced, {end - pos} bytes remain")
    budget -= replica_election_results_count * 268
    if budget < 0:
        raise Malformed(f"{replica_election_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    replica_election_results = []
    for _ in range(replica_election_results_count):
        # replica_election_results.topic
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # replica_election_results.partition_result
        (partition_result_count,) = unpack_i(buf, pos)
        pos += 4
        if partition_result_count < 0:
            raise Malformed(f"invalid length {partition_result_count}")
        if partition_result_count * 8 > end - pos:
            raise Malformed(f"{partition_result_count} elements announced, {end - pos} bytes remain")
        budget -= partition_result_count * 252
        if budget < 0:
            raise Malformed(f"{partition_result_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_result = []
        for _ in range(partition_result_count):
            # replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
            partition_id, error_code_2, n = unpack_ihh(buf, pos)
            # replica_election_results.partition_result.error_message
            pos += 8
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                error_message = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # replica_election_results.partition_result
            partition_result.append(new(PartitionResult, (partition_id, error_code_2, error_message)))
        # replica_election_results
        replica_election_results.append(new(ReplicaElectionResult, (topic, partition_result)))
    # the message
    return new(ElectLeadersResponse, (throttle_time_ms, error_code, replica_election_results))


def decode_v2(buf: memoryview) -> ElectLeadersResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to replica_election_results
    throttle_time_ms, error_code, replica_election_results_count = unpack_ihB(buf, pos)
    # replica_election_results
    pos += 7
    if replica_election_results_count > 127:
        replica_election_results_count, pos = read_uvarint(buf, pos - 1)
    replica_election_results_count -= 1
    if replica_election_results_count < 0:
        raise Malformed(f"invalid length {replica_election_results_count}")
    if replica_election_results_count * 3 > end - pos:
        raise Malformed(f"{replica_election_results_count} elements announced, {end - pos} bytes remain")
    budget -= replica_election_results_count * 268
    if budget < 0:
        raise Malformed(f"{replica_election_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    replica_election_results = []
    for _ in range(replica_election_results_count):
        # replica_election_results.topic
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
        topic = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # replica_election_results.partition_result
        partition_result_count = buf[pos]
        pos += 1
        if partition_result_count > 127:
            partition_result_count, pos = read_uvarint(buf, pos - 1)
        partition_result_count -= 1
        if partition_result_count < 0:
            raise Malformed(f"invalid length {partition_result_count}")
        if partition_result_count * 8 > end - pos:
            raise Malformed(f"{partition_result_count} elements announced, {end - pos} bytes remain")
        budget -= partition_result_count * 252
        if budget < 0:
            raise Malformed(f"{partition_result_count} more would take more than {DECODED_BYTES_MAX} bytes")
        partition_result = []
        for _ in range(partition_result_count):
            # replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
            partition_id, error_code_2, n = unpack_ihB(buf, pos)
            # replica_election_results.partition_result.error_message
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
            # replica_election_results.partition_result.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # replica_election_results.partition_result
            partition_result.append(new(PartitionResult, (partition_id, error_code_2, error_message)))
        # replica_election_results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # replica_election_results
        replica_election_results.append(new(ReplicaElectionResult, (topic, partition_result)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ElectLeadersResponse, (throttle_time_ms, error_code, replica_election_results))


DECODERS: Final[dict[int, Callable[[memoryview], ElectLeadersResponse]]] = {0: decode_v0, 1: decode_v1, 2: decode_v2}
PLACES: Final = """\
29 86 90 147 151 237 the message
33 94 155 throttle_time_ms to replica_election_results
35 84 96 145 157 230 replica_election_results
46 107 171 replica_election_results.topic
56 82 117 143 186 223 replica_election_results.partition_result
68 129 201 replica_election_results.partition_result.partition_id to replica_election_results.partition_result.error_message
70 131 203 replica_election_results.partition_result.error_message
218 replica_election_results.partition_result.tags
225 replica_election_results.tags
232 tags
"""

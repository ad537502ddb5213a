"""Decoders of DescribeLogDirsResponse, v0 to v4.

Made by `make codec` from protocol/schema/35_describe_log_dirs.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ii = Struct(">ii").unpack_from
unpack_iqqB0 = Struct(">iqq?").unpack_from
unpack_iqqB0B = Struct(">iqq?B").unpack_from
unpack_qqB = Struct(">qqB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeLogDirsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, results_count = unpack_ii(buf, pos)
    # results
    pos += 8
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 8 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 324
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.log_dir
        error_code, n = unpack_hh(buf, pos)
        # results.log_dir
        pos += 4
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        log_dir = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.topics
        (topics_count,) = unpack_i(buf, pos)
        pos += 4
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 6 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # results.topics.name
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # results.topics.partitions
            (partitions_count,) = unpack_i(buf, pos)
            pos += 4
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 21 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 244
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # results.topics.partitions.partition_index to results.topics.partitions
                partition_index, partition_size, offset_lag, is_future_key = unpack_iqqB0(buf, pos)
                # results.topics.partitions
                pos += 21
                partitions.append(
                    new(DescribeLogDirsPartition, (partition_index, partition_size, offset_lag, is_future_key))
                )
            # results.topics
            topics.append(new(DescribeLogDirsTopic, (name, partitions)))
        # results
        results.append(new(DescribeLogDirsResult, (error_code, log_dir, topics, -1, -1)))
    # the message
    return new(DescribeLogDirsResponse, (throttle_time_ms, 0, results))


def decode_v2(buf: memoryview) -> DescribeLogDirsResponse:
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
    if results_count * 5 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 324
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.log_dir
        error_code, n = unpack_hB(buf, pos)
        # results.log_dir
        pos += 3
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
        log_dir = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.topics
        topics_count = buf[pos]
        pos += 1
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # results.topics.name
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
            # results.topics.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 22 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 244
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # results.topics.partitions.partition_index to results.topics.partitions.tags
                partition_index, partition_size, offset_lag, is_future_key, n = unpack_iqqB0B(buf, pos)
                # results.topics.partitions.tags
                pos += 22
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # results.topics.partitions
                partitions.append(
                    new(DescribeLogDirsPartition, (partition_index, partition_size, offset_lag, is_future_key))
                )
            # results.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results.topics
            topics.append(new(DescribeLogDirsTopic, (name, partitions)))
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(DescribeLogDirsResult, (error_code, log_dir, topics, -1, -1)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeLogDirsResponse, (throttle_time_ms, 0, results))


def decode_v3(buf: memoryview) -> DescribeLogDirsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, error_code, results_count = unpack_ihB(buf, pos)
    # results
    pos += 7
    if results_count > 127:
        results_count, pos = read_uvarint(buf, pos - 1)
    results_count -= 1
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 5 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 324
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.log_dir
        error_code_2, n = unpack_hB(buf, pos)
        # results.log_dir
        pos += 3
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
        log_dir = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.topics
        topics_count = buf[pos]
        pos += 1
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # results.topics.name
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
            # results.topics.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 22 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 244
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # results.topics.partitions.partition_index to results.topics.partitions.tags
                partition_index, partition_size, offset_lag, is_future_key, n = unpack_iqqB0B(buf, pos)
                # results.topics.partitions.tags
                pos += 22
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # results.topics.partitions
                partitions.append(
                    new(DescribeLogDirsPartition, (partition_index, partition_size, offset_lag, is_future_key))
                )
            # results.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results.topics
            topics.append(new(DescribeLogDirsTopic, (name, partitions)))
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(DescribeLogDirsResult, (error_code_2, log_dir, topics, -1, -1)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeLogDirsResponse, (throttle_time_ms, error_code, results))


def decode_v4(buf: memoryview) -> DescribeLogDirsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results
    throttle_time_ms, error_code, results_count = unpack_ihB(buf, pos)
    # results
    pos += 7
    if results_count > 127:
        results_count, pos = read_uvarint(buf, pos - 1)
    results_count -= 1
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 21 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 420
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.error_code to results.log_dir
        error_code_2, n = unpack_hB(buf, pos)
        # results.log_dir
        pos += 3
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
        log_dir = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.topics
        topics_count = buf[pos]
        pos += 1
        if topics_count > 127:
            topics_count, pos = read_uvarint(buf, pos - 1)
        topics_count -= 1
        if topics_count < 0:
            raise Malformed(f"invalid length {topics_count}")
        if topics_count * 3 > end - pos:
            raise Malformed(f"{topics_count} elements announced, {end - pos} bytes remain")
        budget -= topics_count * 268
        if budget < 0:
            raise Malformed(f"{topics_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topics = []
        for _ in range(topics_count):
            # results.topics.name
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
            # results.topics.partitions
            partitions_count = buf[pos]
            pos += 1
            if partitions_count > 127:
                partitions_count, pos = read_uvarint(buf, pos - 1)
            partitions_count -= 1
            if partitions_count < 0:
                raise Malformed(f"invalid length {partitions_count}")
            if partitions_count * 22 > end - pos:
                raise Malformed(f"{partitions_count} elements announced, {end - pos} bytes remain")
            budget -= partitions_count * 244
            if budget < 0:
                raise Malformed(f"{partitions_count} more would take more than {DECODED_BYTES_MAX} bytes")
            partitions = []
            for _ in range(partitions_count):
                # results.topics.partitions.partition_index to results.topics.partitions.tags
                partition_index, partition_size, offset_lag, is_future_key, n = unpack_iqqB0B(buf, pos)
                # results.topics.partitions.tags
                pos += 22
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # results.topics.partitions
                partitions.append(
                    new(DescribeLogDirsPartition, (partition_index, partition_size, offset_lag, is_future_key))
                )
            # results.topics.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results.topics
            topics.append(new(DescribeLogDirsTopic, (name, partitions)))
        # results.total_bytes to results.tags
        total_bytes, usable_bytes, n = unpack_qqB(buf, pos)
        # results.tags
        pos += 17
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(DescribeLogDirsResult, (error_code_2, log_dir, topics, total_bytes, usable_bytes)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeLogDirsResponse, (throttle_time_ms, error_code, results))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeLogDirsResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v2,
    3: decode_v3,
    4: decode_v4,
}
PLACES: Final = """\
34 107 111 221 225 335 339 450 the message
38 115 229 343 throttle_time_ms to results
40 105 117 214 231 328 345 443 results
51 131 245 359 results.error_code to results.log_dir
53 133 247 361 results.log_dir
62 103 147 207 261 321 375 435 results.topics
74 162 276 390 results.topics.name
84 98 177 198 291 312 405 426 results.topics.partitions
96 results.topics.partitions.partition_index to results.topics.partitions
192 306 420 results.topics.partitions.partition_index to results.topics.partitions.tags
194 308 422 results.topics.partitions.tags
202 316 430 results.topics.tags
209 323 439 results.tags
216 330 445 tags
437 results.total_bytes to results.tags
"""

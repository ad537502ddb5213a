"""Decoders of AddPartitionsToTxnResponse, v0 to v5.

Made by `make codec` from protocol/schema/24_add_partitions_to_txn.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ih = Struct(">ih").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AddPartitionsToTxnResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results_by_topic_v3_and_below
    throttle_time_ms, results_by_topic_v3_and_below_count = unpack_ii(buf, pos)
    # results_by_topic_v3_and_below
    pos += 8
    if results_by_topic_v3_and_below_count < 0:
        raise Malformed(f"invalid length {results_by_topic_v3_and_below_count}")
    if results_by_topic_v3_and_below_count * 6 > end - pos:
        raise Malformed(f"{results_by_topic_v3_and_below_count} elements announced, {end - pos} bytes remain")
    budget -= results_by_topic_v3_and_below_count * 268
    if budget < 0:
        raise Malformed(f"{results_by_topic_v3_and_below_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results_by_topic_v3_and_below = []
    for _ in range(results_by_topic_v3_and_below_count):
        # results_by_topic_v3_and_below.name
        (n,) = unpack_h(buf, pos)
        pos += 2
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results_by_topic_v3_and_below.results_by_partition
        (results_by_partition_count,) = unpack_i(buf, pos)
        pos += 4
        if results_by_partition_count < 0:
            raise Malformed(f"invalid length {results_by_partition_count}")
        if results_by_partition_count * 6 > end - pos:
            raise Malformed(f"{results_by_partition_count} elements announced, {end - pos} bytes remain")
        budget -= results_by_partition_count * 164
        if budget < 0:
            raise Malformed(f"{results_by_partition_count} more would take more than {DECODED_BYTES_MAX} bytes")
        results_by_partition = []
        for _ in range(results_by_partition_count):
            # results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition
            partition_index, partition_error_code = unpack_ih(buf, pos)
            # results_by_topic_v3_and_below.results_by_partition
            pos += 6
            results_by_partition.append(new(AddPartitionsToTxnPartitionResult, (partition_index, partition_error_code)))
        # results_by_topic_v3_and_below
        results_by_topic_v3_and_below.append(new(AddPartitionsToTxnTopicResult, (name, results_by_partition)))
    # the message
    return new(AddPartitionsToTxnResponse, (throttle_time_ms, 0, (), results_by_topic_v3_and_below))


def decode_v3(buf: memoryview) -> AddPartitionsToTxnResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results_by_topic_v3_and_below
    throttle_time_ms, results_by_topic_v3_and_below_count = unpack_iB(buf, pos)
    # results_by_topic_v3_and_below
    pos += 5
    if results_by_topic_v3_and_below_count > 127:
        results_by_topic_v3_and_below_count, pos = read_uvarint(buf, pos - 1)
    results_by_topic_v3_and_below_count -= 1
    if results_by_topic_v3_and_below_count < 0:
        raise Malformed(f"invalid length {results_by_topic_v3_and_below_count}")
    if results_by_topic_v3_and_below_count * 3 > end - pos:
        raise Malformed(f"{results_by_topic_v3_and_below_count} elements announced, {end - pos} bytes remain")
    budget -= results_by_topic_v3_and_below_count * 268
    if budget < 0:
        raise Malformed(f"{results_by_topic_v3_and_below_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results_by_topic_v3_and_below = []
    for _ in range(results_by_topic_v3_and_below_count):
        # results_by_topic_v3_and_below.name
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
        # results_by_topic_v3_and_below.results_by_partition
        results_by_partition_count = buf[pos]
        pos += 1
        if results_by_partition_count > 127:
            results_by_partition_count, pos = read_uvarint(buf, pos - 1)
        results_by_partition_count -= 1
        if results_by_partition_count < 0:
            raise Malformed(f"invalid length {results_by_partition_count}")
        if results_by_partition_count * 7 > end - pos:
            raise Malformed(f"{results_by_partition_count} elements announced, {end - pos} bytes remain")
        budget -= results_by_partition_count * 164
        if budget < 0:
            raise Malformed(f"{results_by_partition_count} more would take more than {DECODED_BYTES_MAX} bytes")
        results_by_partition = []
        for _ in range(results_by_partition_count):
            # results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition.tags
            partition_index, partition_error_code, n = unpack_ihB(buf, pos)
            # results_by_topic_v3_and_below.results_by_partition.tags
            pos += 7
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results_by_topic_v3_and_below.results_by_partition
            results_by_partition.append(new(AddPartitionsToTxnPartitionResult, (partition_index, partition_error_code)))
        # results_by_topic_v3_and_below.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results_by_topic_v3_and_below
        results_by_topic_v3_and_below.append(new(AddPartitionsToTxnTopicResult, (name, results_by_partition)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AddPartitionsToTxnResponse, (throttle_time_ms, 0, (), results_by_topic_v3_and_below))


def decode_v4(buf: memoryview) -> AddPartitionsToTxnResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to results_by_transaction
    throttle_time_ms, error_code, results_by_transaction_count = unpack_ihB(buf, pos)
    # results_by_transaction
    pos += 7
    if results_by_transaction_count > 127:
        results_by_transaction_count, pos = read_uvarint(buf, pos - 1)
    results_by_transaction_count -= 1
    if results_by_transaction_count < 0:
        raise Malformed(f"invalid length {results_by_transaction_count}")
    if results_by_transaction_count * 3 > end - pos:
        raise Malformed(f"{results_by_transaction_count} elements announced, {end - pos} bytes remain")
    budget -= results_by_transaction_count * 268
    if budget < 0:
        raise Malformed(f"{results_by_transaction_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results_by_transaction = []
    for _ in range(results_by_transaction_count):
        # results_by_transaction.transactional_id
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
        transactional_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results_by_transaction.topic_results
        topic_results_count = buf[pos]
        pos += 1
        if topic_results_count > 127:
            topic_results_count, pos = read_uvarint(buf, pos - 1)
        topic_results_count -= 1
        if topic_results_count < 0:
            raise Malformed(f"invalid length {topic_results_count}")
        if topic_results_count * 3 > end - pos:
            raise Malformed(f"{topic_results_count} elements announced, {end - pos} bytes remain")
        budget -= topic_results_count * 268
        if budget < 0:
            raise Malformed(f"{topic_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
        topic_results = []
        for _ in range(topic_results_count):
            # results_by_transaction.topic_results.name
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
            # results_by_transaction.topic_results.results_by_partition
            results_by_partition_count = buf[pos]
            pos += 1
            if results_by_partition_count > 127:
                results_by_partition_count, pos = read_uvarint(buf, pos - 1)
            results_by_partition_count -= 1
            if results_by_partition_count < 0:
                raise Malformed(f"invalid length {results_by_partition_count}")
            if results_by_partition_count * 7 > end - pos:
                raise Malformed(f"{results_by_partition_count} elements announced, {end - pos} bytes remain")
            budget -= results_by_partition_count * 164
            if budget < 0:
                raise Malformed(f"{results_by_partition_count} more would take more than {DECODED_BYTES_MAX} bytes")
            results_by_partition = []
            for _ in range(results_by_partition_count):
                # results_by_transaction.topic_results.results_by_partition.partition_index to results_by_transaction.topic_results.results_by_partition.tags
                partition_index, partition_error_code, n = unpack_ihB(buf, pos)
                # results_by_transaction.topic_results.results_by_partition.tags
                pos += 7
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # results_by_transaction.topic_results.results_by_partition
                results_by_partition.append(
                    new(AddPartitionsToTxnPartitionResult, (partition_index, partition_error_code))
                )
            # results_by_transaction.topic_results.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results_by_transaction.topic_results
            topic_results.append(new(AddPartitionsToTxnTopicResult, (name, results_by_partition)))
        # results_by_transaction.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results_by_transaction
        results_by_transaction.append(new(AddPartitionsToTxnResult, (transactional_id, topic_results)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AddPartitionsToTxnResponse, (throttle_time_ms, error_code, results_by_transaction, ()))


DECODERS: Final[dict[int, Callable[[memoryview], AddPartitionsToTxnResponse]]] = {
    0: decode_v0,
    1: decode_v0,
    2: decode_v0,
    3: decode_v3,
    4: decode_v4,
    5: decode_v4,
}
PLACES: Final = """\
30 76 80 150 154 263 the message
34 84 throttle_time_ms to results_by_topic_v3_and_below
36 74 86 143 results_by_topic_v3_and_below
47 100 results_by_topic_v3_and_below.name
57 71 115 136 results_by_topic_v3_and_below.results_by_partition
69 results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition
130 results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition.tags
132 results_by_topic_v3_and_below.results_by_partition.tags
138 results_by_topic_v3_and_below.tags
145 258 tags
158 throttle_time_ms to results_by_transaction
160 256 results_by_transaction
174 results_by_transaction.transactional_id
189 249 results_by_transaction.topic_results
204 results_by_transaction.topic_results.name
219 240 results_by_transaction.topic_results.results_by_partition
234 results_by_transaction.topic_results.results_by_partition.partition_index to results_by_transaction.topic_results.results_by_partition.tags
236 results_by_transaction.topic_results.results_by_partition.tags
244 results_by_transaction.topic_results.tags
251 results_by_transaction.tags
"""

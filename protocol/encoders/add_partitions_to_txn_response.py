"""Encoders of AddPartitionsToTxnResponse, v0 to v5.

Made by `make codec` from protocol/schema/24_add_partitions_to_txn.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ihx = Struct(">ihx").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, results_by_topic_v3_and_below = msg
    # throttle_time_ms to results_by_topic_v3_and_below
    put(pack_ii(throttle_time_ms, len(results_by_topic_v3_and_below)))
    # results_by_topic_v3_and_below
    for name, results_by_partition in results_by_topic_v3_and_below:
        # results_by_topic_v3_and_below.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # results_by_topic_v3_and_below.results_by_partition
        put(pack_i(len(results_by_partition)))
        for partition_index, partition_error_code in results_by_partition:
            # results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition
            put(pack_ih(partition_index, partition_error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, _, results_by_topic_v3_and_below = msg
    # results_by_topic_v3_and_below
    n = len(results_by_topic_v3_and_below) + 1
    if n < 128:
        # throttle_time_ms to results_by_topic_v3_and_below
        put(pack_iB(throttle_time_ms, n))
    # results_by_topic_v3_and_below
    else:
        # throttle_time_ms to results_by_topic_v3_and_below
        put(pack_i(throttle_time_ms))
        # results_by_topic_v3_and_below
        put(encode_uvarint(n))
    for name, results_by_partition in results_by_topic_v3_and_below:
        # results_by_topic_v3_and_below.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # results_by_topic_v3_and_below.results_by_partition
        n = len(results_by_partition) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, partition_error_code in results_by_partition:
            # results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition
            put(pack_ihx(partition_index, partition_error_code))
        # results_by_topic_v3_and_below
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, results_by_transaction, _ = msg
    # results_by_transaction
    n = len(results_by_transaction) + 1
    if n < 128:
        # throttle_time_ms to results_by_transaction
        put(pack_ihB(throttle_time_ms, error_code, n))
    # results_by_transaction
    else:
        # throttle_time_ms to results_by_transaction
        put(pack_ih(throttle_time_ms, error_code))
        # results_by_transaction
        put(encode_uvarint(n))
    for transactional_id, topic_results in results_by_transaction:
        # results_by_transaction.transactional_id
        text = transactional_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # results_by_transaction.topic_results
        n = len(topic_results) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, results_by_partition in topic_results:
            # results_by_transaction.topic_results.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # results_by_transaction.topic_results.results_by_partition
            n = len(results_by_partition) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for partition_index, partition_error_code in results_by_partition:
                # results_by_transaction.topic_results.results_by_partition.partition_index to results_by_transaction.topic_results.results_by_partition
                put(pack_ihx(partition_index, partition_error_code))
            # results_by_transaction.topic_results
            put(b"\x00")
        # results_by_transaction
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v4,
    5: encode_v4,
}
PLACES: Final = """\
23 41 47 77 84 125 the message
28 55 59 throttle_time_ms to results_by_topic_v3_and_below
30 52 57 61 75 results_by_topic_v3_and_below
32 64 results_by_topic_v3_and_below.name
36 69 results_by_topic_v3_and_below.results_by_partition
39 73 results_by_topic_v3_and_below.results_by_partition.partition_index to results_by_topic_v3_and_below.results_by_partition
89 94 98 123 results_by_transaction
92 96 throttle_time_ms to results_by_transaction
101 results_by_transaction.transactional_id
106 121 results_by_transaction.topic_results
110 results_by_transaction.topic_results.name
115 results_by_transaction.topic_results.results_by_partition
119 results_by_transaction.topic_results.results_by_partition.partition_index to results_by_transaction.topic_results.results_by_partition
"""

"""Encoders of DescribeLogDirsResponse, v0 to v4.

Made by `make codec` from protocol/schema/35_describe_log_dirs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hB = Struct(">hB").pack
pack_hh = Struct(">hh").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ih = Struct(">ih").pack
pack_ihB = Struct(">ihB").pack
pack_ii = Struct(">ii").pack
pack_iqqB0 = Struct(">iqq?").pack
pack_iqqB0x = Struct(">iqq?x").pack
pack_qqx = Struct(">qqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for error_code, log_dir, topics, _, _ in results:
        # results.log_dir
        text = log_dir.encode()
        # results.error_code to results.log_dir
        put(pack_hh(error_code, len(text)))
        # results.log_dir
        put(text)
        # results.topics
        put(pack_i(len(topics)))
        for name, partitions in topics:
            # results.topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # results.topics.partitions
            put(pack_i(len(partitions)))
            for partition_index, partition_size, offset_lag, is_future_key in partitions:
                # results.topics.partitions.partition_index to results.topics.partitions
                put(pack_iqqB0(partition_index, partition_size, offset_lag, is_future_key))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, _, results = msg
    # results
    n = len(results) + 1
    if n < 128:
        # throttle_time_ms to results
        put(pack_iB(throttle_time_ms, n))
    # results
    else:
        # throttle_time_ms to results
        put(pack_i(throttle_time_ms))
        # results
        put(encode_uvarint(n))
    for error_code, log_dir, topics, _, _ in results:
        # results.log_dir
        text = log_dir.encode()
        n = len(text) + 1
        if n < 128:
            # results.error_code to results.log_dir
            put(pack_hB(error_code, n))
        # results.log_dir
        else:
            # results.error_code to results.log_dir
            put(pack_h(error_code))
            # results.log_dir
            put(encode_string_length(n))
        put(text)
        # results.topics
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partitions in topics:
            # results.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # results.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for partition_index, partition_size, offset_lag, is_future_key in partitions:
                # results.topics.partitions.partition_index to results.topics.partitions
                put(pack_iqqB0x(partition_index, partition_size, offset_lag, is_future_key))
            # results.topics
            put(b"\x00")
        # results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, error_code, results = msg
    # results
    n = len(results) + 1
    if n < 128:
        # throttle_time_ms to results
        put(pack_ihB(throttle_time_ms, error_code, n))
    # results
    else:
        # throttle_time_ms to results
        put(pack_ih(throttle_time_ms, error_code))
        # results
        put(encode_uvarint(n))
    for error_code_2, log_dir, topics, _, _ in results:
        # results.log_dir
        text = log_dir.encode()
        n = len(text) + 1
        if n < 128:
            # results.error_code to results.log_dir
            put(pack_hB(error_code_2, n))
        # results.log_dir
        else:
            # results.error_code to results.log_dir
            put(pack_h(error_code_2))
            # results.log_dir
            put(encode_string_length(n))
        put(text)
        # results.topics
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partitions in topics:
            # results.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # results.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for partition_index, partition_size, offset_lag, is_future_key in partitions:
                # results.topics.partitions.partition_index to results.topics.partitions
                put(pack_iqqB0x(partition_index, partition_size, offset_lag, is_future_key))
            # results.topics
            put(b"\x00")
        # results
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
    throttle_time_ms, error_code, results = msg
    # results
    n = len(results) + 1
    if n < 128:
        # throttle_time_ms to results
        put(pack_ihB(throttle_time_ms, error_code, n))
    # results
    else:
        # throttle_time_ms to results
        put(pack_ih(throttle_time_ms, error_code))
        # results
        put(encode_uvarint(n))
    for error_code_2, log_dir, topics, total_bytes, usable_bytes in results:
        # results.log_dir
        text = log_dir.encode()
        n = len(text) + 1
        if n < 128:
            # results.error_code to results.log_dir
            put(pack_hB(error_code_2, n))
        # results.log_dir
        else:
            # results.error_code to results.log_dir
            put(pack_h(error_code_2))
            # results.log_dir
            put(encode_string_length(n))
        put(text)
        # results.topics
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partitions in topics:
            # results.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # results.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for partition_index, partition_size, offset_lag, is_future_key in partitions:
                # results.topics.partitions.partition_index to results.topics.partitions
                put(pack_iqqB0x(partition_index, partition_size, offset_lag, is_future_key))
            # results.topics
            put(b"\x00")
        # results.total_bytes to results
        put(pack_qqx(total_bytes, usable_bytes))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
27 54 60 109 116 165 172 221 the message
32 68 72 124 128 180 184 throttle_time_ms to results
34 65 70 74 107 121 126 130 163 177 182 186 results
36 40 77 83 87 133 139 143 189 195 199 results.log_dir
38 81 85 137 141 193 197 results.error_code to results.log_dir
42 90 105 146 161 202 217 results.topics
45 94 150 206 results.topics.name
49 99 155 211 results.topics.partitions
52 103 159 215 results.topics.partitions.partition_index to results.topics.partitions
219 results.total_bytes to results
"""

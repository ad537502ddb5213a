"""Encoders of AlterReplicaLogDirsResponse, v0 to v2.

Made by `make codec` from protocol/schema/34_alter_replica_log_dirs.txt: do not edit.
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
pack_ihx = Struct(">ihx").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
    # throttle_time_ms to results
    put(pack_ii(throttle_time_ms, len(results)))
    # results
    for topic_name, partitions in results:
        # results.topic_name
        text = topic_name.encode()
        put(pack_h(len(text)))
        put(text)
        # results.partitions
        put(pack_i(len(partitions)))
        for partition_index, error_code in partitions:
            # results.partitions.partition_index to results.partitions
            put(pack_ih(partition_index, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, results = msg
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
    for topic_name, partitions in results:
        # results.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # results.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, error_code in partitions:
            # results.partitions.partition_index to results.partitions
            put(pack_ihx(partition_index, error_code))
        # results
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
22 40 46 76 the message
27 54 58 throttle_time_ms to results
29 51 56 60 74 results
31 63 results.topic_name
35 68 results.partitions
38 72 results.partitions.partition_index to results.partitions
"""

"""Encoders of OffsetCommitResponse, v0 to v9.

Made by `make codec` from protocol/schema/08_offset_commit.txt: do not edit.
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
    _, topics = msg
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, error_code in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ih(partition_index, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics = msg
    # throttle_time_ms to topics
    put(pack_ii(throttle_time_ms, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, error_code in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ih(partition_index, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    throttle_time_ms, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # throttle_time_ms to topics
        put(pack_iB(throttle_time_ms, n))
    # topics
    else:
        # throttle_time_ms to topics
        put(pack_i(throttle_time_ms))
        # topics
        put(encode_uvarint(n))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, error_code in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ihx(partition_index, error_code))
        # topics
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
    4: encode_v3,
    5: encode_v3,
    6: encode_v3,
    7: encode_v3,
    8: encode_v8,
    9: encode_v8,
}
PLACES: Final = """\
22 39 45 63 69 99 the message
27 52 74 79 83 97 topics
30 54 86 topics.name
34 58 91 topics.partitions
37 61 95 topics.partitions.partition_index to topics.partitions
50 77 81 throttle_time_ms to topics
"""

"""Encoders of ListOffsetsResponse, v0 to v9.

Made by `make codec` from protocol/schema/02_list_offsets.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ihi = Struct(">ihi").pack
pack_ihqq = Struct(">ihqq").pack
pack_ihqqi = Struct(">ihqqi").pack
pack_ihqqix = Struct(">ihqqix").pack
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
        for partition_index, error_code, old_style_offsets, _, _, _ in partitions:
            # topics.partitions.partition_index to topics.partitions.old_style_offsets
            put(pack_ihi(partition_index, error_code, len(old_style_offsets)))
            # topics.partitions.old_style_offsets
            put(pack(f">{len(old_style_offsets)}q", *old_style_offsets))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
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
        for partition_index, error_code, _, timestamp, offset, _ in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ihqq(partition_index, error_code, timestamp, offset))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
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
        for partition_index, error_code, _, timestamp, offset, _ in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ihqq(partition_index, error_code, timestamp, offset))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
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
        for partition_index, error_code, _, timestamp, offset, leader_epoch in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ihqqi(partition_index, error_code, timestamp, offset, leader_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
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
        for partition_index, error_code, _, timestamp, offset, leader_epoch in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ihqqix(partition_index, error_code, timestamp, offset, leader_epoch))
        # topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v2,
    3: encode_v2,
    4: encode_v4,
    5: encode_v4,
    6: encode_v6,
    7: encode_v6,
    8: encode_v6,
    9: encode_v6,
}
PLACES: Final = """\
24 43 49 66 72 90 96 114 120 150 the message
29 54 79 103 125 130 134 148 topics
32 57 81 105 137 topics.name
36 61 85 109 142 topics.partitions
39 topics.partitions.partition_index to topics.partitions.old_style_offsets
41 topics.partitions.old_style_offsets
64 88 112 146 topics.partitions.partition_index to topics.partitions
77 101 128 132 throttle_time_ms to topics
"""

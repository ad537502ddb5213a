"""Encoders of OffsetForLeaderEpochResponse, v0 to v4.

Made by `make codec` from protocol/schema/23_offset_for_leader_epoch.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_hiiq = Struct(">hiiq").pack
pack_hiiqx = Struct(">hiiqx").pack
pack_hiq = Struct(">hiq").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topics = msg
    # topics
    put(pack_i(len(topics)))
    for topic, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for error_code, partition, _, end_offset in partitions:
            # topics.partitions.error_code to topics.partitions
            put(pack_hiq(error_code, partition, end_offset))
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
    for topic, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for error_code, partition, leader_epoch, end_offset in partitions:
            # topics.partitions.error_code to topics.partitions
            put(pack_hiiq(error_code, partition, leader_epoch, end_offset))
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
    for topic, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for error_code, partition, leader_epoch, end_offset in partitions:
            # topics.partitions.error_code to topics.partitions
            put(pack_hiiq(error_code, partition, leader_epoch, end_offset))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
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
    for topic, partitions in topics:
        # topics.topic
        text = topic.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for error_code, partition, leader_epoch, end_offset in partitions:
            # topics.partitions.error_code to topics.partitions
            put(pack_hiiqx(error_code, partition, leader_epoch, end_offset))
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
}
PLACES: Final = """\
23 40 46 63 69 87 93 123 the message
28 51 76 98 103 107 121 topics
31 54 78 110 topics.topic
35 58 82 115 topics.partitions
38 61 85 119 topics.partitions.error_code to topics.partitions
74 101 105 throttle_time_ms to topics
"""

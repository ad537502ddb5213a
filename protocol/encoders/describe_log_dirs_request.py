"""Encoders of DescribeLogDirsRequest, v0 to v4.

Made by `make codec` from protocol/schema/35_describe_log_dirs.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (topics,) = msg
    # topics
    if topics is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topics)))
        for topic, partitions in topics:
            # topics.topic
            text = topic.encode()
            put(pack_h(len(text)))
            put(text)
            # topics.partitions
            put(pack_i(len(partitions)))
            put(pack(f">{len(partitions)}i", *partitions))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (topics,) = msg
    # topics
    if topics is None:
        put(b"\x00")
    else:
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for topic, partitions in topics:
            # topics.topic
            text = topic.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
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
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
}
PLACES: Final = """\
18 36 42 65 the message
23 47 63 topics
29 54 topics.topic
33 59 topics.partitions
"""

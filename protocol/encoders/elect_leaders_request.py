"""Encoders of ElectLeadersRequest, v0 to v2.

Made by `make codec` from protocol/schema/43_elect_leaders.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_b = Struct(">b").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topic_partitions, timeout_ms = msg
    # topic_partitions
    if topic_partitions is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topic_partitions)))
        for topic, partitions in topic_partitions:
            # topic_partitions.topic
            text = topic.encode()
            put(pack_h(len(text)))
            put(text)
            # topic_partitions.partitions
            put(pack_i(len(partitions)))
            put(pack(f">{len(partitions)}i", *partitions))
    # timeout_ms to the end
    put(pack_i(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    election_type, topic_partitions, timeout_ms = msg
    # election_type to topic_partitions
    put(pack_b(election_type))
    # topic_partitions
    if topic_partitions is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topic_partitions)))
        for topic, partitions in topic_partitions:
            # topic_partitions.topic
            text = topic.encode()
            put(pack_h(len(text)))
            put(text)
            # topic_partitions.partitions
            put(pack_i(len(partitions)))
            put(pack(f">{len(partitions)}i", *partitions))
    # timeout_ms to the end
    put(pack_i(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    election_type, topic_partitions, timeout_ms = msg
    # election_type to topic_partitions
    put(pack_b(election_type))
    # topic_partitions
    if topic_partitions is None:
        put(b"\x00")
    else:
        n = len(topic_partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for topic, partitions in topic_partitions:
            # topic_partitions.topic
            text = topic.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # topic_partitions.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
            # topic_partitions
            put(b"\x00")
    # timeout_ms to the end
    put(pack_ix(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2}
PLACES: Final = """\
20 40 46 68 74 101 the message
25 53 81 97 topic_partitions
31 59 88 topic_partitions.topic
35 63 93 topic_partitions.partitions
38 66 99 timeout_ms to the end
51 79 election_type to topic_partitions
"""

"""Encoders of OffsetForLeaderEpochRequest, v0 to v4.

Made by `make codec` from protocol/schema/23_offset_for_leader_epoch.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB = Struct(">iB").pack
pack_ii = Struct(">ii").pack
pack_iii = Struct(">iii").pack
pack_iiix = Struct(">iiix").pack
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
        for partition, _, leader_epoch in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_ii(partition, leader_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
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
        for partition, current_leader_epoch, leader_epoch in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iii(partition, current_leader_epoch, leader_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, topics = msg
    # replica_id to topics
    put(pack_ii(replica_id, len(topics)))
    # topics
    for topic, partitions in topics:
        # topics.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition, current_leader_epoch, leader_epoch in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iii(partition, current_leader_epoch, leader_epoch))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # replica_id to topics
        put(pack_iB(replica_id, n))
    # topics
    else:
        # replica_id to topics
        put(pack_i(replica_id))
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
        for partition, current_leader_epoch, leader_epoch in partitions:
            # topics.partitions.partition to topics.partitions
            put(pack_iiix(partition, current_leader_epoch, leader_epoch))
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
    3: encode_v3,
    4: encode_v4,
}
PLACES: Final = """\
22 39 45 62 68 86 92 122 the message
27 50 75 97 102 106 120 topics
30 53 77 109 topics.topic
34 57 81 114 topics.partitions
37 60 84 118 topics.partitions.partition to topics.partitions
73 100 104 replica_id to topics
"""

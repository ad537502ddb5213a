"""Encoders of ListOffsetsRequest, v0 to v9.

Made by `make codec` from protocol/schema/02_list_offsets.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ib = Struct(">ib").pack
pack_ibB = Struct(">ibB").pack
pack_ibi = Struct(">ibi").pack
pack_ii = Struct(">ii").pack
pack_iiq = Struct(">iiq").pack
pack_iiqx = Struct(">iiqx").pack
pack_iq = Struct(">iq").pack
pack_iqi = Struct(">iqi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, _, topics = msg
    # replica_id to topics
    put(pack_ii(replica_id, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, _, timestamp, max_num_offsets in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iqi(partition_index, timestamp, max_num_offsets))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, _, topics = msg
    # replica_id to topics
    put(pack_ii(replica_id, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, _, timestamp, _ in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iq(partition_index, timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, isolation_level, topics = msg
    # replica_id to topics
    put(pack_ibi(replica_id, isolation_level, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, _, timestamp, _ in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iq(partition_index, timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, isolation_level, topics = msg
    # replica_id to topics
    put(pack_ibi(replica_id, isolation_level, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, current_leader_epoch, timestamp, _ in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iiq(partition_index, current_leader_epoch, timestamp))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    replica_id, isolation_level, topics = msg
    # topics
    n = len(topics) + 1
    if n < 128:
        # replica_id to topics
        put(pack_ibB(replica_id, isolation_level, n))
    # topics
    else:
        # replica_id to topics
        put(pack_ib(replica_id, isolation_level))
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
        for partition_index, current_leader_epoch, timestamp, _ in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iiqx(partition_index, current_leader_epoch, timestamp))
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
26 44 50 68 74 92 98 116 122 152 the message
31 55 79 103 130 134 replica_id to topics
33 57 81 105 127 132 136 150 topics
35 59 83 107 139 topics.name
39 63 87 111 144 topics.partitions
42 66 90 114 148 topics.partitions.partition_index to topics.partitions
"""

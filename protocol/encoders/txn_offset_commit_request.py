"""Encoders of TxnOffsetCommitRequest, v0 to v4.

Made by `make codec` from protocol/schema/28_txn_offset_commit.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iq = Struct(">iq").pack
pack_iqi = Struct(">iqi").pack
pack_qhi = Struct(">qhi").pack
pack_qhiB = Struct(">qhiB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, group_id, producer_id, producer_epoch, _, _, _, topics = msg
    # transactional_id
    text = transactional_id.encode()
    put(pack_h(len(text)))
    put(text)
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # producer_id to topics
    put(pack_qhi(producer_id, producer_epoch, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, committed_metadata in partitions:
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            put(pack_iq(partition_index, committed_offset))
            # topics.partitions.committed_metadata
            if committed_metadata is None:
                put(b"\xff\xff")
            else:
                text = committed_metadata.encode()
                put(pack_h(len(text)))
                put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, group_id, producer_id, producer_epoch, _, _, _, topics = msg
    # transactional_id
    text = transactional_id.encode()
    put(pack_h(len(text)))
    put(text)
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # producer_id to topics
    put(pack_qhi(producer_id, producer_epoch, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, committed_leader_epoch, committed_metadata in partitions:
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            put(pack_iqi(partition_index, committed_offset, committed_leader_epoch))
            # topics.partitions.committed_metadata
            if committed_metadata is None:
                put(b"\xff\xff")
            else:
                text = committed_metadata.encode()
                put(pack_h(len(text)))
                put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics = msg
    # transactional_id
    text = transactional_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # producer_id to member_id
        put(pack_qhiB(producer_id, producer_epoch, generation_id, n))
    # member_id
    else:
        # producer_id to member_id
        put(pack_qhi(producer_id, producer_epoch, generation_id))
        # member_id
        put(encode_string_length(n))
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\x00")
    else:
        text = group_instance_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, committed_offset, committed_leader_epoch, committed_metadata in partitions:
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            put(pack_iqi(partition_index, committed_offset, committed_leader_epoch))
            # topics.partitions.committed_metadata
            if committed_metadata is None:
                put(b"\x00")
            else:
                text = committed_metadata.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics.partitions
            put(b"\x00")
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
    4: encode_v3,
}
PLACES: Final = """\
22 55 61 94 100 163 the message
27 66 105 transactional_id
31 70 110 group_id
35 74 producer_id to topics
37 76 136 161 topics
39 78 140 topics.name
43 82 145 159 topics.partitions
46 85 149 topics.partitions.partition_index to topics.partitions.committed_metadata
48 87 151 topics.partitions.committed_metadata
115 121 125 member_id
119 123 producer_id to member_id
128 group_instance_id
"""

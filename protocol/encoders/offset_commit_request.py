"""Encoders of OffsetCommitRequest, v0 to v9.

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
pack_iq = Struct(">iq").pack
pack_iqi = Struct(">iqi").pack
pack_iqq = Struct(">iqq").pack
pack_qi = Struct(">qi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, _, _, _, _, topics = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, _, committed_metadata in partitions:
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


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id_or_member_epoch, member_id, _, _, topics = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id_or_member_epoch to member_id
    put(pack_ih(generation_id_or_member_epoch, len(text)))
    # member_id
    put(text)
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, commit_timestamp, committed_metadata in partitions:
            # topics.partitions.partition_index to topics.partitions.committed_metadata
            put(pack_iqq(partition_index, committed_offset, commit_timestamp))
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
    group_id, generation_id_or_member_epoch, member_id, _, retention_time_ms, topics = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id_or_member_epoch to member_id
    put(pack_ih(generation_id_or_member_epoch, len(text)))
    # member_id
    put(text)
    # retention_time_ms to topics
    put(pack_qi(retention_time_ms, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, _, committed_metadata in partitions:
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


def encode_v5(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id_or_member_epoch, member_id, _, _, topics = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id_or_member_epoch to member_id
    put(pack_ih(generation_id_or_member_epoch, len(text)))
    # member_id
    put(text)
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, _, _, committed_metadata in partitions:
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


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id_or_member_epoch, member_id, _, _, topics = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id_or_member_epoch to member_id
    put(pack_ih(generation_id_or_member_epoch, len(text)))
    # member_id
    put(text)
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, committed_leader_epoch, _, committed_metadata in partitions:
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


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id_or_member_epoch, member_id, group_instance_id, _, topics = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # member_id
    text = member_id.encode()
    # generation_id_or_member_epoch to member_id
    put(pack_ih(generation_id_or_member_epoch, len(text)))
    # member_id
    put(text)
    # group_instance_id
    if group_instance_id is None:
        put(b"\xff\xff")
    else:
        text = group_instance_id.encode()
        put(pack_h(len(text)))
        put(text)
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, committed_offset, committed_leader_epoch, _, committed_metadata in partitions:
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


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, generation_id_or_member_epoch, member_id, group_instance_id, _, topics = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # member_id
    text = member_id.encode()
    n = len(text) + 1
    if n < 128:
        # generation_id_or_member_epoch to member_id
        put(pack_iB(generation_id_or_member_epoch, n))
    # member_id
    else:
        # generation_id_or_member_epoch to member_id
        put(pack_i(generation_id_or_member_epoch))
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
        for partition_index, committed_offset, committed_leader_epoch, _, committed_metadata in partitions:
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
    1: encode_v1,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
    5: encode_v5,
    6: encode_v6,
    7: encode_v7,
    8: encode_v8,
    9: encode_v8,
}
PLACES: Final = """\
24 52 58 92 98 133 139 173 179 213 219 260 266 324 the message
29 63 103 144 184 224 271 group_id
33 73 115 154 194 241 297 322 topics
36 76 117 157 197 244 301 topics.name
40 80 121 161 201 248 306 320 topics.partitions
43 83 124 164 204 251 310 topics.partitions.partition_index to topics.partitions.committed_metadata
45 85 126 166 206 253 312 topics.partitions.committed_metadata
67 71 107 111 148 152 188 192 228 232 276 282 286 member_id
69 109 150 190 230 280 284 generation_id_or_member_epoch to member_id
113 retention_time_ms to topics
234 289 group_instance_id
"""

"""Encoders of OffsetFetchRequest, v0 to v9.

Made by `make codec` from protocol/schema/09_offset_fetch.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_B0x = Struct(">?x").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, topics, _, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # topics
    put(pack_i(len(topics)))
    for name, partition_indexes in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partition_indexes
        put(pack_i(len(partition_indexes)))
        put(pack(f">{len(partition_indexes)}i", *partition_indexes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, topics, _, _ = msg
    # group_id
    text = group_id.encode()
    put(pack_h(len(text)))
    put(text)
    # topics
    if topics is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topics)))
        for name, partition_indexes in topics:
            # topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # topics.partition_indexes
            put(pack_i(len(partition_indexes)))
            put(pack(f">{len(partition_indexes)}i", *partition_indexes))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, topics, _, _ = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # topics
    if topics is None:
        put(b"\x00")
    else:
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partition_indexes in topics:
            # topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # topics.partition_indexes
            n = len(partition_indexes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partition_indexes)}i", *partition_indexes))
            # topics
            put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v7(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, topics, _, require_stable = msg
    # group_id
    text = group_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # topics
    if topics is None:
        put(b"\x00")
    else:
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for name, partition_indexes in topics:
            # topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # topics.partition_indexes
            n = len(partition_indexes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partition_indexes)}i", *partition_indexes))
            # topics
            put(b"\x00")
    # require_stable to the end
    put(pack_B0x(require_stable))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, _, groups, require_stable = msg
    # groups
    n = len(groups) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for group_id, _, _, topics in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.topics
        if topics is None:
            put(b"\x00")
        else:
            n = len(topics) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for name, partition_indexes in topics:
                # groups.topics.name
                text = name.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # groups.topics.partition_indexes
                n = len(partition_indexes) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(pack(f">{len(partition_indexes)}i", *partition_indexes))
                # groups.topics
                put(b"\x00")
        # groups
        put(b"\x00")
    # require_stable to the end
    put(pack_B0x(require_stable))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, _, groups, require_stable = msg
    # groups
    n = len(groups) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for group_id, member_id, member_epoch, topics in groups:
        # groups.group_id
        text = group_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # groups.member_id
        if member_id is None:
            put(b"\x00")
        else:
            text = member_id.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # groups.member_epoch to groups.topics
        put(pack_i(member_epoch))
        # groups.topics
        if topics is None:
            put(b"\x00")
        else:
            n = len(topics) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for name, partition_indexes in topics:
                # groups.topics.name
                text = name.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
                # groups.topics.partition_indexes
                n = len(partition_indexes) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(pack(f">{len(partition_indexes)}i", *partition_indexes))
                # groups.topics
                put(b"\x00")
        # groups
        put(b"\x00")
    # require_stable to the end
    put(pack_B0x(require_stable))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v2,
    3: encode_v2,
    4: encode_v2,
    5: encode_v2,
    6: encode_v6,
    7: encode_v7,
    8: encode_v8,
    9: encode_v9,
}
PLACES: Final = """\
19 38 44 66 72 100 107 137 143 179 185 231 the message
24 49 77 112 group_id
28 53 82 98 117 133 topics
31 59 89 124 topics.name
35 63 94 129 topics.partition_indexes
135 177 229 require_stable to the end
148 175 190 227 groups
152 194 groups.group_id
157 173 209 225 groups.topics
164 216 groups.topics.name
169 221 groups.topics.partition_indexes
199 groups.member_id
207 groups.member_epoch to groups.topics
"""

"""Encoders of MetadataRequest, v0 to v12.

Made by `make codec` from protocol/schema/03_metadata.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_B0 = Struct(">?").pack
pack_B0B0B0 = Struct(">???").pack
pack_B0B0B0x = Struct(">???x").pack
pack_B0B0x = Struct(">??x").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, _, _, _ = msg
    # topics
    put(pack_i(len(topics)))
    for _, name in topics:
        # topics.name
        text = name.encode()
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
    topics, _, _, _ = msg
    # topics
    if topics is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topics)))
        for _, name in topics:
            # topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, allow_auto_topic_creation, _, _ = msg
    # topics
    if topics is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topics)))
        for _, name in topics:
            # topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
    # allow_auto_topic_creation to the end
    put(pack_B0(allow_auto_topic_creation))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v8(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = msg
    # topics
    if topics is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(topics)))
        for _, name in topics:
            # topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
    # allow_auto_topic_creation to the end
    put(
        pack_B0B0B0(
            allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations
        )
    )
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v9(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = msg
    # topics
    if topics is None:
        put(b"\x00")
    else:
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for _, name in topics:
            # topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # topics
            put(b"\x00")
    # allow_auto_topic_creation to the end
    put(
        pack_B0B0B0x(
            allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations
        )
    )
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v10(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = msg
    # topics
    if topics is None:
        put(b"\x00")
    else:
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for topic_id, name in topics:
            # topics.topic_id to topics.name
            put(pack_16s(topic_id))
            # topics.name
            if name is None:
                put(b"\x00")
            else:
                text = name.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics
            put(b"\x00")
    # allow_auto_topic_creation to the end
    put(
        pack_B0B0B0x(
            allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations
        )
    )
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v11(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, allow_auto_topic_creation, _, include_topic_authorized_operations = msg
    # topics
    if topics is None:
        put(b"\x00")
    else:
        n = len(topics) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for topic_id, name in topics:
            # topics.topic_id to topics.name
            put(pack_16s(topic_id))
            # topics.name
            if name is None:
                put(b"\x00")
            else:
                text = name.encode()
                n = len(text) + 1
                put(UVARINTS[n] if n < 128 else encode_string_length(n))
                put(text)
            # topics
            put(b"\x00")
    # allow_auto_topic_creation to the end
    put(pack_B0B0x(allow_auto_topic_creation, include_topic_authorized_operations))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v1,
    2: encode_v1,
    3: encode_v1,
    4: encode_v4,
    5: encode_v4,
    6: encode_v4,
    7: encode_v4,
    8: encode_v8,
    9: encode_v9,
    10: encode_v10,
    11: encode_v11,
    12: encode_v11,
}
PLACES: Final = """\
23 35 41 56 62 79 85 106 112 137 143 173 179 205 the message
28 46 67 90 117 129 148 165 184 201 topics
31 52 73 96 124 157 193 topics.name
77 100 131 167 203 allow_auto_topic_creation to the end
155 191 topics.topic_id to topics.name
"""

"""Encoders of DeleteTopicsRequest, v0 to v6.

Made by `make codec` from protocol/schema/20_delete_topics.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16sx = Struct(">16sx").pack
pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topic_names, timeout_ms = msg
    # topic_names
    put(pack_i(len(topic_names)))
    for one in topic_names:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # timeout_ms to the end
    put(pack_i(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, topic_names, timeout_ms = msg
    # topic_names
    n = len(topic_names) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in topic_names:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # timeout_ms to the end
    put(pack_ix(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v6(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, _, timeout_ms = msg
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, topic_id in topics:
        # topics.name
        if name is None:
            put(b"\x00")
        else:
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
        # topics.topic_id to topics
        put(pack_16sx(topic_id))
    # timeout_ms to the end
    put(pack_ix(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v0,
    4: encode_v4,
    5: encode_v4,
    6: encode_v6,
}
PLACES: Final = """\
20 33 39 54 60 81 the message
25 44 topic_names
31 52 79 timeout_ms to the end
65 topics
69 topics.name
77 topics.topic_id to topics
"""

"""Encoders of ShareGroupPartitionMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    initialized_topics, deleting_topics = msg
    # initialized_topics
    n = len(initialized_topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for topic_id, topic_name, partitions in initialized_topics:
        # initialized_topics.topic_name
        text = topic_name.encode()
        n = len(text) + 1
        if n < 128:
            # initialized_topics.topic_id to initialized_topics.topic_name
            put(pack_16sB(topic_id, n))
        # initialized_topics.topic_name
        else:
            # initialized_topics.topic_id to initialized_topics.topic_name
            put(pack_16s(topic_id))
            # initialized_topics.topic_name
            put(encode_string_length(n))
        put(text)
        # initialized_topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(pack(f">{len(partitions)}i", *partitions))
        # initialized_topics
        put(b"\x00")
    # deleting_topics
    n = len(deleting_topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for topic_id_2, topic_name_2 in deleting_topics:
        # deleting_topics.topic_name
        text = topic_name_2.encode()
        n = len(text) + 1
        if n < 128:
            # deleting_topics.topic_id to deleting_topics.topic_name
            put(pack_16sB(topic_id_2, n))
        # deleting_topics.topic_name
        else:
            # deleting_topics.topic_id to deleting_topics.topic_name
            put(pack_16s(topic_id_2))
            # deleting_topics.topic_name
            put(encode_string_length(n))
        put(text)
        # deleting_topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
18 65 the message
23 44 initialized_topics
27 33 37 initialized_topics.topic_name
31 35 initialized_topics.topic_id to initialized_topics.topic_name
40 initialized_topics.partitions
46 63 deleting_topics
50 56 60 deleting_topics.topic_name
54 58 deleting_topics.topic_id to deleting_topics.topic_name
"""

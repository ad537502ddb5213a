"""Encoders of ConsumerProtocolSubscription, v0 to v3.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, user_data, _, _, _ = msg
    # topics
    put(pack_i(len(topics)))
    for one in topics:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # user_data
    if user_data is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(user_data)))
        put(user_data)
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, user_data, owned_partitions, _, _ = msg
    # topics
    put(pack_i(len(topics)))
    for one in topics:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # user_data
    if user_data is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(user_data)))
        put(user_data)
    # owned_partitions
    put(pack_i(len(owned_partitions)))
    for topic, partitions in owned_partitions:
        # owned_partitions.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # owned_partitions.partitions
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
    topics, user_data, owned_partitions, generation_id, _ = msg
    # topics
    put(pack_i(len(topics)))
    for one in topics:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # user_data
    if user_data is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(user_data)))
        put(user_data)
    # owned_partitions
    put(pack_i(len(owned_partitions)))
    for topic, partitions in owned_partitions:
        # owned_partitions.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # owned_partitions.partitions
        put(pack_i(len(partitions)))
        put(pack(f">{len(partitions)}i", *partitions))
    # generation_id to the end
    put(pack_i(generation_id))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, user_data, owned_partitions, generation_id, rack_id = msg
    # topics
    put(pack_i(len(topics)))
    for one in topics:
        text = one.encode()
        put(pack_h(len(text)))
        put(text)
    # user_data
    if user_data is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(user_data)))
        put(user_data)
    # owned_partitions
    put(pack_i(len(owned_partitions)))
    for topic, partitions in owned_partitions:
        # owned_partitions.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # owned_partitions.partitions
        put(pack_i(len(partitions)))
        put(pack(f">{len(partitions)}i", *partitions))
    # generation_id to rack_id
    put(pack_i(generation_id))
    # rack_id
    if rack_id is None:
        put(b"\xff\xff")
    else:
        text = rack_id.encode()
        put(pack_h(len(text)))
        put(text)
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1, 2: encode_v2, 3: encode_v3}
PLACES: Final = """\
15 32 38 65 71 100 106 142 the message
20 43 76 111 topics
26 49 82 117 user_data
55 88 123 owned_partitions
58 91 126 owned_partitions.topic
62 95 130 owned_partitions.partitions
98 generation_id to the end
133 generation_id to rack_id
135 rack_id
"""

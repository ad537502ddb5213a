"""Encoders of OffsetDeleteRequest, v0.

Made by `make codec` from protocol/schema/47_offset_delete.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    group_id, topics = msg
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
        for (partition_index,) in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_i(partition_index))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
15 36 the message
20 group_id
24 topics
27 topics.name
31 topics.partitions
34 topics.partitions.partition_index to topics.partitions
"""

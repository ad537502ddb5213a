"""Encoders of ConsumerProtocolAssignment, v0 to v3.

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
    assigned_partitions, user_data = msg
    # assigned_partitions
    put(pack_i(len(assigned_partitions)))
    for topic, partitions in assigned_partitions:
        # assigned_partitions.topic
        text = topic.encode()
        put(pack_h(len(text)))
        put(text)
        # assigned_partitions.partitions
        put(pack_i(len(partitions)))
        put(pack(f">{len(partitions)}i", *partitions))
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


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v0, 3: encode_v0}
PLACES: Final = """\
15 36 the message
20 assigned_partitions
23 assigned_partitions.topic
27 assigned_partitions.partitions
30 user_data
"""

"""Encoders of OffsetDeleteResponse, v0.

Made by `make codec` from protocol/schema/47_offset_delete.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

pack_h = Struct(">h").pack
pack_hii = Struct(">hii").pack
pack_i = Struct(">i").pack
pack_ih = Struct(">ih").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    error_code, throttle_time_ms, topics = msg
    # error_code to topics
    put(pack_hii(error_code, throttle_time_ms, len(topics)))
    # topics
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, error_code_2 in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_ih(partition_index, error_code_2))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
17 35 the message
22 error_code to topics
24 topics
26 topics.name
30 topics.partitions
33 topics.partitions.partition_index to topics.partitions
"""

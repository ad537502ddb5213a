"""Encoders of ListPartitionReassignmentsRequest, v0.

Made by `make codec` from protocol/schema/46_list_partition_reassignments.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    timeout_ms, topics = msg
    # timeout_ms to topics
    put(pack_i(timeout_ms))
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


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
17 42 the message
22 timeout_ms to topics
24 40 topics
31 topics.name
36 topics.partition_indexes
"""

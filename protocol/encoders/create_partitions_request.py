"""Encoders of CreatePartitionsRequest, v0 to v3.

Made by `make codec` from protocol/schema/37_create_partitions.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iB0 = Struct(">i?").pack
pack_iB0x = Struct(">i?x").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms, validate_only = msg
    # topics
    put(pack_i(len(topics)))
    for name, count, assignments in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.count to topics.assignments
        put(pack_i(count))
        # topics.assignments
        if assignments is None:
            put(b"\xff\xff\xff\xff")
        else:
            put(pack_i(len(assignments)))
            for (broker_ids,) in assignments:
                # topics.assignments.broker_ids
                put(pack_i(len(broker_ids)))
                put(pack(f">{len(broker_ids)}i", *broker_ids))
    # timeout_ms to the end
    put(pack_iB0(timeout_ms, validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms, validate_only = msg
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, count, assignments in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.count to topics.assignments
        put(pack_i(count))
        # topics.assignments
        if assignments is None:
            put(b"\x00")
        else:
            n = len(assignments) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for (broker_ids,) in assignments:
                # topics.assignments.broker_ids
                n = len(broker_ids) + 1
                put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                put(pack(f">{len(broker_ids)}i", *broker_ids))
                # topics.assignments
                put(b"\x00")
        # topics
        put(b"\x00")
    # timeout_ms to the end
    put(pack_iB0x(timeout_ms, validate_only))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2, 3: encode_v2}
PLACES: Final = """\
20 45 51 84 the message
25 56 80 topics
28 60 topics.name
32 65 topics.count to topics.assignments
34 67 78 topics.assignments
40 74 topics.assignments.broker_ids
43 82 timeout_ms to the end
"""

"""Encoders of DeleteRecordsRequest, v0 to v2.

Made by `make codec` from protocol/schema/21_delete_records.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_iq = Struct(">iq").pack
pack_iqx = Struct(">iqx").pack
pack_ix = Struct(">ix").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms = msg
    # topics
    put(pack_i(len(topics)))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # topics.partitions
        put(pack_i(len(partitions)))
        for partition_index, offset in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iq(partition_index, offset))
    # timeout_ms to the end
    put(pack_i(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v2(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    topics, timeout_ms = msg
    # topics
    n = len(topics) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for name, partitions in topics:
        # topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for partition_index, offset in partitions:
            # topics.partitions.partition_index to topics.partitions
            put(pack_iqx(partition_index, offset))
        # topics
        put(b"\x00")
    # timeout_ms to the end
    put(pack_ix(timeout_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v0, 2: encode_v2}
PLACES: Final = """\
21 40 46 70 the message
26 51 66 topics
29 55 topics.name
33 60 topics.partitions
36 64 topics.partitions.partition_index to topics.partitions
38 68 timeout_ms to the end
"""

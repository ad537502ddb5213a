"""Encoders of WriteTxnMarkersResponse, v0 to v1.

Made by `make codec` from protocol/schema/27_write_txn_markers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ih = Struct(">ih").pack
pack_ihx = Struct(">ihx").pack
pack_q = Struct(">q").pack
pack_qB = Struct(">qB").pack
pack_qi = Struct(">qi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (markers,) = msg
    # markers
    put(pack_i(len(markers)))
    for producer_id, topics in markers:
        # markers.producer_id to markers.topics
        put(pack_qi(producer_id, len(topics)))
        # markers.topics
        for name, partitions in topics:
            # markers.topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # markers.topics.partitions
            put(pack_i(len(partitions)))
            for partition_index, error_code in partitions:
                # markers.topics.partitions.partition_index to markers.topics.partitions
                put(pack_ih(partition_index, error_code))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (markers,) = msg
    # markers
    n = len(markers) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for producer_id, topics in markers:
        # markers.topics
        n = len(topics) + 1
        if n < 128:
            # markers.producer_id to markers.topics
            put(pack_qB(producer_id, n))
        # markers.topics
        else:
            # markers.producer_id to markers.topics
            put(pack_q(producer_id))
            # markers.topics
            put(encode_uvarint(n))
        for name, partitions in topics:
            # markers.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # markers.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            for partition_index, error_code in partitions:
                # markers.topics.partitions.partition_index to markers.topics.partitions
                put(pack_ihx(partition_index, error_code))
            # markers.topics
            put(b"\x00")
        # markers
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
23 44 50 86 the message
28 55 84 markers
31 62 66 markers.producer_id to markers.topics
33 59 64 68 82 markers.topics
35 71 markers.topics.name
39 76 markers.topics.partitions
42 80 markers.topics.partitions.partition_index to markers.topics.partitions
"""

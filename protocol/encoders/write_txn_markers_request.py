"""Encoders of WriteTxnMarkersRequest, v0 to v1.

Made by `make codec` from protocol/schema/27_write_txn_markers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_ix = Struct(">ix").pack
pack_qhB0 = Struct(">qh?").pack
pack_qhB0B = Struct(">qh?B").pack
pack_qhB0i = Struct(">qh?i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (markers,) = msg
    # markers
    put(pack_i(len(markers)))
    for producer_id, producer_epoch, transaction_result, topics, coordinator_epoch in markers:
        # markers.producer_id to markers.topics
        put(pack_qhB0i(producer_id, producer_epoch, transaction_result, len(topics)))
        # markers.topics
        for name, partition_indexes in topics:
            # markers.topics.name
            text = name.encode()
            put(pack_h(len(text)))
            put(text)
            # markers.topics.partition_indexes
            put(pack_i(len(partition_indexes)))
            put(pack(f">{len(partition_indexes)}i", *partition_indexes))
        # markers.coordinator_epoch to markers
        put(pack_i(coordinator_epoch))
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
    for producer_id, producer_epoch, transaction_result, topics, coordinator_epoch in markers:
        # markers.topics
        n = len(topics) + 1
        if n < 128:
            # markers.producer_id to markers.topics
            put(pack_qhB0B(producer_id, producer_epoch, transaction_result, n))
        # markers.topics
        else:
            # markers.producer_id to markers.topics
            put(pack_qhB0(producer_id, producer_epoch, transaction_result))
            # markers.topics
            put(encode_uvarint(n))
        for name, partition_indexes in topics:
            # markers.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # markers.topics.partition_indexes
            n = len(partition_indexes) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partition_indexes)}i", *partition_indexes))
            # markers.topics
            put(b"\x00")
        # markers.coordinator_epoch to markers
        put(pack_ix(coordinator_epoch))
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
22 43 49 83 the message
27 54 markers
30 61 65 markers.producer_id to markers.topics
32 58 63 67 79 markers.topics
34 70 markers.topics.name
38 75 markers.topics.partition_indexes
41 81 markers.coordinator_epoch to markers
"""

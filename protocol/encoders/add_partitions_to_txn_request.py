"""Encoders of AddPartitionsToTxnRequest, v0 to v5.

Made by `make codec` from protocol/schema/24_add_partitions_to_txn.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_qh = Struct(">qh").pack
pack_qhB = Struct(">qhB").pack
pack_qhB0 = Struct(">qh?").pack
pack_qhB0B = Struct(">qh?B").pack
pack_qhi = Struct(">qhi").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics = msg
    # v3_and_below_transactional_id
    text = v3_and_below_transactional_id.encode()
    put(pack_h(len(text)))
    put(text)
    # v3_and_below_producer_id to v3_and_below_topics
    put(pack_qhi(v3_and_below_producer_id, v3_and_below_producer_epoch, len(v3_and_below_topics)))
    # v3_and_below_topics
    for name, partitions in v3_and_below_topics:
        # v3_and_below_topics.name
        text = name.encode()
        put(pack_h(len(text)))
        put(text)
        # v3_and_below_topics.partitions
        put(pack_i(len(partitions)))
        put(pack(f">{len(partitions)}i", *partitions))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v3(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    _, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics = msg
    # v3_and_below_transactional_id
    text = v3_and_below_transactional_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # v3_and_below_topics
    n = len(v3_and_below_topics) + 1
    if n < 128:
        # v3_and_below_producer_id to v3_and_below_topics
        put(pack_qhB(v3_and_below_producer_id, v3_and_below_producer_epoch, n))
    # v3_and_below_topics
    else:
        # v3_and_below_producer_id to v3_and_below_topics
        put(pack_qh(v3_and_below_producer_id, v3_and_below_producer_epoch))
        # v3_and_below_topics
        put(encode_uvarint(n))
    for name, partitions in v3_and_below_topics:
        # v3_and_below_topics.name
        text = name.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # v3_and_below_topics.partitions
        n = len(partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        put(pack(f">{len(partitions)}i", *partitions))
        # v3_and_below_topics
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


def encode_v4(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    transactions, _, _, _, _ = msg
    # transactions
    n = len(transactions) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for transactional_id, producer_id, producer_epoch, verify_only, topics in transactions:
        # transactions.transactional_id
        text = transactional_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
        # transactions.topics
        n = len(topics) + 1
        if n < 128:
            # transactions.producer_id to transactions.topics
            put(pack_qhB0B(producer_id, producer_epoch, verify_only, n))
        # transactions.topics
        else:
            # transactions.producer_id to transactions.topics
            put(pack_qhB0(producer_id, producer_epoch, verify_only))
            # transactions.topics
            put(encode_uvarint(n))
        for name, partitions in topics:
            # transactions.topics.name
            text = name.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # transactions.topics.partitions
            n = len(partitions) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partitions)}i", *partitions))
            # transactions.topics
            put(b"\x00")
        # transactions
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {
    0: encode_v0,
    1: encode_v0,
    2: encode_v0,
    3: encode_v3,
    4: encode_v4,
    5: encode_v4,
}
PLACES: Final = """\
23 43 49 82 89 128 the message
28 54 v3_and_below_transactional_id
32 62 66 v3_and_below_producer_id to v3_and_below_topics
34 59 64 68 80 v3_and_below_topics
36 71 v3_and_below_topics.name
40 76 v3_and_below_topics.partitions
94 126 transactions
98 transactions.transactional_id
103 108 112 124 transactions.topics
106 110 transactions.producer_id to transactions.topics
115 transactions.topics.name
120 transactions.topics.partitions
"""

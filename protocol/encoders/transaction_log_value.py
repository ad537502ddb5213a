"""Encoders of TransactionLogValue, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_h = Struct(">h").pack
pack_i = Struct(">i").pack
pack_qhib = Struct(">qhib").pack
pack_qq = Struct(">qq").pack
pack_qqx = Struct(">qqx").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        producer_id,
        producer_epoch,
        transaction_timeout_ms,
        transaction_status,
        transaction_partitions,
        transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms,
    ) = msg
    # producer_id to transaction_partitions
    put(pack_qhib(producer_id, producer_epoch, transaction_timeout_ms, transaction_status))
    # transaction_partitions
    if transaction_partitions is None:
        put(b"\xff\xff\xff\xff")
    else:
        put(pack_i(len(transaction_partitions)))
        for topic, partition_ids in transaction_partitions:
            # transaction_partitions.topic
            text = topic.encode()
            put(pack_h(len(text)))
            put(text)
            # transaction_partitions.partition_ids
            put(pack_i(len(partition_ids)))
            put(pack(f">{len(partition_ids)}i", *partition_ids))
    # transaction_last_update_timestamp_ms to the end
    put(pack_qq(transaction_last_update_timestamp_ms, transaction_start_timestamp_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


def encode_v1(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        producer_id,
        producer_epoch,
        transaction_timeout_ms,
        transaction_status,
        transaction_partitions,
        transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms,
    ) = msg
    # producer_id to transaction_partitions
    put(pack_qhib(producer_id, producer_epoch, transaction_timeout_ms, transaction_status))
    # transaction_partitions
    if transaction_partitions is None:
        put(b"\x00")
    else:
        n = len(transaction_partitions) + 1
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for topic, partition_ids in transaction_partitions:
            # transaction_partitions.topic
            text = topic.encode()
            n = len(text) + 1
            put(UVARINTS[n] if n < 128 else encode_string_length(n))
            put(text)
            # transaction_partitions.partition_ids
            n = len(partition_ids) + 1
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(pack(f">{len(partition_ids)}i", *partition_ids))
            # transaction_partitions
            put(b"\x00")
    # transaction_last_update_timestamp_ms to the end
    put(pack_qqx(transaction_last_update_timestamp_ms, transaction_start_timestamp_ms))
    # the message
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0, 1: encode_v1}
PLACES: Final = """\
21 51 57 92 the message
34 70 producer_id to transaction_partitions
36 72 88 transaction_partitions
42 79 transaction_partitions.topic
46 84 transaction_partitions.partition_ids
49 90 transaction_last_update_timestamp_ms to the end
"""

"""Records of a coordinator as batches that the log takes.

What many groups want stored in one cycle becomes few batches: header, checksum and index cost once for all of
them. Records of one append stay in one batch, so that they are in the log together or not at all.

Source: format in `protocol/record_batch.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.ids import NO_EPOCH, NO_PRODUCER_ID
from headrace.protocol.compression import compress
from headrace.protocol.record_batch import (
    MAGIC_V2,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
    seal_batch,
)
from headrace.protocol.varint import encode_varlong
from headrace.workers.coordinators.effects import Append, KeyValue

RECORD_OVERHEAD_BYTES_MAX: Final = 24  # length, attributes, deltas, lengths of key and value, header count


_VARINTS: Final = tuple(encode_varlong(value) for value in range(4096))  # lengths and ordinals, nearly all of them


def size_of(records: Sequence[KeyValue]) -> int:
    """Bytes that records take at most, uncompressed, without a batch's header."""
    size = len(records) * RECORD_OVERHEAD_BYTES_MAX
    for key, value in records:
        size += len(key) + len(value) if value is not None else len(key)
    return size


def _varint(value: int) -> bytes:
    return _VARINTS[value] if value < len(_VARINTS) else encode_varlong(value)


def build_coordinator_batch(
    records: Sequence[KeyValue], timestamp_ms: int, codec: int = 0, producer: tuple[int, int] | None = None
) -> bytearray:
    """One batch; the log stamps it in place.

    producer   (producer id, epoch): makes it a transactional one, without a sequence
    """
    parts: list[bytes] = []
    for delta, (key, value) in enumerate(records):
        value_field = b"\1" if value is None else _varint(len(value)) + value
        # attributes, timestamp delta; offset delta; key; value; headers
        body = b"\0\0" + _varint(delta) + _varint(len(key)) + key + value_field + b"\0"
        parts += (_varint(len(body)), body)
    payload = compress(codec, b"".join(parts))
    producer_id, producer_epoch = producer or (NO_PRODUCER_ID, NO_EPOCH)
    header = (
        0, 0, NO_EPOCH, MAGIC_V2, 0, codec | (TRANSACTIONAL_BIT if producer else 0), len(records) - 1, timestamp_ms,
        timestamp_ms, producer_id, producer_epoch, NO_SEQUENCE, len(records),
    )  # fmt: skip
    return seal_batch(header, payload)


def shared_batches(appends: list[Append], bytes_max: int) -> list[list[Append]]:
    """Appends that share a batch; a transaction's are by themselves."""
    shares: list[list[Append]] = []
    room = 0
    for append in appends:
        size = size_of(append.records)
        if not shares or size > room or append.producer is not None or shares[-1][0].producer is not None:
            shares.append([])
            room = bytes_max
        shares[-1].append(append)
        room -= size
    return shares

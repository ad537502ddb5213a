"""A walk over the records of a batch of v2 that makes no records: is each what the header says, has each a key.

The leader stores batches without reading their records. Where it must read them (compacted topics, and the deep check of
`headrace.validate.records.deep`), this reads lengths and deltas and skips keys and values: 1 us a record, or 10 ns where the record
kernel was built (`record_kernel.py`).

Source: Kafka `LogValidator.validateRecord`, `DefaultRecord.readPartiallyFrom`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.limits import OPENED_BYTES_MAX, RECORD_ERRORS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.compression import decompress
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    Buffer,
    CorruptRecord,
    RecordBatchHeader,
    walk_headers,
    walk_spans,
)

_scan: Final = record_kernel.scan_records


class RecordScan(NamedTuple):
    """What a walk found.

    keyless                              indexes of the records with a null key, RECORD_ERRORS_MAX of them at most
    min_timestamp_ms, max_timestamp_ms   over the records, as their clients made them
    """

    keyless: list[int]
    min_timestamp_ms: int
    max_timestamp_ms: int


def scan_batch(batch: Buffer, header: RecordBatchHeader, limit: int = OPENED_BYTES_MAX) -> RecordScan:
    """Walk the records of one whole batch whose checksum is right.

    limit    most bytes that may come out of it
    raises   CorruptRecord, where count, offsets or lengths aren't what the header says; CompressionError
    """
    return scan_records(decompress(header.codec, memoryview(batch)[HEADER_BYTES:], limit), header)


def scan_records(data: Buffer, header: RecordBatchHeader) -> RecordScan:
    """The same over records that are decompressed already."""
    if _scan is not None:
        found = _scan(data, header.record_count, RECORD_ERRORS_MAX)
        if found is not None:
            keyless, earliest, latest = found
            return RecordScan(keyless, header.base_timestamp + earliest, header.base_timestamp + latest)
    return walk_records(bytes(data), header)


def walk_records(data: bytes, header: RecordBatchHeader) -> RecordScan:
    """The same, in Python."""
    index = position = 0
    earliest, latest = (2**63, -(2**63)) if header.record_count > 0 else (0, 0)
    keyless: list[int] = []
    try:
        for spans in walk_spans(data, 0, header.record_count, is_numbered=True):
            if spans.offset_delta != index:
                raise CorruptRecord(f"record {index} has offset delta {spans.offset_delta}")
            if spans.time_delta < earliest:
                earliest = spans.time_delta
            if spans.time_delta > latest:
                latest = spans.time_delta
            if spans.key_length < 0 and len(keyless) < RECORD_ERRORS_MAX:
                keyless.append(index)
            walk_headers(data, spans.headers, spans.end, index)
            position = spans.end
            index += 1
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record {index}: {failure}") from None
    if position != len(data):
        raise CorruptRecord(f"{len(data) - position} bytes after the last record")
    return RecordScan(keyless, header.base_timestamp + earliest, header.base_timestamp + latest)

"""A walk over the records of a batch of v2 that makes no records: is each what the header says, has each a key.

The leader stores batches without reading their records. Where it must read them (compacted topics, and the deep check of
`headrace.validate.records.deep`), this reads lengths and deltas and skips keys and values: 0.5 us a record, or 10 ns where the record
kernel was built (`record_kernel.py`).

Source: Kafka `LogValidator.validateRecord`, `DefaultRecord.readPartiallyFrom`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.limits import OPENED_BYTES_MAX, RECORD_ERRORS_MAX
from headrace.protocol import record_kernel
from headrace.protocol.compression import decompress
from headrace.protocol.record_batch import HEADER_BYTES, Buffer, CorruptRecord, RecordBatchHeader
from headrace.protocol.varint import read_varlong, read_zigzag

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
    total = len(data)
    position = index = 0
    earliest, latest = (2**63, -(2**63)) if header.record_count > 0 else (0, 0)
    keyless: list[int] = []
    try:
        # Most varints are of one byte or two and are read in place; `bits` as of `read_zigzag`: an odd length is null.
        for index in range(header.record_count):
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            end = position + (bits >> 1)
            if bits & 1 or end > total:
                raise CorruptRecord(f"record {index} of {bits >> 1 ^ -(bits & 1)} bytes at {position}, {total} in all")
            # after the attributes
            if (bits := data[position + 1]) < 128:
                position += 2
            elif (high := data[position + 2]) < 128:
                bits += (high << 7) - 128
                position += 3
            else:
                bits, position = read_zigzag(data, position + 1)
            delta_ms = bits >> 1 ^ -(bits & 1)
            if delta_ms < earliest:
                earliest = delta_ms
            if delta_ms > latest:
                latest = delta_ms
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            if bits != index << 1:
                raise CorruptRecord(f"record {index} has offset delta {bits >> 1 ^ -(bits & 1)}")
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            if not bits & 1:
                position += bits >> 1
            elif len(keyless) < RECORD_ERRORS_MAX:
                keyless.append(index)
            if (bits := data[position]) < 128:
                position += 1
            elif (high := data[position + 1]) < 128:
                bits += (high << 7) - 128
                position += 2
            else:
                bits, position = read_zigzag(data, position)
            if not bits & 1:
                position += bits >> 1
            position = position + 1 if not data[position] else skip_headers(data, position, end)
            if position != end:
                raise CorruptRecord(f"record {index} ends at {position}, its length says {end}")
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record {index}: {failure}") from None
    if position != total:
        raise CorruptRecord(f"{total - position} bytes after the last record")
    return RecordScan(keyless, header.base_timestamp + earliest, header.base_timestamp + latest)


def skip_headers(data: bytes, position: int, end: int) -> int:
    count, position = read_varlong(data, position)
    if not 0 <= count <= end - position:
        raise CorruptRecord(f"{count} headers announced, too few bytes remain")
    for _ in range(count):
        size, position = read_varlong(data, position)
        if size < 0:
            raise CorruptRecord("a header's key is null")
        size, position = read_varlong(data, position + size)
        position += max(size, 0)
    return position

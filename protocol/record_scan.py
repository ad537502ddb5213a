"""A walk over the records of a batch of v2 that makes no records: is each what the header says, has each a key.

The leader stores batches without a look inside. Where it has to look (compacted topics, and the deep check of
`headrace.validate.records.deep`), this reads lengths and deltas and skips keys and values: 0.5 us a record.

Source: Kafka `LogValidator.validateRecord`, `DefaultRecord.readPartiallyFrom`.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.limits import OPENED_BYTES_MAX
from headrace.protocol.compression import decompress
from headrace.protocol.record_batch import HEADER_BYTES, Buffer, CorruptRecord, RecordBatchHeader
from headrace.protocol.varint import ZIGZAGS, read_varlong


class RecordScan(NamedTuple):
    """What a walk found.

    keyless              index of the first record with a null key, -1 where each has one
    min_timestamp_ms,    over the records, as their clients made them
    max_timestamp_ms
    """

    keyless: int
    min_timestamp_ms: int
    max_timestamp_ms: int


def scan_batch(batch: Buffer, header: RecordBatchHeader, limit: int = OPENED_BYTES_MAX) -> RecordScan:
    """Walk the records of one whole batch whose checksum is right.

    limit    most bytes that may come out of it
    raises   CorruptRecord, where count, offsets or lengths aren't what the header says; CompressionError
    """
    return scan_records(bytes(decompress(header.codec, memoryview(batch)[HEADER_BYTES:], limit)), header)


def scan_records(data: bytes, header: RecordBatchHeader) -> RecordScan:
    """The same over records that are decompressed already."""
    position = index = low = high = 0
    keyless = -1
    try:
        for index in range(header.record_count):
            if (byte := data[position]) < 128:
                length, position = ZIGZAGS[byte], position + 1
            else:
                length, position = read_varlong(data, position)
            end = position + length
            if length < 0 or end > len(data):
                raise CorruptRecord(f"record {index} of {length} bytes at {position}, {len(data)} in all")
            if (byte := data[position + 1]) < 128:  # behind the attributes
                delta_ms, position = ZIGZAGS[byte], position + 2
            else:
                delta_ms, position = read_varlong(data, position + 1)
            if delta_ms < low or not index:
                low = delta_ms
            if delta_ms > high or not index:
                high = delta_ms
            if (byte := data[position]) < 128:
                delta, position = ZIGZAGS[byte], position + 1
            else:
                delta, position = read_varlong(data, position)
            if delta != index:
                raise CorruptRecord(f"record {index} has offset delta {delta}")
            if (byte := data[position]) < 128:
                size, position = ZIGZAGS[byte], position + 1
            else:
                size, position = read_varlong(data, position)
            if size >= 0:
                position += size
            elif keyless < 0:
                keyless = index
            if (byte := data[position]) < 128:
                size, position = ZIGZAGS[byte], position + 1
            else:
                size, position = read_varlong(data, position)
            if size > 0:
                position += size
            position = position + 1 if not data[position] else _skip_headers(data, position, end)
            if position != end:
                raise CorruptRecord(f"record {index} ends at {position}, its length says {end}")
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record {index}: {failure}") from None
    if position != len(data):
        raise CorruptRecord(f"{len(data) - position} bytes behind the last record")
    return RecordScan(keyless, header.base_timestamp + low, header.base_timestamp + high)


def _skip_headers(data: bytes, position: int, end: int) -> int:
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

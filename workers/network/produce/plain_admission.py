"""An uncompressed batch of v2 as it comes in: its records are what its header says, whatever the topic asks for.

Runs in: a network worker, in the receive buffer. Of a batch that has nothing wrong with it the record kernel says so in one
call, where it was built (`protocol/record_kernel.py`); what is here says it otherwise, and what is wrong. A batch whose header
or checksum is wrong is passed as it is: the log's owner names that fault. The checksum is computed here only where a record
is at fault, or where the header's largest timestamp is not that of the records, which is mended as Kafka does.

Source: Kafka `LogValidator.assignOffsetsNonCompressed`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.errors import ErrorCode, KafkaError
from headrace.limits import PLAIN_WHOLE_RECORDS_MAX
from headrace.log.writing.validator import TIME_MAX, TIME_MIN
from headrace.protocol import record_kernel
from headrace.protocol.plain_records import FIRST_RECORDS, scan_plain
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    CorruptRecord,
    RecordBatchHeader,
    compute_crc,
    parse_header,
    store_crc,
    store_max_timestamp,
)
from headrace.protocol.record_scan import scan_records

_HEAD: Final = Struct("8B")  # of the first record
_unpack_head: Final = _HEAD.unpack_from
_is_plain: Final = record_kernel.is_plain


def check_plain(batch: memoryview) -> None:
    """Compare the records of an uncompressed batch with its header; a wrong largest timestamp is mended in place.

    raises   KafkaError INVALID_RECORD or INVALID_TIMESTAMP
    """
    if _is_plain is not None and _is_plain(batch, PLAIN_WHOLE_RECORDS_MAX, FIRST_RECORDS):
        return
    header = parse_header(batch)
    count, base_timestamp, max_timestamp = header.record_count, header.base_timestamp, header.max_timestamp
    if header.size_bytes != len(batch) or count <= 0 or header.last_offset_delta != count - 1:
        return
    if count == 1 and base_timestamp == max_timestamp >= 0 and _is_one(batch):
        return
    data = bytes(batch[HEADER_BYTES:])
    try:
        most = scan_plain(data, count)
    except CorruptRecord as failure:
        if compute_crc(batch) != header.crc:
            return
        raise KafkaError(ErrorCode.INVALID_RECORD, str(failure)) from None
    if base_timestamp >= 0 and (count > PLAIN_WHOLE_RECORDS_MAX or base_timestamp + (most >> 1) == max_timestamp):
        return
    if compute_crc(batch) == header.crc:
        _mend(batch, data, header)


def _is_one(batch: memoryview) -> bool:
    """Whether the batch holds one record that is right and as most are: one byte of offset and timestamp delta, a key below
    64 bytes or none, a value below 8 KiB, no headers. Of others nothing is said."""
    total = len(batch)
    if total < HEADER_BYTES + _HEAD.size:
        return False
    bits, high, time, offset, key, size, more, last = _unpack_head(batch, HEADER_BYTES)
    body = HEADER_BYTES + 1
    if bits >= 128:
        if high >= 128:
            return False
        bits += (high << 7) - 128
        body += 1
        time, offset, key, size, more = offset, key, size, more, last
    if time or offset or bits & 1 or body + (bits >> 1) != total or batch[total - 1]:
        return False
    place = body + 4  # after attributes, both deltas and the key's length
    if key != 1:
        place += key >> 1
        if key & 1 or key >= 128 or place + 2 > total:
            return False
        size, more = batch[place], batch[place + 1]
    if size >= 128:
        if more >= 128:
            return False
        size += (more << 7) - 128
        place += 1
    return place + 2 + (0 if size & 1 else size >> 1) == total


def _mend(batch: memoryview, data: bytes, header: RecordBatchHeader) -> None:
    """The largest timestamp into the header. raises KafkaError, where it fits none, or a record contradicts the header"""
    try:
        scan = scan_records(data, header)
    except CorruptRecord as failure:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(failure)) from None
    check_range(scan.min_timestamp_ms, scan.max_timestamp_ms)
    if scan.max_timestamp_ms != header.max_timestamp:
        store_max_timestamp(batch, scan.max_timestamp_ms)
        store_crc(batch)


def check_range(earliest_ms: int, latest_ms: int) -> None:
    """Whether timestamps fit 64 bits, with room for those who compute with them. raises KafkaError"""
    if earliest_ms < TIME_MIN or latest_ms > TIME_MAX:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP, f"timestamps from {earliest_ms} to {latest_ms} are not within 64 bits"
        )

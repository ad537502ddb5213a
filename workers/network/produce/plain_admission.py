"""An uncompressed batch of v2 as it comes in: its records are what its header says, whatever the topic asks for.

Runs in: a network worker, in the receive buffer. Of a batch that has nothing wrong with it the record kernel says so in one
call, where it was built (`protocol/record_kernel.py`); what is here says it otherwise, and what is wrong. A batch whose header
or checksum is wrong is passed as it is: the log's owner names that fault. The checksum is computed here only where a record
is at fault, or where the header's largest timestamp is not that of the records, which is mended as Kafka does.

Source: Kafka `LogValidator.assignOffsetsNonCompressed`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode, KafkaError
from headrace.limits import PLAIN_WHOLE_RECORDS_MAX
from headrace.log.writing.validator import TIME_MAX, TIME_MIN
from headrace.protocol import record_kernel
from headrace.protocol.plain_records import FIRST_RECORDS, scan_plain
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    CorruptRecord,
    RecordBatchHeader,
    compute_crc,
    parse_header,
    store_crc,
    store_max_timestamp,
    unpack_header,
)
from headrace.protocol.record_scan import scan_records

_is_plain: Final = record_kernel.is_plain


def check_plain(batch: memoryview) -> None:
    """Compare the records of an uncompressed batch with its header; a wrong largest timestamp is mended in place.

    raises   KafkaError INVALID_RECORD or INVALID_TIMESTAMP
    """
    if _is_plain is not None and _is_plain(batch, PLAIN_WHOLE_RECORDS_MAX, FIRST_RECORDS):
        return
    (
        _base_offset, length, _epoch, _magic, crc, _attributes, last_delta,
        base_timestamp, max_timestamp, _producer_id, _producer_epoch, _sequence, count,
    ) = unpack_header(batch, 0)  # fmt: skip
    if length + LOG_OVERHEAD_BYTES != len(batch) or count <= 0 or last_delta != count - 1:
        return
    data = bytes(batch[HEADER_BYTES:])
    try:
        most = scan_plain(data, count)
    except CorruptRecord as failure:
        if compute_crc(batch) != crc:
            return
        raise KafkaError(ErrorCode.INVALID_RECORD, str(failure)) from None
    if base_timestamp >= 0 and (count > PLAIN_WHOLE_RECORDS_MAX or base_timestamp + (most >> 1) == max_timestamp):
        return
    if compute_crc(batch) == crc:
        _mend(batch, data, parse_header(batch))


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

"""A run of entries of v0 and v1, which an older Kafka left in segments, as one batch of v2.

For readers that know v2 alone: Spark's kernels, compaction. The batch is uncompressed and costs two microseconds a record,
which is for logs that are no longer written. Records keep their offsets; those of v0 have the timestamp -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.limits import OLD_RUN_BYTES_MAX
from headrace.protocol.message_set import peek_entry, read_message, records_of
from headrace.protocol.record_batch import LOG_APPEND_TIME_BIT, CorruptRecord, Record, build_batch


class OldRun(NamedTuple):
    """Entries that followed each other.

    batch         their records as one batch of v2
    end           byte after the last of them
    last_offset   of the last record
    """

    batch: bytes
    end: int
    last_offset: int


def read_run(data: Any, position: int, end: int, high: int) -> OldRun:
    """The old entries from `position` on, at least one, at most OLD_RUN_BYTES_MAX, up to the one that holds `high - 1`.

    data     bytes of a segment, as an array or a view
    raises   CorruptRecord, where no whole entry of v0 or v1 begins at `position`; CompressionError
    """
    view = memoryview(data)
    records: list[Record] = []
    start = position
    while position - start < OLD_RUN_BYTES_MAX and not (records and records[-1].offset >= high - 1):
        entry = peek_entry(view, position, end)
        if entry is None:
            break
        message, _end = read_message(bytes(view[position : position + entry.size]))
        if message.is_log_append_time:
            if not records:
                records = records_of(message)
                position += entry.size
                return OldRun(_batch(records, LOG_APPEND_TIME_BIT), position, records[-1].offset)
            break
        records += records_of(message)
        position += entry.size
    if not records:
        raise CorruptRecord(f"no entry of a known format at byte {position}")
    return OldRun(_batch(records, 0), position, records[-1].offset)


def _batch(records: list[Record], attributes: int) -> bytes:
    first = records[0].offset
    relative = [record._replace(offset=record.offset - first) for record in records]
    return build_batch(relative, base_offset=first, attributes=attributes)

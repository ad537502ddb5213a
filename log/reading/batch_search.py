"""The first record of a time in one batch, looked for in slices.

    uncompressed   pieces are read from the segment; what a record's value takes is passed over
    compressed     pieces come out of the batch, CHUNK_BYTES at a time (`protocol/plain_chunks.py`)
    v0, v1         one entry, which is small or opened at once

So it costs a few hundred KiB of memory beside the batch itself, whatever comes out of it.

Runs in: network workers, tools. Source: Kafka `LogSegment.findOffsetByTimestamp`, `FileRecords.searchForTimestamp`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.log.batch_walk import Found
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.reading.work_share import OPEN_COST, RECORD_COST, WorkShare
from headrace.protocol.message_set import iterate_entry_records
from headrace.protocol.plain_chunks import CHUNK_BYTES, plain_chunks
from headrace.protocol.record_batch import HEADER_BYTES, MAGIC_V2, CorruptRecord, Record
from headrace.protocol.record_search import find_record

EARLIEST: Final = -(2**63)  # of 64 bits
LATEST: Final = 2**63 - 1
PIECE_BYTES_FIRST: Final = 16 * 1024  # of an uncompressed batch; doubled with each

TimeAndOffset = tuple[int, int]


class BatchSearch:
    """A batch, and how far it was searched.

    is_over   no record is left
    """

    def __init__(self, segment: SegmentFile, batch: Found) -> None:
        self.batch = batch
        self.is_over = False
        self._segment = segment
        self._left = batch.header.record_count
        self._data = b""
        self._position = 0  # in the data, of the next record
        self._is_end = False  # nothing follows the data
        self._file_position = batch.position + HEADER_BYTES
        self._piece_bytes = PIECE_BYTES_FIRST
        self._chunks: Iterator[bytes] | None = None
        self._old: Iterator[Record] | None = None

    def next_at(self, timestamp_ms: int, offset: int, share: WorkShare) -> TimeAndOffset | None:
        """The next record whose timestamp is at least `timestamp_ms`, at or after an offset.

        returns   None, where there is none, or the share is spent first: `is_over` says which
        raises    CorruptRecord, CompressionError; OSError
        """
        if self.batch.header.magic < MAGIC_V2:
            return self._next_old(timestamp_ms, offset, share)
        header = self.batch.header
        base_ms = header.base_timestamp
        least_time = EARLIEST if header.is_log_append_time else timestamp_ms - base_ms
        if least_time > LATEST or (header.is_log_append_time and header.max_timestamp < timestamp_ms):
            self._left = 0
        while self._left > 0:
            if share.is_spent:
                return None
            before = self._left
            found = find_record(
                self._data, self._position, before, max(EARLIEST, least_time), max(0, offset - header.base_offset),
                header.last_offset_delta, self._is_end,
            )  # fmt: skip
            self._position, self._left = found.position, found.left
            share.spend(RECORD_COST * (before - found.left))
            if found.offset_delta >= 0:
                time_ms = max(EARLIEST, min(base_ms + found.time_delta, LATEST))
                return (
                    header.max_timestamp if header.is_log_append_time else time_ms,
                    header.base_offset + found.offset_delta,
                )
            if self._left > 0 and not self._refill(share):
                raise CorruptRecord(
                    f"batch at offset {header.base_offset} has {self._left} records fewer than its header says"
                )
        self._finish()
        return None

    def _refill(self, share: WorkShare) -> bool:
        """Put the next piece behind what is left of this one; False, where there is none."""
        if self._is_end:
            return False
        if not self.batch.header.codec:
            return self._read_piece(share)
        if self._chunks is None:
            header, entry = self.batch.header, self._segment.read(self.batch)
            share.spend(OPEN_COST + len(entry))
            self._chunks = plain_chunks(header.codec, memoryview(entry)[HEADER_BYTES:])
        chunk = next(self._chunks, b"")
        share.spend(len(chunk))
        self._is_end = not chunk
        self._data, self._position = (
            self._data[self._position :] + chunk,
            max(0, self._position - len(self._data)),
        )
        return True

    def _read_piece(self, share: WorkShare) -> bool:
        """The same of an uncompressed batch: from the next record on, wherever that is."""
        position = self._file_position + self._position
        end = self.batch.position + self.batch.size
        if position >= end:
            return False
        size = min(self._piece_bytes, end - position)
        self._piece_bytes = min(2 * self._piece_bytes, CHUNK_BYTES)
        self._data = self._segment.read_at(position, size)
        share.spend(OPEN_COST + len(self._data))
        self._file_position, self._position = position, 0
        self._is_end = position + len(self._data) >= end or len(self._data) < size
        return True

    def _next_old(self, timestamp_ms: int, offset: int, share: WorkShare) -> TimeAndOffset | None:
        """The same of an entry of v0 or v1."""
        if self._old is None:
            entry = self._segment.read(self.batch)
            records = list(iterate_entry_records(entry))
            share.spend(OPEN_COST + len(entry) + sum(RECORD_COST + len(one.value or b"") for one in records))
            self._old = iter(records)
        for record in self._old:
            if record.timestamp_ms >= timestamp_ms and record.offset >= offset:
                return record.timestamp_ms, record.offset
        self._finish()
        return None

    def _finish(self) -> None:
        self.is_over = True
        self._data = b""
        self._chunks = self._old = None

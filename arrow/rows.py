"""Batches in, Arrow batches out: the rows of one range, from files or the network.

Runs in: Spark's Python workers. A window of a file or a fetched blob goes through the kernels (`decode.py`), which stop at
what they leave to Python: a full chunk, a compressed batch, an old format, invalid bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.arrow.columns import Chunk
from headrace.arrow.decode import (
    WALK_BAD,
    WALK_CHECKSUM,
    WALK_COMPRESSED,
    WALK_DONE,
    WALK_END,
    WALK_FULL,
    WALK_OLD,
    WALK_PAUSED,
    walk,
    walk_records,
)
from headrace.arrow.errors import CorruptRange
from headrace.arrow.tally import Tally
from headrace.arrow.transactions import NONE_ABORTED
from headrace.limits import DECOMPRESSED_BYTES_MAX
from headrace.protocol.compression import CompressionError, decompress
from headrace.protocol.old_run import read_run
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    RECORD_BYTES_MIN,
    CorruptRecord,
    RecordBatchHeader,
    compute_crc,
    parse_header,
)

if TYPE_CHECKING:
    from headrace.arrow.ranges import OffsetRange

BYTES_PER_BATCH = 64 << 20  # of keys and values; a record batch that is larger comes whole
WALKED_BYTES = 512 << 10  # before they are gathered: they are in the processor's second cache still


class Rows:
    """The chunk being filled, and how far the range has been read.

    aborted       transactions whose batches are left out (`transactions.py`)
    next_offset   after what was read
    tally         of the bytes that were walked
    is_remote     they come over the network
    """

    def __init__(self, one: OffsetRange, columns: Sequence[str], rows_per_batch: int, are_views: bool = False) -> None:
        self._range = one
        self._columns = columns
        self._rows_per_batch = rows_per_batch
        self.are_views = are_views
        self.aborted = NONE_ABORTED
        self.tally = Tally()
        self.is_remote = False
        self._chunk = self._new(rows_per_batch, None)
        self._where = ""
        self._origin = 0
        self.next_offset = one.start

    def add(self, data: Any, position: int, end: int, where: str, origin: int = 0) -> Iterator[pa.RecordBatch]:
        """Walk the batches in `data`; sets `next_offset` after what was read.

        where    names the bytes in errors
        origin   what the first of them is in that file
        """
        stopped = yield from self._walk(data, position, end, where, origin)
        self.tally.add(stopped - position, self.is_remote)

    def _walk(
        self, data: Any, position: int, end: int, where: str, origin: int
    ) -> Generator[pa.RecordBatch, None, int]:
        """As `add`; returns the position after what was read."""
        self._where, self._origin = where, origin
        data.flags.writeable = False  # one type for the kernels, mapped or not: they are compiled once
        low, high = self.next_offset, self._range.end
        while True:
            chunk = self._chunk
            room = max(BYTES_PER_BATCH - chunk.size_bytes, 1)
            pause = position + (min(room, WALKED_BYTES) if chunk.is_gathering else room)
            is_checked, buffer = self._range.checks_crcs, chunk.buffer(data)
            position, last, outcome = walk(
                data, position, end, pause, low, high, self.aborted, is_checked, chunk.rows, buffer, chunk.target
            )
            self._take(data, last)
            if outcome == WALK_COMPRESSED:
                header = parse_header(data[position : position + HEADER_BYTES].tobytes())
                yield from self._add_compressed(data, position, header)
                position += header.size_bytes
                if header.last_offset >= high - 1:
                    self.next_offset = high
                    return position
            elif outcome == WALK_PAUSED:
                if chunk.size_bytes >= BYTES_PER_BATCH:
                    yield from self._flush(0)
            elif outcome == WALK_FULL:
                count = int.from_bytes(data[position + 57 : position + 61].tobytes(), "big")
                yield from self._flush(count)
            elif outcome == WALK_DONE:
                self.next_offset = high
                return position
            elif outcome == WALK_OLD or _is_old_tail(data, position, end):
                position = yield from self._add_old(data, position, end)
                if self.next_offset >= high:
                    return position
            elif outcome == WALK_END and position == end:
                return position
            else:
                raise self._refusal(data, position, end, outcome)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is left in the chunk."""
        if self._chunk.rows:
            yield self._chunk.batch()

    def _refusal(self, data: Any, position: int, end: int, outcome: int) -> Exception:
        """The error for bytes that the kernels refused."""
        at = self._origin + position
        if outcome == WALK_CHECKSUM:
            header = parse_header(data[position : position + HEADER_BYTES].tobytes())
            computed = compute_crc(data[position : position + header.size_bytes])
            return CorruptRange(
                f"{self._range.topic}-{self._range.partition}: the batch at offset {header.base_offset} ({self._where}, byte "
                f"{at}) is corrupt: its checksum is {computed:#010x}, expected {header.crc:#010x}; "
                "checkCrcs=false (scan: check_crcs=False) reads it as it is"
            )
        if outcome == WALK_BAD:
            return CorruptRange(f"{self._where}: no valid record batch at byte {at}")
        return CorruptRange(f"{self._where}: {end - position} bytes at byte {at} are not a complete batch")

    def _add_compressed(self, data: Any, position: int, header: RecordBatchHeader) -> Iterator[pa.RecordBatch]:
        what = f"{self._where}: the batch at byte {self._origin + position}"
        body = memoryview(data[position + HEADER_BYTES : position + header.size_bytes])
        try:
            plain = np.frombuffer(decompress(header.codec, body, DECOMPRESSED_BYTES_MAX), np.uint8)
        except CompressionError as failure:
            raise CorruptRange(f"{what}: {failure}") from None
        plain.flags.writeable = False
        if not 0 <= header.record_count <= len(plain) // RECORD_BYTES_MIN:
            raise CorruptRange(f"{what}: {header.record_count} records in {len(plain)} bytes")
        is_full = self._chunk.rows + header.record_count > self._chunk.capacity
        if is_full or self._chunk.size_bytes + len(plain) > BYTES_PER_BATCH:
            yield from self._flush(header.record_count)
        chunk = self._chunk
        last = walk_records(
            plain,
            0,
            len(plain),
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else -1,
            self.next_offset,
            self._range.end,
            chunk.rows,
            chunk.buffer(plain),
            chunk.target,
        )
        if last < 0:
            raise CorruptRange(f"{what}: its records don't match their lengths")
        self._take(plain, last)

    def _add_old(self, data: Any, position: int, end: int) -> Generator[pa.RecordBatch, None, int]:
        """Entries of v0 and v1, whose checksums are always compared; returns the position after them."""
        high = self._range.end
        where, origin = self._where, self._origin
        try:
            run = read_run(data, position, end, high)
        except (CorruptRecord, CompressionError) as failure:
            name = f"{self._range.topic}-{self._range.partition}"
            raise CorruptRange(f"{name}: {where}: the entry at byte {origin + position}: {failure}") from None
        yield from self._walk(np.frombuffer(run.batch, np.uint8), 0, len(run.batch), where, origin + position)
        self._where, self._origin = where, origin
        if run.last_offset >= high - 1:
            self.next_offset = high
        return run.end

    def _take(self, source: Any, last: int) -> None:
        try:
            self._chunk.take(source, last)
        except CorruptRecord as failure:
            raise CorruptRange(f"{self._where}: {failure}") from None
        if last:
            self.next_offset = max(self.next_offset, self._chunk.last_offset() + 1)

    def _flush(self, wanted_rows: int) -> Iterator[pa.RecordBatch]:
        if self._chunk.rows:
            yield self._chunk.batch()
        self._chunk = self._new(max(self._rows_per_batch, wanted_rows), self._chunk)

    def _new(self, capacity: int, before: Chunk | None) -> Chunk:
        one = self._range
        return Chunk(one.topic, one.partition, self._columns, capacity, self.are_views, before)


def _is_old_tail(data: Any, position: int, end: int) -> bool:
    """Whether fewer bytes than a batch's header are left, and may be an entry of v0 or v1."""
    return MAGIC_POSITION < end - position < HEADER_BYTES and data[position + MAGIC_POSITION] < MAGIC_V2

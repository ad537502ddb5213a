"""Batches in, Arrow batches out: the rows of one range, from files or the network.

Runs in: Spark's Python workers. A window of a file or a fetched blob goes through the walk (`decode.py`), which stops at
what it leaves to others: a full chunk, compressed batches, of which it makes a list, an old format, invalid bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.arrow.columns import Chunk
from headrace.arrow.decode import LISTED_MAX, walk_batches, walk_listed
from headrace.arrow.errors import CorruptRange
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.tally import Tally
from headrace.arrow.target import (
    LISTED_ATTRIBUTES,
    LISTED_COUNT,
    LISTED_FIELDS,
    LISTED_POSITION,
    LISTED_SIZE,
    WALK_BAD,
    WALK_CHECKSUM,
    WALK_DONE,
    WALK_END,
    WALK_FULL,
    WALK_LISTED,
    WALK_OLD,
    WALK_PAUSED,
    WALK_ROOM,
)
from headrace.arrow.transactions import NONE_ABORTED
from headrace.limits import DECOMPRESSED_BYTES_MAX
from headrace.protocol.compression import CompressionError, decompress
from headrace.protocol.old_run import read_run
from headrace.protocol.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    RECORD_BYTES_MIN,
    Buffer,
    CorruptRecord,
    compute_crc,
    parse_header,
)

BYTES_PER_BATCH = 4 << 20  # of keys, values and headers; a record batch that is larger comes whole (docs/decisions/022)
VIEWED_PER_BATCH = 64 << 20  # the same where they are views: nothing of theirs is copied
ROWS_MORE = 1_000  # than a chunk had before: sizes of records change
WALKED_BYTES = (
    512 << 10
)  # before headers are copied, or decompressed before they are walked: they are in the second cache still


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
        self._bytes_max = VIEWED_PER_BATCH if are_views else BYTES_PER_BATCH
        self.aborted = NONE_ABORTED
        self.tally = Tally()
        self.is_remote = False
        self._chunk = self._new(rows_per_batch, None)
        self._listed = np.zeros((LISTED_MAX, LISTED_FIELDS), np.int64)
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
        low, high, is_checked = self.next_offset, self._range.end, self._range.checks_crcs
        while True:
            chunk = self._chunk
            room = max(self._bytes_max - chunk.size_bytes, 1)
            pause = position + (min(room, WALKED_BYTES) if chunk.has_headers else room)
            position, last, outcome, count = walk_batches(
                data, position, end, pause, low, high, chunk.rows, chunk.buffer(data), is_checked, self.aborted, chunk.target,
                self._listed,
            )  # fmt: skip
            self._take([data], last)
            if count:
                yield from self._add_listed(data, count, low)
            if outcome == WALK_PAUSED:
                if self._chunk.size_bytes >= self._bytes_max:
                    yield from self._flush(0)
            elif outcome in (WALK_FULL, WALK_ROOM):
                header = parse_header(data[position : position + HEADER_BYTES].tobytes())
                is_full = outcome == WALK_FULL
                if is_full or not self._chunk.reserve(header.size_bytes - HEADER_BYTES):
                    yield from self._flush(header.record_count if is_full else 0)
            elif outcome == WALK_DONE:
                self.next_offset = high
                return position
            elif outcome == WALK_OLD or _is_old_tail(data, position, end):
                position = yield from self._add_old(data, position, end)
                if self.next_offset >= high:
                    return position
            elif outcome == WALK_END and position == end:
                return position
            elif outcome != WALK_LISTED:
                raise self._refusal(data, position, end, outcome)

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is left in the chunk."""
        if self._chunk.rows:
            yield self._chunk.batch()

    def _refusal(self, data: Any, position: int, end: int, outcome: int) -> Exception:
        """The error for bytes that the walk refused."""
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

    def _add_listed(self, data: Any, count: int, low: int) -> Iterator[pa.RecordBatch]:
        """The batches that the walk listed: decompressed, and walked some at a time."""
        plain: list[Buffer] = []
        rows = size = first = 0
        for number in range(count):
            body = self._decompressed(data, number)
            records = int(self._listed[number, LISTED_COUNT])
            if plain and (
                size + len(body) > WALKED_BYTES
                or self._chunk.has_headers
                or self._is_full(rows + records, size + len(body))
            ):
                self._add_plain(plain, first, low)
                plain, rows, size, first = [], 0, 0, number
            if not plain and self._is_full(records, len(body)):
                yield from self._flush(records)
            plain.append(body)
            rows, size = rows + records, size + len(body)
        self._add_plain(plain, first, low)

    def _is_full(self, rows: int, size_bytes: int) -> bool:
        """Whether so much more does not go into this chunk."""
        chunk = self._chunk
        return chunk.rows + rows > chunk.capacity or chunk.size_bytes + size_bytes > self._bytes_max

    def _decompressed(self, data: Any, number: int) -> Buffer:
        """raises   CorruptRange"""
        fields = self._listed[number].tolist()
        position, size = fields[LISTED_POSITION], fields[LISTED_SIZE]
        body = memoryview(data)[position + HEADER_BYTES : position + size]
        try:
            plain = decompress(fields[LISTED_ATTRIBUTES] & CODEC_MASK, body, DECOMPRESSED_BYTES_MAX)
        except CompressionError as failure:
            raise CorruptRange(f"{self._what(number)}: {failure}") from None
        if not 0 <= fields[LISTED_COUNT] <= len(plain) // RECORD_BYTES_MIN:
            raise CorruptRange(f"{self._what(number)}: {fields[LISTED_COUNT]} records in {len(plain)} bytes")
        return plain

    def _add_plain(self, plain: list[Buffer], first: int, low: int) -> None:
        """Walk what batches, from number `first` of the list on, decompressed to. raises CorruptRange"""
        chunk = self._chunk
        has_room = chunk.reserve(sum(map(len, plain)))
        assert has_room
        walked, last, outcome = walk_listed(
            plain, first, self._listed, low, self._range.end, chunk.rows, chunk.buffer(plain[0]), chunk.target
        )
        if outcome != WALK_END:
            raise CorruptRange(f"{self._what(first + walked)}: its records don't match their lengths")
        self._take(plain, last)

    def _what(self, number: int) -> str:
        return f"{self._where}: the batch at byte {self._origin + int(self._listed[number, LISTED_POSITION])}"

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

    def _take(self, sources: list[Any], last: int) -> None:
        try:
            self._chunk.take(sources, last)
        except CorruptRecord as failure:
            raise CorruptRange(f"{self._where}: {failure}") from None
        if last:
            self.next_offset = max(self.next_offset, self._chunk.last_offset() + 1)

    def _flush(self, wanted_rows: int) -> Iterator[pa.RecordBatch]:
        before = self._chunk
        if before.rows:
            yield before.batch()
        self._chunk = self._new(max(self._capacity_after(before), wanted_rows), before)

    def _capacity_after(self, before: Chunk) -> int:
        """Rows of the next chunk: a quarter more than the last one had, where bytes ended that, which costs less memory than
        room for all."""
        rows = before.rows
        return self._rows_per_batch if not rows else min(self._rows_per_batch, rows + rows // 4 + ROWS_MORE)

    def _new(self, capacity: int, before: Chunk | None) -> Chunk:
        one = self._range
        return Chunk(one.topic, one.partition, self._columns, capacity, self.are_views, before)


def _is_old_tail(data: Any, position: int, end: int) -> bool:
    """Whether fewer bytes than a batch's header are left, and may be an entry of v0 or v1."""
    return MAGIC_POSITION < end - position < HEADER_BYTES and data[position + MAGIC_POSITION] < MAGIC_V2

"""The reading side of a partition's directory: positions for offsets, offsets for timestamps.

Runs in: network workers, Spark tasks, tools; many at once, beside the one writer. It trusts the end that the
caller read from the partition's row (or froze as an offset) and never looks behind it.

A look-up: bisect the segment list, bisect the memory-mapped index, walk headers (one pread of a few KiB) to
the batch. A reader that goes on where the last range ended skips all three.

A segment's descriptor stays open as long as anyone holds its `SegmentFile`: a range keeps it until it is
sent, whatever happens to the segment meanwhile. At most SEGMENTS_MAX are kept by a reader.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headrace.log import offset_index, time_index
from headrace.log.recovery import Found, walk
from headrace.log.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, path_of, segment_bases
from headrace.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, iterate_records

SEGMENTS_MAX = 8
WINDOW_BYTES = 8 * 1024
_PREFIX_BYTES = 27  # base offset, length, ..., last offset delta


class FileRange(NamedTuple):
    """Bytes of a segment that hold whole batches (the last one may be cut). `segment` keeps `fd` open."""

    fd: int
    position: int
    length: int
    segment: object


class TimestampOffset(NamedTuple):
    timestamp_ms: int
    offset: int
    leader_epoch: int


class SegmentFile:
    """One segment, open for reading."""

    __slots__ = ("_index", "_index_bytes", "_next", "base_offset", "directory", "fd")

    def __init__(self, directory: Path, base_offset: int) -> None:
        self.fd = -1
        self.directory = directory
        self.base_offset = base_offset
        self.fd = os.open(path_of(directory, base_offset, LOG_SUFFIX), os.O_RDONLY)
        self._index: mmap.mmap | None = None
        self._index_bytes = 0
        self._next = (-1, 0)  # (offset, position) where the last range ended

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def size_bytes(self) -> int:
        return os.fstat(self.fd).st_size

    def remember(self, offset: int, position: int) -> None:
        """A range ended at `position`, where `offset` begins."""
        self._next = (offset, position)

    def find(self, offset: int, end: int) -> tuple[int, int] | None:
        """(position, size) of the batch that holds `offset`, or of the next one; None where there is none before `end`."""
        if self._next[0] == offset:
            position = self._next[1]
        else:
            position = self._indexed_position(offset)
        while end - position >= HEADER_BYTES:
            window = os.pread(self.fd, min(WINDOW_BYTES, end - position), position)
            place = 0
            while len(window) - place >= _PREFIX_BYTES:
                size = int.from_bytes(window[place + 8 : place + 12], "big") + LOG_OVERHEAD_BYTES
                last_offset = int.from_bytes(window[place : place + 8], "big") + int.from_bytes(
                    window[place + 23 : place + 27], "big"
                )
                if last_offset >= offset:
                    return position + place, size
                place += size
            if place == 0:
                return None
            position += place
        return None

    def _indexed_position(self, offset: int) -> int:
        path = path_of(self.directory, self.base_offset, INDEX_SUFFIX)
        try:
            size = os.stat(path).st_size
            if size != self._index_bytes:
                self._index = None
                if size >= offset_index.ENTRY.size:
                    with open(path, "rb") as file:
                        self._index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                        size = len(self._index)
                self._index_bytes = size
        except (FileNotFoundError, ValueError):
            return 0
        if self._index is None:
            return 0
        entries = self._index_bytes // offset_index.ENTRY.size
        return offset_index.lookup(self._index, entries, self.base_offset, offset)[1]


class LogReader:
    """Read access to one partition's segments."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._version = -1
        self._bases: list[int] = []
        self._open: OrderedDict[int, SegmentFile] = OrderedDict()

    def refresh(self, segments_version: int) -> None:
        """List the directory again where the row says that the segments changed."""
        if segments_version != self._version:
            self._bases = segment_bases(self.directory)
            self._version = segments_version
            for base in self._open.keys() - set(self._bases):
                del self._open[base]

    def segment_bases(self) -> list[int]:
        """Base offsets, in order."""
        return list(self._bases)

    def segment(self, base: int) -> SegmentFile:
        """An open segment; raises FileNotFoundError, where it has been deleted."""
        segment = self._open.get(base)
        if segment is None:
            segment = self._open[base] = SegmentFile(self.directory, base)
            if len(self._open) > SEGMENTS_MAX:
                self._open.popitem(last=False)
        return segment

    def locate(
        self,
        offset: int,
        max_bytes: int,
        end_segment: int,
        end_position: int,
        at_least_one: bool,
        end_offset: int = -1,
    ) -> FileRange | None:
        """The bytes from the batch that holds `offset`, up to `max_bytes` and the end, within one segment.

        end_segment, end_position   where reading stops, from the row: high watermark or last stable offset
        at_least_one                a first batch larger than `max_bytes` is returned whole; without it,
        nothing is
        end_offset                  the offset at that end, if known: makes the next look-up free
        returns                     None, where nothing lies between `offset` and the end, or nothing fits
        """
        index = max(0, bisect_right(self._bases, offset) - 1)
        while index < len(self._bases):
            base = self._bases[index]
            if base > end_segment:
                return None
            segment = self.segment(base)
            end = end_position if base == end_segment else segment.size_bytes()
            found = segment.find(offset, end)
            if found is None:
                index += 1  # between this segment's last batch and the next one's first
                continue
            position, first_size = found
            length = end - position
            if length > max_bytes:
                if first_size > max_bytes:
                    if not at_least_one:
                        return None
                    length = min(first_size, length)
                else:
                    length = max_bytes
            elif base == end_segment and end_offset >= 0:
                segment.remember(end_offset, end)
            return FileRange(segment.fd, position, length, segment)
        return None

    def batches(self, base: int, position: int, end: int) -> Iterator[Found]:
        """Headers of a segment's batches from a position."""
        return walk(self.segment(base).fd, position, end, 0, is_checked=False)

    def first_offset_at(
        self, timestamp_ms: int, log_start_offset: int, end_segment: int, end_position: int
    ) -> TimestampOffset | None:
        """The first record whose timestamp is at least `timestamp_ms`, None where there is none before the end.

        source   Kafka `LogSegment.findOffsetByTimestamp`
        """
        for base, end in self._ranges(end_segment, end_position):
            path = path_of(self.directory, base, TIME_INDEX_SUFFIX)
            data = path.read_bytes() if path.exists() else b""
            entries = time_index.count_entries(data, len(data) // time_index.ENTRY.size)
            if base != end_segment and entries:
                last_timestamp, _relative = time_index.ENTRY.unpack_from(data, (entries - 1) * time_index.ENTRY.size)
                if last_timestamp < timestamp_ms:
                    continue
            _before, start_offset = time_index.lookup(data, entries, base, timestamp_ms)
            found = self.segment(base).find(max(start_offset, log_start_offset), end)
            if found is None:
                continue
            for batch in self.batches(base, found[0], end):
                if batch.header.max_timestamp < timestamp_ms:
                    continue
                for record in iterate_records(self._read(base, batch)):
                    if record.timestamp_ms >= timestamp_ms and record.offset >= log_start_offset:
                        return TimestampOffset(record.timestamp_ms, record.offset, batch.header.partition_leader_epoch)
        return None

    def max_timestamp(self, end_segment: int, end_position: int) -> TimestampOffset | None:
        """The record with the largest timestamp, the first of them; None in an empty log (KIP-734)."""
        best: tuple[int, int, Found] | None = None
        for base, end in self._ranges(end_segment, end_position):
            for batch in self.batches(base, 0, end):
                if best is None or batch.header.max_timestamp > best[0]:
                    best = (batch.header.max_timestamp, base, batch)
        if best is None:
            return None
        timestamp_ms, base, batch = best
        for record in iterate_records(self._read(base, batch)):
            if record.timestamp_ms == timestamp_ms:
                return TimestampOffset(timestamp_ms, record.offset, batch.header.partition_leader_epoch)
        return TimestampOffset(timestamp_ms, batch.header.last_offset, batch.header.partition_leader_epoch)

    def close(self) -> None:
        """Let go of the segments; ranges that are under way keep theirs."""
        self._open.clear()

    def _ranges(self, end_segment: int, end_position: int) -> Iterator[tuple[int, int]]:
        """(segment, end) of every segment up to the end."""
        for base in self._bases:
            if base <= end_segment:
                yield base, end_position if base == end_segment else self.segment(base).size_bytes()

    def _read(self, base: int, batch: Found) -> bytes:
        return os.pread(self.segment(base).fd, batch.size, batch.position)

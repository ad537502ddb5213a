"""One segment: a .log file of batches and its indexes, named for the offset of its first batch.

    00000000000000001234.log | .index | .timeindex | .txnindex, where a transaction was aborted in it

Runs in: the partition worker that owns the log. The last segment is the active one; rolled ones don't change
any more.

Order of a write: the batches, then the index entries that are due. A crash in between leaves batches without an
entry, which costs a longer walk and nothing else. An index entry is due at the first batch for which more than
`index.interval.bytes` have been written since the last one.

A segment is full (`take_batch` says so, and nothing else decides it) where a batch

    would make the file larger than `segment.bytes`
    is `segment.ms` newer than the first one; a segment without timestamps ages by the monotonic clock
    comes when an index has no room for another entry (`segment.index.bytes`)
    has an offset that an index entry can't express

An empty one takes any batch but the last kind. Source: Kafka `LogSegment`, `LogSegment.shouldRoll`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from headrace.clock import Clock
from headrace.limits import SEGMENT_RESERVE_BYTES_MAX
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, SUFFIXES, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, path_of
from headrace.log.segments.offset_index import OffsetIndex
from headrace.log.segments.time_index import TimeIndex
from headrace.log.segments.transaction_index import TransactionIndex
from headrace.protocol import record_kernel

_UNLIMITED: Final = 2**63 - 1
_RESERVE_FROM: Final = 4 << 20  # a smaller segment has nothing in reserve
_RESERVE_LEFT: Final = 256 << 10  # when the next part is reserved
# Of `take_run`: bytes, the offset after them, six int64 for each batch that has a producer.
TakenRun = tuple[int, int, bytes]

_take_run: Final = record_kernel.take_run


class Segment:
    """The writing end of one segment. Without `set_limits` it takes every batch that its indexes can express.

    size_bytes           end of the valid batches; the next one is written there
    first_timestamp_ms   of the first batch, -1 where it has none: the age of a segment counts from it
    max_timestamp_ms     the largest so far, `max_timestamp_offset` the last offset of the batch that has it
    created_ms           the date when it was begun, or opened
    index_interval_bytes   between two index entries
    """

    __slots__ = (
        "_begun_ns",
        "_bytes_max",
        "_clock",
        "_disk",
        "_due",
        "_due_indexed_ms",
        "_due_offsets",
        "_due_times",
        "_index_room",
        "_last_offset_max",
        "_reserved",
        "_roll_ms",
        "_segment_ms",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "fd",
        "first_timestamp_ms",
        "index_interval_bytes",
        "max_timestamp_ms",
        "max_timestamp_offset",
        "offset_index",
        "size_bytes",
        "time_index",
        "transaction_index",
    )

    def __init__(self, directory: Path, base_offset: int, disk: Disk, clock: Clock, *, is_new: bool = False) -> None:
        """Open a segment's files, or make them.

        is_new   whatever lies under these names is wiped: the remains of a segment that was dropped
        """
        self.fd = -1
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if is_new else 0)
        self.directory = directory
        self.base_offset = base_offset
        self._disk = disk
        self.fd = disk.open(path_of(directory, base_offset, LOG_SUFFIX), flags)
        self.size_bytes = os.fstat(self.fd).st_size
        self.offset_index = OffsetIndex(path_of(directory, base_offset, INDEX_SUFFIX), base_offset, disk, is_new)
        self.time_index = TimeIndex(path_of(directory, base_offset, TIME_INDEX_SUFFIX), base_offset, disk, is_new)
        self.transaction_index = TransactionIndex(path_of(directory, base_offset, TXN_INDEX_SUFFIX), disk, is_new)
        self.bytes_since_index = 0
        self.first_timestamp_ms = -1
        self.max_timestamp_ms = self.time_index.last_timestamp
        self.max_timestamp_offset = base_offset
        self.created_ms = clock.now_ms()
        self._clock = clock
        self._begun_ns = clock.monotonic_ns()
        self.index_interval_bytes = 0
        self._due: list[tuple[int, int, int, int]] = []  # (last offset, position, max timestamp, its offset)
        self._due_offsets = self._due_times = b""  # entries that are due before these, as they are stored
        self._due_indexed_ms = 0  # the latest time that is in the time index, or will be with them
        self._last_offset_max = base_offset + RELATIVE_OFFSET_MAX
        self._reserved = 0  # up to where blocks were set aside; _UNLIMITED: that is not tried again
        self._bytes_max = self._segment_ms = self._roll_ms = self._index_room = _UNLIMITED

    def __del__(self) -> None:
        """A log that could not be opened leaves no descriptor behind; nor do the indexes."""
        if self.fd >= 0:
            os.close(self.fd)

    def set_limits(self, config: LogConfig) -> None:
        """What makes this segment full, for the batches that come from now on."""
        self._bytes_max = config.segment_bytes
        self._segment_ms = config.segment_ms
        self.index_interval_bytes = config.index_interval_bytes
        if self.first_timestamp_ms >= 0:
            self._roll_ms = self.first_timestamp_ms + config.segment_ms
        else:
            age_ms = (self._clock.monotonic_ns() - self._begun_ns) // 1_000_000
            self._roll_ms = -_UNLIMITED if age_ms > config.segment_ms else _UNLIMITED
        offsets = config.index_bytes_max // OffsetIndex.ENTRY_BYTES - self.offset_index.entries
        times = config.index_bytes_max // TimeIndex.ENTRY_BYTES - 1 - self.time_index.entries  # one is for the end
        waiting = len(self._due) + len(self._due_offsets) // OffsetIndex.ENTRY_BYTES
        self._index_room = (offsets if offsets < times else times) - waiting

    def take_batch(self, last_offset: int, position: int, size: int, max_timestamp_ms: int) -> bool:
        """Account for a batch that is in the file, or will be with the next `write`. An index entry may become due.

        returns   False where it belongs into the next segment: nothing was done
        """
        if last_offset > self._last_offset_max or (
            position
            and (position + size > self._bytes_max or max_timestamp_ms > self._roll_ms or self._index_room <= 0)
        ):
            return False
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.max_timestamp_offset = last_offset
        if not position:
            self.first_timestamp_ms = max_timestamp_ms
            if max_timestamp_ms >= 0:
                self._roll_ms = max_timestamp_ms + self._segment_ms
        if self.bytes_since_index > self.index_interval_bytes:
            self._due.append((last_offset, position, self.max_timestamp_ms, self.max_timestamp_offset))
            self._index_room -= 1
            self.bytes_since_index = 0
        self.bytes_since_index += size
        return True

    def take_run(
        self, records: memoryview, place: int, position: int, next_offset: int, leader_epoch: int
    ) -> TakenRun | None:
        """Account for batches side by side, from `place` on, as `take_batch` does, in one walk that checks them too.

        position       in the segment, of the first of them
        next_offset    the smallest that it may begin with
        leader_epoch   of the log; batches of a later one are not taken, nor are old formats, control batches, damaged ones, and
                       what does not fit this segment
        returns        bytes, the offset after the last of them, (producer id, its epoch, sequence, not 0: transactional, first offset,
                       last delta) of those that have a producer, int64 each; None: take the first one by itself
        """
        if _take_run is None or not position or self._due:
            return None
        indexed_ms = self._due_indexed_ms if self._due_offsets else max(self.time_index.last_timestamp, 0)
        found = _take_run(
            records, place, position, next_offset, self.bytes_since_index, self.max_timestamp_ms,
            self.max_timestamp_offset, indexed_ms, leader_epoch, self.index_interval_bytes,
            self.base_offset, min(self._last_offset_max, _UNLIMITED), self._bytes_max, min(self._roll_ms, _UNLIMITED),
            self._index_room,
        )  # fmt: skip
        if found is None:
            return None
        (
            size, after, self.bytes_since_index, self.max_timestamp_ms, self.max_timestamp_offset, self._due_indexed_ms,
            offsets, times, producers,
        ) = found  # fmt: skip
        self._index_room -= len(offsets) // OffsetIndex.ENTRY_BYTES
        self._due_offsets += offsets
        self._due_times += times
        return size, after, producers

    def write(self, buffers: list[memoryview]) -> None:
        """Write whole batches at the end, then the index entries that are due.

        raises   OSError, after file and indexes were cut back to where they ended before. Where that fails too, the file is
                 longer than `size_bytes` says
        """
        start = self.size_bytes
        if start >= _RESERVE_FROM and start + _RESERVE_LEFT > self._reserved:
            self._reserve(start)
        try:
            self.size_bytes += self._disk.write_all(self.fd, buffers, start)
            self.write_index()
        except OSError:
            self._due.clear()
            self._due_offsets = self._due_times = b""
            self.size_bytes = start
            self.truncate(start)
            self.offset_index.truncate_to_position(max(start, 1))
            raise

    def write_index(self) -> None:
        """Store the index entries that are due; raises OSError."""
        if self._due_offsets:
            self.offset_index.extend(self._due_offsets)
            self.time_index.extend(self._due_times)
            self._due_offsets = self._due_times = b""
        for last_offset, position, timestamp_ms, timestamp_offset in self._due:
            self.offset_index.append(last_offset, position)
            self.time_index.append(timestamp_ms, timestamp_offset)
        self._due.clear()

    def sync(self) -> None:
        """Make the batches durable; raises OSError."""
        self._disk.fdatasync(self.fd)

    def sync_indexes(self) -> None:
        """Make the indexes durable; raises OSError."""
        self.offset_index.sync()
        self.time_index.sync()
        self.transaction_index.sync()

    def truncate(self, position: int) -> None:
        """Cut the file after the last valid batch; raises OSError."""
        self._disk.truncate(self.fd, position)
        self.size_bytes = position
        self._reserved = 0

    def finish(self) -> None:
        """No more batches: the last timestamp is indexed, what file and indexes have in reserve is cut off. raises OSError."""
        self.time_index.append(self.max_timestamp_ms, self.max_timestamp_offset)
        self.offset_index.trim()
        self.time_index.trim()
        self._trim()

    def _reserve(self, start: int) -> None:
        """Blocks for the next writes. Without room, or where a file system has no such call, writes find their own."""
        begin = max(start, self._reserved)
        end = min(start + min(start // 4, SEGMENT_RESERVE_BYTES_MAX), self._bytes_max)
        self._reserved = _UNLIMITED
        if end > begin:
            with suppress(OSError):
                self._disk.reserve(self.fd, begin, end - begin)
                self._reserved = end
        self._disk.grew(self.fd, start)

    def _trim(self) -> None:
        if self.size_bytes >= _RESERVE_FROM:
            self._disk.trim(self.fd)

    def close(self) -> None:
        self.offset_index.close()
        self.time_index.close()
        self.transaction_index.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def remove_segment(directory: Path, base_offset: int, disk: Disk) -> None:
    """Remove the files of a segment that lies after the end of the log."""
    for suffix in SUFFIXES:
        disk.remove_file(path_of(directory, base_offset, suffix))


def sync_segment(directory: Path, base_offset: int, disk: Disk | None = None, *, is_named: bool = True) -> None:
    """Make a rolled segment durable, its name included: the housekeeper's part.

    is_named   whether to sync the directory, which holds the names of all
    raises   FileNotFoundError, where it has been deleted; OSError, where its data may be gone
    """
    disk = disk or Disk()
    for suffix in SUFFIXES:
        try:
            fd = os.open(path_of(directory, base_offset, suffix), os.O_RDONLY)
        except FileNotFoundError:
            if suffix == TXN_INDEX_SUFFIX:
                continue
            raise
        try:
            disk.fdatasync(fd)
        finally:
            os.close(fd)
    if is_named:
        disk.sync_directory(directory)

"""One segment: a .log file of batches and its indexes, named for the offset of its first batch.

    00000000000000001234.log | .index | .timeindex | .txnindex, where a transaction was aborted in it

Runs in: the partition worker that owns the log. The last segment is the active one; rolled ones don't change
any more.

Order of a write: the batches, then the index entries that are due. A crash in between leaves batches without an
entry, which costs a longer walk and nothing else. An index entry is due at the first batch for which more than
`index.interval.bytes` lie behind the last one.

Source: Kafka `LogSegment`.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.log.disk import Disk
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, SUFFIXES, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, path_of
from headrace.log.segments.offset_index import OffsetIndex
from headrace.log.segments.time_index import TimeIndex
from headrace.log.segments.transaction_index import TransactionIndex


class Segment:
    """The writing end of one segment.

    size_bytes           end of the valid batches; the next one is written there
    first_timestamp_ms   of the first batch, -1 where it has none: the age of a segment counts from it
    max_timestamp_ms     the largest so far, `max_timestamp_offset` the last offset of the batch that has it
    """

    __slots__ = (
        "_disk",
        "_due",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "fd",
        "first_timestamp_ms",
        "max_timestamp_ms",
        "max_timestamp_offset",
        "offset_index",
        "size_bytes",
        "time_index",
        "transaction_index",
    )

    def __init__(self, directory: Path, base_offset: int, disk: Disk, now_ms: int, *, is_new: bool = False) -> None:
        """Open a segment's files, or make them.

        is_new   whatever lies under these names is wiped: the remains of a segment that was dropped
        """
        self.fd = -1
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if is_new else 0)
        self.directory = directory
        self.base_offset = base_offset
        self._disk = disk
        self.fd = os.open(path_of(directory, base_offset, LOG_SUFFIX), flags, 0o640)
        self.size_bytes = os.fstat(self.fd).st_size
        self.offset_index = OffsetIndex(path_of(directory, base_offset, INDEX_SUFFIX), base_offset, disk, is_new)
        self.time_index = TimeIndex(path_of(directory, base_offset, TIME_INDEX_SUFFIX), base_offset, disk, is_new)
        self.transaction_index = TransactionIndex(path_of(directory, base_offset, TXN_INDEX_SUFFIX), disk, is_new)
        self.bytes_since_index = 0
        self.first_timestamp_ms = -1
        self.max_timestamp_ms = self.time_index.last_timestamp
        self.max_timestamp_offset = base_offset
        self.created_ms = now_ms
        self._due: list[tuple[int, int, int, int]] = []  # (last offset, position, max timestamp, its offset)

    def __del__(self) -> None:
        """A log that could not be opened leaves no descriptor behind; nor do the indexes."""
        if self.fd >= 0:
            os.close(self.fd)

    def saw_batch(self, last_offset: int, position: int, size: int, max_timestamp_ms: int, interval_bytes: int) -> None:
        """Account for a batch that is in the file, or will be with the next `write`."""
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.max_timestamp_offset = last_offset
        if not position:
            self.first_timestamp_ms = max_timestamp_ms
        if self.bytes_since_index > interval_bytes:
            self._due.append((last_offset, position, self.max_timestamp_ms, self.max_timestamp_offset))
            self.bytes_since_index = 0
        self.bytes_since_index += size

    def write(self, buffers: list[memoryview]) -> None:
        """Write whole batches at the end, then the index entries that are due.

        raises   OSError, after file and indexes were cut back to where they ended before
        """
        start = self.size_bytes
        try:
            self.size_bytes += self._disk.write_all(self.fd, buffers, start)
            self.write_index()
        except OSError:
            self._due.clear()
            self.truncate(start)
            self.offset_index.truncate_to_position(max(start, 1))
            raise

    def write_index(self) -> None:
        """Store the index entries that are due; raises OSError."""
        for last_offset, position, timestamp_ms, timestamp_offset in self._due:
            self.offset_index.append(last_offset, position)
            self.time_index.append(timestamp_ms, timestamp_offset)
        self._due.clear()

    def index_room(self, index_bytes_max: int) -> int:
        """Index entries that may still come before the segment has to roll; one of the time index is for the end."""
        offsets = index_bytes_max // OffsetIndex.ENTRY_BYTES - self.offset_index.entries
        times = index_bytes_max // TimeIndex.ENTRY_BYTES - 1 - self.time_index.entries
        return min(offsets, times) - len(self._due)

    @property
    def index_entries_due(self) -> int:
        return len(self._due)

    def sync(self) -> None:
        """Make the batches durable; raises OSError."""
        self._disk.fdatasync(self.fd)

    def sync_indexes(self) -> None:
        """Make the indexes durable; raises OSError."""
        self.offset_index.sync()
        self.time_index.sync()
        self.transaction_index.sync()

    def truncate(self, position: int) -> None:
        """Cut the file behind the last valid batch; raises OSError."""
        self._disk.truncate(self.fd, position)
        self.size_bytes = position

    def finish(self) -> None:
        """No more batches: the last timestamp is indexed, the reserve of the indexes is cut off. raises OSError."""
        self.time_index.append(self.max_timestamp_ms, self.max_timestamp_offset)
        self.offset_index.trim()
        self.time_index.trim()

    def close(self) -> None:
        self.offset_index.close()
        self.time_index.close()
        self.transaction_index.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def remove_segment(directory: Path, base_offset: int) -> None:
    """Remove the files of a segment that recovery found behind the end of the log."""
    for suffix in SUFFIXES:
        path_of(directory, base_offset, suffix).unlink(missing_ok=True)


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

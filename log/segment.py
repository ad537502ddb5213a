"""One segment: a .log file of batches and its two indexes, named for the offset of its first batch.

    00000000000000001234.log | .index | .timeindex

Runs in: the partition worker that owns the log. The last segment is the active one; rolled ones don't change
any more.

Source: Kafka `LogSegment`.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.log.disk import Buffer, Disk
from headrace.log.offset_index import OffsetIndex
from headrace.log.time_index import TimeIndex

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
RELATIVE_OFFSET_MAX = 2**31 - 1


class Segment:
    """The writing end of one segment.

    size_bytes         end of the valid batches; the next one is written there
    max_timestamp_ms   the largest so far, `max_timestamp_offset` the last offset of the batch that has it
    """

    __slots__ = (
        "_disk",
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
    )

    def __init__(self, directory: Path, base_offset: int, disk: Disk, now_ms: int) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self._disk = disk
        self.fd = os.open(path_of(directory, base_offset, LOG_SUFFIX), os.O_RDWR | os.O_CREAT, 0o640)
        self.size_bytes = os.fstat(self.fd).st_size
        self.offset_index = OffsetIndex(path_of(directory, base_offset, INDEX_SUFFIX), base_offset, disk)
        self.time_index = TimeIndex(path_of(directory, base_offset, TIME_INDEX_SUFFIX), base_offset, disk)
        self.bytes_since_index = 0
        self.first_timestamp_ms = -1
        self.max_timestamp_ms = self.time_index.last_timestamp
        self.max_timestamp_offset = base_offset
        self.created_ms = now_ms

    def write(self, buffers: list[Buffer]) -> None:
        """Write whole batches at the end.

        raises   OSError, after the file was cut back to where it ended before
        """
        try:
            self.size_bytes += self._disk.write_all(self.fd, buffers, self.size_bytes)
        except OSError:
            self._disk.truncate(self.fd, self.size_bytes)
            raise

    def saw_batch(self, last_offset: int, position: int, size: int, max_timestamp_ms: int, interval_bytes: int) -> None:
        """Account for a batch that is in the file: timestamps, and an index entry where one is due."""
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.max_timestamp_offset = last_offset
        if self.first_timestamp_ms < 0:
            self.first_timestamp_ms = max_timestamp_ms
        if self.bytes_since_index > interval_bytes and position:
            self.offset_index.append(last_offset, position)
            self.time_index.append(self.max_timestamp_ms, self.max_timestamp_offset)
            self.bytes_since_index = 0
        self.bytes_since_index += size

    def is_index_full(self, index_bytes_max: int) -> bool:
        return self.offset_index.size_bytes + self.offset_index.ENTRY_BYTES > index_bytes_max

    def sync(self) -> None:
        """Make the batches durable; raises OSError."""
        self._disk.fdatasync(self.fd)

    def truncate(self, position: int) -> None:
        """Cut the file behind the last valid batch."""
        self._disk.truncate(self.fd, position)
        self.size_bytes = position

    def finish(self) -> None:
        """No more batches: the last timestamp is indexed, the reserve of the indexes is cut off."""
        self.time_index.append(self.max_timestamp_ms, self.max_timestamp_offset)
        self.offset_index.trim()
        self.time_index.trim()

    def close(self) -> None:
        self.offset_index.close()
        self.time_index.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def path_of(directory: Path, base_offset: int, suffix: str) -> Path:
    """A file of a segment."""
    return directory / f"{base_offset:020d}{suffix}"


def segment_bases(directory: Path) -> list[int]:
    """Base offsets of the segments in a directory, in order."""
    return sorted(
        int(name[: -len(LOG_SUFFIX)])
        for name in os.listdir(directory)
        if name.endswith(LOG_SUFFIX) and name[: -len(LOG_SUFFIX)].isdigit()
    )


def remove_segment(directory: Path, base_offset: int) -> None:
    """Remove the files of a segment that recovery found behind the end of the log."""
    for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, ".txnindex"):
        path_of(directory, base_offset, suffix).unlink(missing_ok=True)


def sync_segment(directory: Path, base_offset: int) -> None:
    """Make a rolled segment durable: the housekeeper's part. raises OSError."""
    for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX):
        fd = os.open(path_of(directory, base_offset, suffix), os.O_RDONLY)
        try:
            os.fdatasync(fd)
        finally:
            os.close(fd)

"""A segment that compaction writes: `.cleaned` files, complete and synced before anyone is asked to take them.

    00000000000000001234.log.cleaned | .index.cleaned | .timeindex.cleaned | .txnindex.cleaned, if there was one before

Runs in: the housekeeper, to which such files belong; after a crash they are swept. The indexes are made in memory (at most
`segment.index.bytes` each) and written at the end.

Source: Kafka `LogCleaner.cleanSegments`, `LogSegment`.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.log.disk import Buffer, Disk
from headrace.log.index_layout import OFFSET_ENTRY, RELATIVE_OFFSET_MAX, TIME_ENTRY
from headrace.log.names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SUFFIXES,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    path_of,
)
from headrace.protocol.record_batch import RecordBatchHeader

POSITION_MAX = 2**31 - 1
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_TRUNC


class SegmentOverflow(HeadraceError):
    """More bytes or offsets than an index can point into."""


class CleanedSegment:
    """The writing end. Batches are put, then written; `finish` makes the files complete."""

    def __init__(self, directory: Path, base_offset: int, index_interval_bytes: int, disk: Disk) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.size_bytes = 0
        self._disk = disk
        self._interval_bytes = index_interval_bytes
        self._since_index = 0
        self._pending: list[Buffer] = []
        self._written = 0
        self._offsets = bytearray()
        self._times = bytearray()
        self._indexed_ms = 0
        self._largest = (-1, base_offset)  # timestamp, last offset of its batch
        remove_cleaned(directory, disk, base_offset)
        self._fd = disk.open(self._path(LOG_SUFFIX), _FLAGS)

    def put(self, batch: Buffer, header: RecordBatchHeader) -> None:
        """Queue one batch; `header` is that of the batch as it is written. raises SegmentOverflow"""
        last_offset = header[0] + header[6]
        size = len(batch)
        if last_offset - self.base_offset > RELATIVE_OFFSET_MAX or self.size_bytes + size > POSITION_MAX:
            raise SegmentOverflow(f"segment {self.base_offset}: offset {last_offset}, {self.size_bytes + size} bytes")
        if header.max_timestamp > self._largest[0]:
            self._largest = (header.max_timestamp, last_offset)
        if self._since_index > self._interval_bytes:
            self._offsets += OFFSET_ENTRY.pack(last_offset - self.base_offset, self.size_bytes)
            self._index_time()
            self._since_index = 0
        self._since_index += size
        self.size_bytes += size
        self._pending.append(batch)

    def write(self) -> int:
        """Write what was queued; returns the bytes. raises OSError"""
        if not self._pending:
            return 0
        written = self._disk.write_all(self._fd, self._pending, self._written)
        self._written += written
        self._pending.clear()
        return written

    def finish(self, aborted_transactions: bytes | None, modified_ns: int) -> None:
        """Write the rest and the indexes, sync all of it. raises OSError

        aborted_transactions   entries of the transaction index; None: there is none, and none to be replaced
        modified_ns            time of the last write of the youngest segment that this one replaces
        """
        self.write()
        os.utime(self._fd, ns=(modified_ns, modified_ns))
        self._disk.fdatasync(self._fd)
        self.close()
        self._index_time()
        self._write_file(INDEX_SUFFIX, self._offsets)
        self._write_file(TIME_INDEX_SUFFIX, self._times)
        if aborted_transactions is not None:
            self._write_file(TXN_INDEX_SUFFIX, aborted_transactions)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _index_time(self) -> None:
        timestamp_ms, offset = self._largest
        if timestamp_ms > self._indexed_ms:
            self._times += TIME_ENTRY.pack(timestamp_ms, offset - self.base_offset)
            self._indexed_ms = timestamp_ms

    def _write_file(self, suffix: str, data: Buffer) -> None:
        fd = self._disk.open(self._path(suffix), _FLAGS)
        try:
            self._disk.write_all(fd, [data], 0)
            self._disk.fdatasync(fd)
        finally:
            os.close(fd)

    def _path(self, suffix: str) -> Path:
        return path_of(self.directory, self.base_offset, suffix + CLEANED_SUFFIX)


def remove_cleaned(directory: Path, disk: Disk, base_offset: int | None = None) -> int:
    """Remove the `.cleaned` files of a segment, or of all segments; returns how many. raises OSError"""
    if base_offset is not None:
        paths = [path_of(directory, base_offset, suffix + CLEANED_SUFFIX) for suffix in SUFFIXES]
    else:
        paths = [directory / name for name in os.listdir(directory) if name.endswith(CLEANED_SUFFIX)]
    removed = 0
    for path in paths:
        try:
            disk.unlink(path)
            removed += 1
        except FileNotFoundError:
            pass
    return removed

"""A segment that compaction writes: files that are complete and synced before anyone is asked to take them.

    00000000000000001234.log.cleaned      the batches
    00000000000000001234.index.swap | .timeindex.swap | .txnindex.swap, if there was one before
    00000000000000001234.group.swap       where the segments end that this one replaces (`log/group_file.py`)

The directory is synced after them: the one rename that makes a swap of them (`segment_swap.py`) finds all other names on the
disk, whatever a crash of the machine loses later. Without a `.log.swap` of the same segment all of them are garbage.

Runs in: the housekeeper, to which such files belong; after a crash they are swept. The indexes are made in memory (at most
`segment.index.bytes` each) and written at the end.

Source: Kafka `LogCleaner.cleanSegments`, `LogSegment`.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.log.disk import Buffer, Disk
from headrace.log.group_file import encode_group
from headrace.log.index_layout import OFFSET_ENTRY, RELATIVE_OFFSET_MAX, TIME_ENTRY
from headrace.log.names import (
    CLEANED_SUFFIX,
    GROUP_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
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
        self._fd = disk.open(path_of(directory, base_offset, LOG_SUFFIX + CLEANED_SUFFIX), _FLAGS)

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

    def finish(self, aborted_transactions: bytes | None, modified_ns: int, end_offset: int) -> None:
        """Write the rest and the indexes, sync all of it. raises OSError

        aborted_transactions   entries of the transaction index; None: there is none, and none to be replaced
        modified_ns            time of the last write of the youngest segment that this one replaces
        end_offset             where the segments end that this one replaces: the base of the next one
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
        self._write_file(GROUP_SUFFIX, encode_group(end_offset))
        self._disk.sync_directory(self.directory)

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
        fd = self._disk.open(path_of(self.directory, self.base_offset, suffix + SWAP_SUFFIX), _FLAGS)
        try:
            self._disk.write_all(fd, [data], 0)
            self._disk.fdatasync(fd)
        finally:
            os.close(fd)


def remove_cleaned(directory: Path, disk: Disk, base_offset: int | None = None) -> int:
    """Remove what is not complete, or was not taken, of one segment or of all; returns how many files. raises OSError

    Where a `.log.swap` is there, or comes meanwhile, the swap has begun, and the files are the owner's.
    """
    names = os.listdir(directory)
    stems = {name.partition(".")[0] for name in names if name.endswith((CLEANED_SUFFIX, SWAP_SUFFIX))}
    if base_offset is not None:
        stems &= {path_of(directory, base_offset, "").name}
    removed = 0
    for stem in stems:
        removed += _unlink(disk, directory / (stem + LOG_SUFFIX + CLEANED_SUFFIX))  # from here on no swap begins
        if not (directory / (stem + LOG_SUFFIX + SWAP_SUFFIX)).exists():
            for name in names:
                if name.partition(".")[0] == stem and name.endswith((CLEANED_SUFFIX, SWAP_SUFFIX)):
                    removed += _unlink(disk, directory / name)
    return removed


def has_swap(directory: Path) -> bool:
    """Whether a swap has begun and is not through: its files are the owner's, and a `.cleaned` file would have it taken back.

    raises   OSError
    """
    return any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in os.listdir(directory))


def _unlink(disk: Disk, path: Path) -> int:
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return 0
    return 1

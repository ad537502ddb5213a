"""The leader epochs that a segment's batches show, where the file that says so was lost, or says something else.

Epochs grow along a log: between two batches of one epoch there is no other. So of the batches that the offset index names a few are
read, by halves, and headers are walked between two neighbours that differ, and after the last one. A segment of 1 GiB of small
batches has fifteen million headers, of which this reads a few hundred. Where a batch is not what its entry says, or one is of an
old format, all headers are walked.

Two sources say where an epoch begins: the file, and the batches, which count. So each opening compares the last entries of the file with
the batches at their starts. A file that an earlier version wrote may have an empty epoch before records of an earlier one.

Runs in: the partition worker that owns the log, while it opens it. Kafka has nothing like it: it does without its epochs.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH
from headrace.limits import LEADER_EPOCHS_COMPARED_MAX
from headrace.log.batch_walk import LENGTH_MIN, walk
from headrace.log.disk import Disk
from headrace.log.index_layout import OFFSET_ENTRY
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, path_of
from headrace.log.reading.reader import LogReader
from headrace.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, MAGIC_V2, parse_header

_FIRST: Final = -1


class _Implausible(HeadraceError):
    """An index entry names no batch that it could."""


class _Batch(NamedTuple):
    """One that was read.

    entry   that names it; _FIRST: none, it is the first of the segment
    """

    entry: int
    position: int
    base_offset: int
    epoch: int


def epochs_in(directory: Path, base: int, end: int, disk: Disk) -> list[tuple[int, int]]:
    """(epoch, offset of its first batch) of a segment that is whole up to a byte, the oldest first. raises OSError"""
    fd = os.open(path_of(directory, base, LOG_SUFFIX), os.O_RDONLY)
    try:
        try:
            return _EpochScan(fd, base, end, _index_of(directory, base), disk).run()
        except _Implausible:
            return _EpochScan(fd, base, end, b"", disk).walk_all()
    finally:
        os.close(fd)


def contradiction(
    directory: Path, entries: Sequence[tuple[int, int]], segment: int, position: int, end_offset: int
) -> str:
    """What the batches say against the last entries of the file, in a log that ends there; empty: nothing. raises OSError

    entries   (epoch, start offset), oldest first
    """
    reader = LogReader(directory)
    try:
        reader.refresh(0)
        following = end_offset
        for epoch, start in reversed(
            [entry for entry in entries if entry[1] < end_offset][-LEADER_EPOCHS_COMPARED_MAX:]
        ):
            header = next((found.header for found in reader.batches_from(start, segment, position)), None)
            is_read = header is not None and header.base_offset < following  # else the cleaner has taken its records
            if header is not None and is_read and header.partition_leader_epoch not in (epoch, NO_EPOCH):
                return f"epoch {epoch} from offset {start}, the batch there is of epoch {header.partition_leader_epoch}"
            following = start
    except HeadraceError:
        return ""  # a damaged batch is found by who reads it
    finally:
        reader.close()
    return ""


def _index_of(directory: Path, base: int) -> bytes:
    try:
        return path_of(directory, base, INDEX_SUFFIX).read_bytes()
    except FileNotFoundError:
        return b""


class _EpochScan:
    """Over one segment."""

    def __init__(self, fd: int, base: int, end: int, index: bytes, disk: Disk) -> None:
        self._fd = fd
        self._base = base
        self._end = end
        self._index = index
        self._disk = disk
        self._found: list[tuple[int, int]] = []

    def run(self) -> list[tuple[int, int]]:
        """raises _Implausible, OSError"""
        if not self._end:
            return []
        entries = range(len(self._index) // OFFSET_ENTRY.size)
        count = bisect_left(entries, True, key=lambda entry: not 0 < self._entry(entry)[1] < self._end)
        first = last = self._read(_FIRST)
        self._note(first.epoch, first.base_offset)
        if count:
            last = self._read(count - 1)
            self._between(first, last)
        self._walk(last.position, self._end, last.base_offset)
        return self._found

    def walk_all(self) -> list[tuple[int, int]]:
        """raises OSError"""
        self._walk(0, self._end, self._base)
        return self._found

    def _between(self, low: _Batch, high: _Batch) -> None:
        if low.epoch == high.epoch:
            return
        if low.epoch > high.epoch or low.base_offset >= high.base_offset:
            raise _Implausible
        if high.entry - low.entry > 1:
            middle = self._read((low.entry + high.entry) // 2)
            self._between(low, middle)
            self._between(middle, high)
            return
        self._walk(low.position, high.position, low.base_offset)
        self._note(high.epoch, high.base_offset)

    def _walk(self, start: int, end: int, next_offset: int) -> None:
        for step in walk(self._fd, start, end, next_offset, is_checked=False, disk=self._disk):
            self._note(step.leader_epoch, step.base_offset)

    def _note(self, epoch: int, offset: int) -> None:
        if epoch > (self._found[-1][0] if self._found else NO_EPOCH):
            self._found.append((epoch, offset))

    def _entry(self, entry: int) -> tuple[int, int]:
        """(relative offset, position)"""
        relative, position = OFFSET_ENTRY.unpack_from(self._index, entry * OFFSET_ENTRY.size)
        return relative, position

    def _read(self, entry: int) -> _Batch:
        """The batch that an entry names: its offset is the last one of an append, so the batch begins at or below it."""
        relative, position = (0, 0) if entry == _FIRST else self._entry(entry)
        head = bytearray(HEADER_BYTES)
        if self._disk.preadv(self._fd, [head], position) < HEADER_BYTES:
            raise _Implausible
        header = parse_header(head)
        is_batch = header.magic == MAGIC_V2 and header.size_bytes - LOG_OVERHEAD_BYTES >= LENGTH_MIN
        is_within = self._base <= header.base_offset and header.size_bytes <= self._end - position
        if not (is_batch and is_within) or (entry != _FIRST and header.base_offset > self._base + relative):
            raise _Implausible
        return _Batch(entry, position, header.base_offset, header.partition_leader_epoch)

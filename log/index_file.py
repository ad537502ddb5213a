"""A file of fixed-size entries, mapped, that grows in steps and ends in zeros.

The writer reserves INDEX_GROW_BYTES at a time (`posix_fallocate`: a full disk is an error, not a SIGBUS) and
cuts the zeros off when the segment rolls or closes. Readers in other processes map the same file; entries of
zeros are no entries.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from headrace.limits import INDEX_GROW_BYTES
from headrace.log.disk import Disk


class IndexFile:
    """The writing end. Subclasses know what an entry is."""

    ENTRY_BYTES = 8

    def __init__(self, path: Path, disk: Disk) -> None:
        self.path = path
        self.entries = 0
        self._disk = disk
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o640)
        self._map: mmap.mmap | None = None
        self._capacity = os.fstat(self._fd).st_size // self.ENTRY_BYTES
        if self._capacity:
            self._remap()

    @property
    def size_bytes(self) -> int:
        """Of the entries, without the reserve."""
        return self.entries * self.ENTRY_BYTES

    def trim(self) -> None:
        """Cut the file down to its entries."""
        self._unmap()
        self._disk.truncate(self._fd, self.size_bytes)
        self._capacity = self.entries
        if self._capacity:
            self._remap()

    def truncate(self, entries: int) -> None:
        """Keep the first entries only; the rest becomes zeros."""
        assert entries <= self._capacity
        start = entries * self.ENTRY_BYTES
        if self._map is not None:
            self._map[start : self._capacity * self.ENTRY_BYTES] = bytes(self._capacity * self.ENTRY_BYTES - start)
        self.entries = entries

    def close(self) -> None:
        self._unmap()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _reserve(self) -> mmap.mmap:
        """The map with room for one entry more."""
        if self.entries >= self._capacity or self._map is None:
            self._unmap()
            start = self._capacity * self.ENTRY_BYTES
            self._disk.fallocate(self._fd, start, INDEX_GROW_BYTES - INDEX_GROW_BYTES % self.ENTRY_BYTES)
            self._capacity += INDEX_GROW_BYTES // self.ENTRY_BYTES
            self._remap()
        assert self._map is not None
        return self._map

    def _remap(self) -> None:
        self._map = mmap.mmap(self._fd, self._capacity * self.ENTRY_BYTES)

    def _unmap(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

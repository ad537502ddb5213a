"""A file of fixed-size entries that grows in steps and ends in zeros: the writing end.

Runs in: the partition worker that owns the log, which maps the file. It reserves INDEX_GROW_BYTES at a time
(`posix_fallocate`: a full disk is an error, not a SIGBUS) and cuts the zeros off when the segment rolls or
closes. Other processes read the file by `pread` (`index_reader.py`): a page that is cut off under a mapping
kills the process that reads it. A page that the disk can't give does the same, and no line would name the file. So a file that is found
is read through before it is mapped, which leaves its pages in memory. One that can't be read is removed and begun again, empty:
all of it is learnt from the segment.

Without an entry it holds no descriptor; with one, that of its map (Python's own duplicate; none from 3.13 on). A node has
thousands of logs, and most of them rest: what is rare (a reserve, a flush, a trim) opens the file for the time it takes.

    entry 0 | entry 1 | ... | entry n-1 | zeros, up to the reserve

Source: Kafka `AbstractIndex`.
"""

from __future__ import annotations

import errno
import logging
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

from headrace.limits import INDEX_GROW_BYTES
from headrace.log.disk import Disk
from headrace.protocol import record_kernel

_WINDOW_BYTES: Final = 256 << 10

_store_entries: Final = record_kernel.store_entries
_log: Final = logging.getLogger(__name__)


class IndexFile:
    """The writing end. Subclasses know what an entry is.

    entries     in use; what follows them is zeros
    is_remade   the file that was found could not be read: nothing of it is known
    """

    ENTRY_BYTES: ClassVar[int] = 8

    def __init__(self, path: Path, disk: Disk, is_new: bool) -> None:
        self.path = path
        self.entries = 0
        self._disk = disk
        is_wiped = is_new and path.exists()
        self._map: mmap.mmap | None = None
        self._is_reserved = False  # a file found may be sparse (Kafka's are): its holes get blocks before a store
        self._is_dirty = is_wiped  # an empty file that a crash of the machine takes is created again
        self._capacity = 0
        self.is_remade = False
        with self._opened(os.O_CREAT | (os.O_TRUNC if is_new else 0)) as fd:
            capacity = os.fstat(fd).st_size // self.ENTRY_BYTES
            if capacity and self._is_readable(fd, capacity * self.ENTRY_BYTES):
                self._capacity = capacity
                self._remap(fd)
        if capacity and not self._capacity:
            self._disk.unlink(path)
            with self._opened(os.O_CREAT | os.O_EXCL):
                self.is_remade = self._is_dirty = True

    @property
    def size_bytes(self) -> int:
        """Of the entries, without the reserve."""
        return self.entries * self.ENTRY_BYTES

    def trim(self) -> None:
        """Cut the file down to its entries; raises OSError."""
        self._unmap()
        with self._opened() as fd:
            self._disk.truncate(fd, self.size_bytes)
            self._capacity = self.entries
            if self._capacity:
                self._remap(fd)

    def sync(self) -> None:
        """Make the entries durable, if there are new ones (Linux syncs what was stored through a map). raises OSError."""
        if self._is_dirty:
            with self._opened() as fd:
                self._disk.fdatasync(fd)
            self._is_dirty = False

    def truncate(self, entries: int) -> None:
        """Keep the first entries only; the rest of the file becomes zeros. raises OSError

        The file keeps its length. Zeros are written, not stored through the map: a hole on a full disk is an
        error then.
        """
        assert entries <= self._capacity
        start, end = entries * self.ENTRY_BYTES, self._capacity * self.ENTRY_BYTES
        if self._map is not None and self._map[start:end].strip(b"\0"):
            with self._opened() as fd:
                self._disk.write_all(fd, [bytes(end - start)], start)
            self._is_dirty = True
        self.entries = entries

    def close(self) -> None:
        self._unmap()

    def _next_slot(self, count: int = 1) -> mmap.mmap:
        """The map, with room for `count` entries more; raises OSError, where the disk is full."""
        if self.entries + count > self._capacity or self._map is None:
            step = INDEX_GROW_BYTES // self.ENTRY_BYTES
            grow_by = max(1, -(-(self.entries + count - self._capacity) // step)) * step
            first = self._capacity if self._is_reserved else self.entries
            with self._opened() as fd:
                self._reserve(fd, first, self._capacity + grow_by - first)
                self._unmap()
                self._capacity += grow_by
                self._remap(fd)
        elif not self._is_reserved:
            with self._opened() as fd:
                self._reserve(fd, self.entries, self._capacity - self.entries)
        assert self._map is not None
        self._is_dirty = True
        return self._map

    def _extend(self, packed: bytes) -> None:
        """Entries as the record kernel found them, in its order; it is there, then. raises OSError"""
        count = len(packed) // self.ENTRY_BYTES
        mapped = self._next_slot(count)
        assert _store_entries is not None
        _store_entries(mapped, self.size_bytes, packed, self.ENTRY_BYTES)
        self.entries += count

    def _is_readable(self, fd: int, size: int) -> bool:
        """Whether the disk gives all of it. raises OSError"""
        window = bytearray(min(size, _WINDOW_BYTES))
        for start in range(0, size, len(window)):
            try:
                self._disk.preadv(fd, [window], start)
            except OSError as failure:
                if failure.errno != errno.EIO:
                    raise
                _log.error(
                    "index can't be read and is rebuilt from its segment file=%s position=%d reason=%s",
                    self.path,
                    start,
                    failure,
                )
                return False
        return True

    def _reserve(self, fd: int, first: int, count: int) -> None:
        self._disk.fallocate(fd, first * self.ENTRY_BYTES, count * self.ENTRY_BYTES)
        self._is_reserved = True

    def _remap(self, fd: int) -> None:
        if sys.version_info >= (3, 13):
            self._map = mmap.mmap(fd, self._capacity * self.ENTRY_BYTES, trackfd=False)
        else:
            self._map = mmap.mmap(fd, self._capacity * self.ENTRY_BYTES)

    def _unmap(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

    @contextmanager
    def _opened(self, flags: int = 0) -> Iterator[int]:
        """A descriptor of the file, for a moment. raises OSError"""
        fd = self._disk.open(self.path, os.O_RDWR | flags)
        try:
            yield fd
        finally:
            os.close(fd)

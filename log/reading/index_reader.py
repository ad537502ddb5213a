"""A file of fixed-size entries: the reading end, for other processes than its writer.

Runs in: network workers, Spark tasks, tools. It reads by `pread` and maps nothing, because the writer cuts the
reserve off when the segment rolls, and a page that is cut off under a mapping is a SIGBUS. A lookup bisects with
one `pread` a step until BLOCK_ENTRIES are left, and reads those at once: eight or nine of them in the largest index,
and mostly one where the caller can guess.

A reader of segments does without an index that the disk can't read: the segment has all that was in it (`TolerantIndexReader`). It
remembers that, for each try takes the disk seconds.

An entry that is being stored while it is read may come half. Only the last one can: `lookup` can leave it out.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Final

BLOCK_ENTRIES: Final = 512

Entry = tuple[int, int]

_log: Final = logging.getLogger(__name__)


class IndexReader:
    """One index file, open for reading; without the file it reads as one without entries."""

    __slots__ = ("_entry", "_fd")

    def __init__(self, path: Path, entry: Struct) -> None:
        self._entry = entry
        self._fd = -1
        try:
            self._fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            pass

    def __del__(self) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def lookup(self, is_wanted: Callable[[Entry], bool], *, without_last: bool = False) -> Entry | None:
        """The last entry that is wanted; None where none is.

        is_wanted      true for the first entries up to some point, false from there on, and for zeros
        without_last   leave out the last entry before the zeros, and never ask about it: half stored, it could be
                       "wanted" where the entries before it are not, and lead the bisection astray
        """
        if self._fd < 0:
            return None
        count = os.fstat(self._fd).st_size // self._entry.size
        if without_last:
            count = self._bisect(any, 0, count)[0] - 1
        return self._bisect(is_wanted, 0, count)[1]

    def lookup_near(self, is_wanted: Callable[[Entry], bool], guess: int) -> tuple[int, Entry | None]:
        """`lookup` that tries first around the entry numbered `guess`: one `pread` where that is about right.

        returns   how many entries are wanted, and the last of them
        """
        if self._fd < 0:
            return 0, None
        size = self._entry.size
        first = max(0, guess - BLOCK_ENTRIES // 2)
        block = os.pread(self._fd, BLOCK_ENTRIES * size, first * size)
        wanted, last = self._bisect_block(is_wanted, block)
        if wanted < BLOCK_ENTRIES:  # the point is in the block, or the file ends in it
            if wanted or not first:
                return first + wanted, last
            return self._bisect(is_wanted, 0, first)
        return self._bisect(is_wanted, first, os.fstat(self._fd).st_size // size)

    def first(self, is_before: Callable[[Entry], bool]) -> Entry | None:
        """The first entry that is not before some point; None, or zeros, where there is none.

        is_before   true for the first entries up to some point, false from there on, and for zeros
        """
        if self._fd < 0:
            return None
        count = os.fstat(self._fd).st_size // self._entry.size
        place = self._bisect(is_before, 0, count)[0]
        return self._read(place) if place < count else None

    def last(self) -> Entry | None:
        """The last entry before the zeros."""
        return self.lookup(any)

    def _bisect(self, is_wanted: Callable[[Entry], bool], low: int, high: int) -> tuple[int, Entry | None]:
        """How many of the first `high` entries are wanted, and the last of them; those before `low` are."""
        size = self._entry.size
        while high - low > BLOCK_ENTRIES:
            middle = (low + high) // 2
            if is_wanted(self._read(middle)):
                low = middle
            else:
                high = middle
        wanted, last = self._bisect_block(is_wanted, os.pread(self._fd, max(0, high - low) * size, low * size))
        return low + wanted, last

    def _bisect_block(self, is_wanted: Callable[[Entry], bool], block: bytes) -> tuple[int, Entry | None]:
        unpack, size = self._entry.unpack_from, self._entry.size
        low, high = 0, len(block) // size
        while low < high:
            middle = (low + high) // 2
            if is_wanted(unpack(block, middle * size)):
                low = middle + 1
            else:
                high = middle
        return low, unpack(block, (low - 1) * size) if low else None

    def _read(self, index: int) -> Entry:
        data = os.pread(self._fd, self._entry.size, index * self._entry.size)
        if len(data) < self._entry.size:
            return 0, 0  # cut off meanwhile: it was reserve
        first, second = self._entry.unpack(data)
        return first, second


class TolerantIndexReader(IndexReader):
    """One that the disk can't read is one without entries from then on; opening the log makes it again.

    is_unreadable   that is so: known before, or found
    """

    __slots__ = ("_path", "is_unreadable")

    def __init__(self, path: Path, entry: Struct, *, is_unreadable: bool = False) -> None:
        self._path = path
        self.is_unreadable = is_unreadable
        if is_unreadable:
            self._fd = -1
            return
        try:
            super().__init__(path, entry)
        except OSError as failure:
            self._give_up(failure)

    def lookup(self, is_wanted: Callable[[Entry], bool], *, without_last: bool = False) -> Entry | None:
        """`IndexReader.lookup`."""
        try:
            return super().lookup(is_wanted, without_last=without_last)
        except OSError as failure:
            self._give_up(failure)
        return None

    def lookup_near(self, is_wanted: Callable[[Entry], bool], guess: int) -> tuple[int, Entry | None]:
        """`IndexReader.lookup_near`."""
        try:
            return super().lookup_near(is_wanted, guess)
        except OSError as failure:
            self._give_up(failure)
        return 0, None

    def first(self, is_before: Callable[[Entry], bool]) -> Entry | None:
        """`IndexReader.first`."""
        try:
            return super().first(is_before)
        except OSError as failure:
            self._give_up(failure)
        return None

    def _give_up(self, failure: OSError) -> None:
        """raises   `failure`, where it says nothing of the disk"""
        if failure.errno != errno.EIO:
            raise failure
        self.is_unreadable = True
        self.close()
        _log.warning("index can't be read, searching without it until the log is reopened path=%s", self._path)

"""A file of fixed-size entries: the reading end, for other processes than its writer.

Runs in: network workers, Spark tasks, tools. It reads by `pread` and maps nothing, because the writer cuts the
reserve off when the segment rolls, and a page that is cut off under a mapping is a SIGBUS. A look-up bisects with
one `pread` a step until BLOCK_ENTRIES are left, and reads those at once: eight or nine of them in the largest index.

An entry that is being stored while it is read may come half. Only the last one can: `lookup` can leave it out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct

BLOCK_ENTRIES = 512

Entry = tuple[int, int]


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
        without_last   leave out an entry that nothing but zeros follows
        """
        if self._fd < 0:
            return None
        size = self._entry.size
        low, high = 0, os.fstat(self._fd).st_size // size
        while high - low > BLOCK_ENTRIES:
            middle = (low + high) // 2
            if is_wanted(self._read(middle)):
                low = middle
            else:
                high = middle
        block = os.pread(self._fd, (high - low + 1) * size, low * size)  # one more, to see whether zeros follow
        entries = list(self._entry.iter_unpack(block[: len(block) - len(block) % size]))
        count = 0
        end = min(high - low, len(entries))
        while count < end:
            middle = (count + end) // 2
            if is_wanted(entries[middle]):
                count = middle + 1
            else:
                end = middle
        is_last = count >= len(entries) or not any(entries[count])
        if without_last and is_last:
            count -= 1
            if count == 0 and low > 0:
                return self._read(low - 1)
        return entries[count - 1] if count > 0 else None

    def last(self) -> Entry | None:
        """The last entry before the zeros."""
        return self.lookup(any)

    def _read(self, index: int) -> Entry:
        data = os.pread(self._fd, self._entry.size, index * self._entry.size)
        if len(data) < self._entry.size:
            return 0, 0  # cut off meanwhile: it was reserve
        first, second = self._entry.unpack(data)
        return first, second

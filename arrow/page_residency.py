"""Which pages of a file were in the page cache before a scan, and giving back those that were not.

Runs in: Spark's Python workers. A scan of old segments would push what consumers read out of the cache. So the cache is asked before a
segment is read (mincore over a mapping that is not touched), and after a window was read and unmapped the kernel is notified that what the
scan brought in is not needed (POSIX_FADV_DONTNEED; it keeps pages that others have mapped or not yet written).

Linux answers mincore to the file's owner and to those that may write it; to others every page looks resident, and none is given back.

Source: mincore(2), posix_fadvise(2).
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import numpy as np

PAGE_BYTES = mmap.PAGESIZE
ASKED_BYTES = 64 << 20  # in one mapping

_libc = ctypes.CDLL(None, use_errno=True)


class Residency:
    """What of a file's bytes from `start` (a multiple of a page) on was in the page cache when it was asked for.

    resident   bool by page, as far as asked; None if that can't be determined
    """

    def __init__(self, fd: int, start: int) -> None:
        assert start % PAGE_BYTES == 0
        self._fd = fd
        self._start = start
        self.resident: Any = np.zeros(0, bool)

    def ask(self, end: int) -> None:
        """Up to `end`, of what was not asked before: 60 ns a page."""
        if self.resident is not None:
            more = _resident(self._fd, self._start + len(self.resident) * PAGE_BYTES, end)
            self.resident = None if more is None else np.concatenate([self.resident, more])

    def give_back(self, start: int, end: int) -> int:
        """Give back the whole pages within start <= byte < end that were not resident; how many there were."""
        if self.resident is None:
            return 0
        first = max(-(-(start - self._start) // PAGE_BYTES), 0)
        last = min((end - self._start) // PAGE_BYTES, len(self.resident))
        absent = ~self.resident[first:last]
        edges = np.flatnonzero(np.diff(absent.astype(np.int8), prepend=0, append=0))
        for begin, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            place = self._start + (first + begin) * PAGE_BYTES
            os.posix_fadvise(self._fd, place, (stop - begin) * PAGE_BYTES, os.POSIX_FADV_DONTNEED)
        return int(absent.sum())


def _resident(fd: int, start: int, end: int) -> Any:
    parts = [np.zeros(0, bool)]
    for place in range(start, end, ASKED_BYTES):
        size = min(ASKED_BYTES, end - place)
        told = np.zeros(-(-size // PAGE_BYTES), np.uint8)
        try:
            mapped = mmap.mmap(fd, size, access=mmap.ACCESS_READ, offset=place)
        except (OSError, ValueError):  # a limit on memory; the file was cut
            return None
        address = np.frombuffer(mapped, np.uint8).ctypes.data
        failed = _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_void_p(told.ctypes.data))
        if failed:
            return None
        parts.append(told & 1 != 0)
    return np.concatenate(parts)

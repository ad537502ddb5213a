"""Fill the page cache before a round, as it is on a broker that has run for a day.

A virtual machine gives free memory back to its host, and pays a fault of the hypervisor for each page it touches again: a
write into new pages of the page cache cost 1.1 to 2.4 s of CPU a GB here, 0.2 s where old pages are used again. That is neither
server's work, and no broker in service sees it, for its page cache is never empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

CHUNK = 1 << 20
STEP = 1 << 30  # bytes between two checks of what is free
FREE_SHARE_MIN = 0.04  # of the memory; the kernel keeps about as much free by itself
PROGRESS_MIN = 0.25  # of what a step read: less, and the kernel evicts as fast as it takes in


class PageCache:
    """Reads a sparse file: pages of zeros, no disk, clean, so that they are the first to go."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "sparse"
        self._position = 0

    def fill(self) -> None:
        """Until next to nothing is free; at once, where that is so."""
        buffer = bytearray(CHUNK)
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        free = _free_bytes()
        with open(self._path, "ab") as file:
            while free > total * FREE_SHARE_MIN:
                os.ftruncate(file.fileno(), self._position + STEP)
                with open(self._path, "rb", buffering=0) as reader:
                    reader.seek(self._position)
                    for _ in range(STEP // CHUNK):
                        reader.readinto(buffer)
                self._position += STEP
                before, free = free, _free_bytes()
                if before - free < STEP * PROGRESS_MIN:
                    break


def hold(paths: Iterable[Path]) -> None:
    """Read files twice, which the kernel takes for use: they are in the page cache, as what was written lately is, and stay longer than
    what `fill` reads. Otherwise it evicts them, and a cold `scan` gives back what it brought in: it would find them cold each time."""
    for path in paths:
        for _ in range(2):
            with open(path, "rb", buffering=0) as file:
                while file.read(CHUNK):
                    pass


def read_again(paths: Iterable[Path]) -> None:
    """Write files out, drop them from the page cache, and read them: in pieces as large as the kernel reads ahead. As they were written,
    16 KiB at a time, they lie in small ones, until whichever server's happen to be evicted and read again: `sendfile` of these takes
    a third less CPU."""
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while file.read(CHUNK):
                pass


def _free_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemFree:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no MemFree in /proc/meminfo")

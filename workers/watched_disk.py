"""A disk that may take its time: the process that waits for it is not taken for one that hangs.

Runs in: partition workers and the housekeeper. A fdatasync of a segment of 1 GiB takes longer than
`headrace.worker.hang.timeout.ms` on a slow disk, and there is no sign of life within a system call. So the sign
before it says when the next one is due at the latest: SYNC_GRACE_MS from now. Each window that is read, and each file that goes, is a
sign too: a loop over a whole segment, or over many, needs none of its own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from headrace.clock import Clock
from headrace.limits import SYNC_GRACE_MS
from headrace.log.disk import Disk
from headrace.shm.seat import Seat
from headrace.workers.write_out import WriteOut


class WatchedDisk(Disk):
    """The real one, with signs of life around each sync, and before what comes in long rows."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        self._seat = seat
        self._clock = clock
        self._write_out = WriteOut(clock)

    def grew(self, fd: int, end: int) -> None:
        self._write_out.note(fd, end)

    def reserve(self, fd: int, position: int, size: int) -> None:
        """Blocks ahead are no reason to refuse produce. raises OSError, where they leave less than `headrace.log.dir.free.bytes.min`"""
        volume = os.fstatvfs(fd)
        least: int = self._seat.wiring.settings["headrace.log.dir.free.bytes.min"]
        if volume.f_bavail * volume.f_frsize - size < least:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().reserve(fd, position, size)

    def preadv(self, fd: int, buffers: Sequence[bytearray | memoryview], position: int) -> int:
        self._seat.beat(self._clock.monotonic_ns())
        return super().preadv(fd, buffers, position)

    def unlink(self, path: Path) -> None:
        self._seat.beat(self._clock.monotonic_ns())
        super().unlink(path)

    def fdatasync(self, fd: int) -> None:
        self._seat.beat(self._clock.monotonic_ns() + SYNC_GRACE_MS * 1_000_000)
        try:
            super().fdatasync(fd)
        finally:
            self._seat.beat(self._clock.monotonic_ns())

    def fsync(self, fd: int) -> None:
        self._seat.beat(self._clock.monotonic_ns() + SYNC_GRACE_MS * 1_000_000)
        try:
            super().fsync(fd)
        finally:
            self._seat.beat(self._clock.monotonic_ns())

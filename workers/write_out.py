"""Segments that grow fast are written out from the start, not when memory has filled up with what the disk has not got.

    Segment (each 8 MiB)  ->  WatchedDisk.grew  ->  WriteOut  ->  a thread: sync_file_range

The kernel begins to write back when a tenth of the memory is dirty, with a guess of the disk's speed that begins at 100 MB/s; until it
knows better it holds up who writes, 10 to 200 ms at a time, and with a partition worker all its partitions. Below WRITE_OUT_MB_PER_S of
a process the kernel keeps up by itself, and nothing is done: what lives for a few seconds may never see the disk.

A thread, since the call waits while the disk's queue is full. It ends when it has nothing to do. What it is late with is left out: the
next part of that file says it again. Nothing depends on it: what is synced is not reported from here.

Runs in: partition workers. Source: docs/decisions/007.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from headrace.clock import Clock
from headrace.limits import SEGMENT_RESERVE_BYTES_MAX, WRITE_OUT_MB_PER_S, WRITE_OUT_WAITING_MAX
from headrace.log.disk import begin_write_out

_WINDOW_BYTES: Final = 64 << 20  # between two looks at the clock
_FAST_NS: Final = _WINDOW_BYTES * 1_000 // WRITE_OUT_MB_PER_S
_IDLE_S: Final = 0.5


class WriteOut:
    """Of one process.

    begin   a file's descriptor, and up to where it is written out; may wait. raises OSError
    """

    def __init__(self, clock: Clock, begin: Callable[[int, int], None] = begin_write_out) -> None:
        self._clock = clock
        self._begin = begin
        self._bytes = 0  # since then
        self._since_ns = 0
        self._is_fast = False
        self._is_running = False
        self._waiting: SimpleQueue[tuple[int, int]] = SimpleQueue()

    def note(self, fd: int, end: int) -> None:
        """A segment grew by a part, and ends there."""
        self._bytes += min(end // 5, SEGMENT_RESERVE_BYTES_MAX)  # what it had in reserve was a quarter of what it was
        if self._bytes >= _WINDOW_BYTES:
            now_ns = self._clock.monotonic_ns()
            self._is_fast = now_ns - self._since_ns < _FAST_NS
            self._since_ns = now_ns
            self._bytes = 0
        if not self._is_fast or self._waiting.qsize() >= WRITE_OUT_WAITING_MAX:
            return
        self._waiting.put((fd, end))
        if not self._is_running:
            self._is_running = True
            try:
                threading.Thread(target=self._run, name="write-out", daemon=True).start()
            except RuntimeError:  # none is to be had: the kernel does as it always did
                self._is_running = False

    def _run(self) -> None:
        """In a thread. A descriptor may be another file's by now: that one is begun to be written out, or is none."""
        while True:
            try:
                fd, end = self._waiting.get(timeout=_IDLE_S)
            except Empty:
                self._is_running = False
                if self._waiting.empty():
                    return
                self._is_running = True
                continue
            with suppress(OSError):
                self._begin(fd, end)

"""Deadlines of a worker's coordinators: one heap. An entry that is cancelled stays in it until they are half of it.

A heartbeat moves a deadline by one store; the heap hears of it when the old entry comes up. Whoever is called
looks whether the deadline still stands. Who is gone cancels: clients choose how long a session and a rebalance may
last (weeks), and an entry holds its member and its group.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

# Called with (the object that was given, serial of the entry, now in ms).
OnTime = Callable[[Any, int, int], None]

CANCELLED_KEPT_MAX = 64


class Timers:
    """Entries (deadline, serial, callback, object), earliest first; equal deadlines in the order they were set."""

    __slots__ = ("_cancelled", "_entries", "_serial")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, OnTime, Any]] = []
        self._cancelled: set[int] = set()  # serials of entries
        self._serial = 0

    def __len__(self) -> int:
        return len(self._entries)

    def set(self, deadline_ms: int, on_time: OnTime, subject: Any) -> int:
        """Call `on_time` at `deadline_ms` or later; returns the entry's serial, never 0."""
        self._serial += 1
        heapq.heappush(self._entries, (deadline_ms, self._serial, on_time, subject))
        return self._serial

    def cancel(self, serial: int) -> None:
        """Forget an entry that has not come up; 0 is none."""
        if not serial:
            return
        cancelled = self._cancelled
        cancelled.add(serial)
        if len(cancelled) > max(CANCELLED_KEPT_MAX, len(self._entries) // 2):
            self._entries = [entry for entry in self._entries if entry[1] not in cancelled]
            heapq.heapify(self._entries)
            cancelled.clear()

    def next_ms(self) -> int | None:
        """When the next entry is due, None where there is none."""
        return self._entries[0][0] if self._entries else None

    def tick(self, now_ms: int) -> int:
        """Call what is due; returns how many entries were."""
        done = 0
        while self._entries and self._entries[0][0] <= now_ms:
            _deadline, serial, on_time, subject = heapq.heappop(self._entries)
            if serial in self._cancelled:
                self._cancelled.discard(serial)
                continue
            on_time(subject, serial, now_ms)
            done += 1
        return done

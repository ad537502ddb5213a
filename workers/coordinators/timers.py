"""Deadlines of a worker's coordinators: one heap, entries that are let go of instead of removed.

A heartbeat moves a deadline by one store; the heap hears of it when the old entry comes up. Whoever is called
looks whether the deadline still stands.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

# Called with (the object that was given, serial of the entry, now in ms).
OnTime = Callable[[Any, int, int], None]


class Timers:
    """Entries (deadline, serial, callback, object), earliest first; equal deadlines in the order they were set."""

    __slots__ = ("_entries", "_serial")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, OnTime, Any]] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self._entries)

    def set(self, deadline_ms: int, on_time: OnTime, subject: Any) -> int:
        """Call `on_time` at `deadline_ms` or later; returns the entry's serial, never 0."""
        self._serial += 1
        heapq.heappush(self._entries, (deadline_ms, self._serial, on_time, subject))
        return self._serial

    def next_ms(self) -> int | None:
        """When the next entry is due, None where there is none."""
        return self._entries[0][0] if self._entries else None

    def tick(self, now_ms: int) -> int:
        """Call what is due; returns how many entries were."""
        done = 0
        while self._entries and self._entries[0][0] <= now_ms:
            _deadline, serial, on_time, subject = heapq.heappop(self._entries)
            on_time(subject, serial, now_ms)
            done += 1
        return done

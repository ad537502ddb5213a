"""Deadlines of a worker's coordinators: one heap. An entry that is cancelled stays in it until they are half of it.

A heartbeat moves a deadline by one store; the heap hears of it when the old entry comes up. The coordinator that gets an
event looks whether its deadline still stands. It cancels what it does not want any more: clients choose how long a session
and a rebalance may last (weeks), and an entry holds its member and its group.
"""

from __future__ import annotations

import heapq
from typing import Any

from headrace.limits import CANCELLED_KEPT_MAX


class Timers:
    """Entries (deadline, serial, owner, event), earliest first; equal deadlines in the order of their serials."""

    __slots__ = ("_cancelled", "_entries")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, Any, Any]] = []
        self._cancelled: set[int] = set()  # serials of entries

    def __len__(self) -> int:
        return len(self._entries)

    def set(self, serial: int, deadline_ms: int, owner: Any, event: Any) -> None:
        """`event` is due for `owner` at `deadline_ms`; no other entry ever had this serial."""
        heapq.heappush(self._entries, (deadline_ms, serial, owner, event))

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

    def pop_due(self, now_ms: int) -> tuple[Any, Any] | None:
        """(owner, event) of the first entry that is due, None where none is."""
        while self._entries and self._entries[0][0] <= now_ms:
            _deadline, serial, owner, event = heapq.heappop(self._entries)
            if serial not in self._cancelled:
                return owner, event
            self._cancelled.discard(serial)
        return None

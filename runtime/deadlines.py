"""Deadlines of one process: a heap, earliest first. Purgatories and timers have one each.

Runs in: every process. An entry that is cancelled stays in the heap until it comes to its head, or until cancelled ones
are half of all: a client's request may be due in weeks, and an entry keeps its subject alive.

    entries     (deadline, serial, subject...), a heap; its head is never a cancelled one
    next_ms     the head's deadline, NEVER if there is none: one comparison for each cycle in which nothing is due

Bound: `entries_max`, cancelled ones that are still in the heap not counted.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVarTuple

from headrace.limits import CANCELLED_DEADLINES_MAX

NEVER: Final = 1 << 63

Subject = TypeVarTuple("Subject")


class Deadlines(Generic[*Subject]):
    """Entries with a subject of one or more parts; equal deadlines in the order of their serials.

    next_ms   when the first one is due, NEVER if there is none. Read-only
    """

    __slots__ = ("_cancelled", "_entries", "_entries_max", "_serial", "next_ms")

    def __init__(self, entries_max: int) -> None:
        self._entries: list[tuple[int, int, *Subject]] = []
        self._entries_max = entries_max
        self._cancelled: set[int] = set()  # serials of entries
        self._serial = 0
        self.next_ms = NEVER

    def __len__(self) -> int:
        """Entries in the heap, cancelled ones among them."""
        return len(self._entries)

    def schedule(self, deadline_ms: int, *subject: *Subject) -> int:
        """Add an entry; returns its serial, 0 if full."""
        entries = self._entries
        if len(entries) >= self._entries_max and not self._make_room():
            return 0
        self._serial = serial = self._serial + 1
        heappush(entries, (deadline_ms, serial, *subject))
        if deadline_ms < self.next_ms:
            self.next_ms = deadline_ms
        return serial

    def schedule_as(self, serial: int, deadline_ms: int, *subject: *Subject) -> bool:
        """Add an entry under a serial chosen by its owner, above 0 and unique; False if full.

        The owner then chooses all serials of this heap.
        """
        self._serial = serial - 1
        return self.schedule(deadline_ms, *subject) > 0

    def cancel(self, serial: int) -> None:
        """Cancel an entry that has not come up; 0: no entry."""
        entries = self._entries
        if not serial or not entries:
            return
        if entries[0][1] == serial:
            heappop(entries)
            self._uncover_head()
            return
        cancelled = self._cancelled
        cancelled.add(serial)
        if len(cancelled) > CANCELLED_DEADLINES_MAX and len(cancelled) > len(entries) // 2:
            self._sweep()

    def reschedule(self, serial: int, deadline_ms: int, *subject: *Subject) -> int:
        """Another deadline for an entry that has not come up; returns its new serial, 0 if full.

        For what moves with every request, store the deadline in the subject, and reschedule when the old one comes up.
        """
        self.cancel(serial)
        return self.schedule(deadline_ms, *subject)

    def pop_due(self, now_ms: int) -> tuple[int, int, *Subject] | None:
        """Take the first entry that is due, as (deadline, serial, subject...); None where none is."""
        if self.next_ms > now_ms:
            return None
        entry = heappop(self._entries)
        self._uncover_head()
        return entry

    def _uncover_head(self) -> None:
        """Drop what is cancelled from the head of the heap."""
        entries, cancelled = self._entries, self._cancelled
        while cancelled and entries and entries[0][1] in cancelled:
            cancelled.remove(heappop(entries)[1])
        self.next_ms = entries[0][0] if entries else NEVER

    def _make_room(self) -> bool:
        self._sweep()
        return len(self._entries) < self._entries_max

    def _sweep(self) -> None:
        """Drop everything that is cancelled."""
        cancelled = self._cancelled
        self._entries[:] = [entry for entry in self._entries if entry[1] not in cancelled]
        heapify(self._entries)
        cancelled.clear()

"""The time that coordinators are told: one for deadlines, which knows no date, and a date that never jumps.

Runs in: a partition worker. A session must not end because the clock was set, nor because the worker stood still while
heartbeats waited in its rings: a cycle counts as COORDINATOR_CYCLE_MS_MAX at most while sessions depend on it. Only the date follows the
wall clock: offsets are kept or expire by it, so a jump is made up for at half the pace of time.
"""

from __future__ import annotations

from headrace.limits import COORDINATOR_CYCLE_MS_MAX


class SteadyClock:
    """The time of this cycle.

    now_ms    for deadlines: begins with the date of the process's start, then follows the monotonic clock alone
    date_ms   for what is stored
    """

    __slots__ = ("_monotonic_ms", "date_ms", "now_ms")

    def __init__(self, date_ms: int) -> None:
        self.now_ms = self.date_ms = date_ms
        self._monotonic_ms = -1

    def turn(self, wall_ms: int, monotonic_ms: int, *, is_watched: bool) -> None:
        """A cycle begins.

        is_watched   whether sessions depend on this clock
        """
        if self._monotonic_ms < 0:
            self._monotonic_ms = monotonic_ms
        elapsed_ms, self._monotonic_ms = monotonic_ms - self._monotonic_ms, monotonic_ms
        if is_watched:
            elapsed_ms = min(elapsed_ms, COORDINATOR_CYCLE_MS_MAX)
        self.now_ms += elapsed_ms
        steady_ms = self.date_ms + elapsed_ms
        self.date_ms = steady_ms + max(-(elapsed_ms // 2), min(elapsed_ms // 2, wall_ms - steady_ms))

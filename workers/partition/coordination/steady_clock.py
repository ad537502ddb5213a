"""The time of coordinators: one for deadlines, which knows no date; the date for what is stored; and one by which offsets expire.

Runs in: a partition worker. A session must not end because the clock was set, nor because the worker was stalled while heartbeats
waited in its rings: a cycle counts as COORDINATOR_CYCLE_MS_MAX at most while sessions depend on it. What is stored has the date of
the wall clock, as in Kafka: a worker that started under a wrong one must not keep it. Nothing expires by a date that may be wrong
(`workers/expiry_clock.py`).
"""

from __future__ import annotations

from headrace.limits import COORDINATOR_CYCLE_MS_MAX
from headrace.shm.steady_date import SteadyDate


class SteadyClock:
    """The time of this cycle.

    now_ms      for deadlines: begins with the date of the process's start, then follows the monotonic clock alone
    date_ms     for what is stored: the wall clock's
    expiry_ms   by which retention is over: a clock that is set forward expires nothing at once, nor does one that was ahead
    """

    __slots__ = ("_monotonic_ms", "_steady", "date_ms", "expiry_ms", "now_ms")

    def __init__(self, date_ms: int, steady: SteadyDate) -> None:
        self.now_ms = self.date_ms = self.expiry_ms = date_ms
        self._steady = steady
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
        self.date_ms = wall_ms
        self.expiry_ms = min(wall_ms, self._steady.at_ms(monotonic_ms * 1_000_000))

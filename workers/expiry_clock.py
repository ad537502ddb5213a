"""The date by which stored records are over: a clock that is set forward expires nothing at once.

Of the wall clock's date and of a steady one the earlier one counts. The steady one begins with the date of the process's start and follows
the monotonic clock; it makes up for a difference at half the pace of time. So a date that is set eight days ahead by mistake takes
sixteen days to be believed, and is set back before. A process that starts believes the date that it finds.

Runs in: the housekeeper, for retention and compaction; a partition worker, for what its coordinators store. Apache Kafka goes by the wall
clock alone.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.clock import Clock

AHEAD_MS: Final = 3_600_000  # so far ahead the date is worth a line of the log

_log: Final = logging.getLogger(__name__)


def steady_after(steady_ms: int, wall_ms: int, elapsed_ms: int) -> int:
    """The steady date, so long after it was another; it comes closer to the wall clock's by half of that at most."""
    steady_ms += elapsed_ms
    return steady_ms + max(-(elapsed_ms // 2), min(elapsed_ms // 2, wall_ms - steady_ms))


class ExpiryClock:
    """One for a process. It may be asked at any time, seldom too."""

    __slots__ = ("_clock", "_is_ahead", "_monotonic_ms", "_steady_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._steady_ms = clock.now_ms()
        self._monotonic_ms = clock.monotonic_ns() // 1_000_000
        self._is_ahead = False

    def now_ms(self) -> int:
        """The date by which retention is over."""
        wall_ms, monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ns() // 1_000_000
        elapsed_ms, self._monotonic_ms = monotonic_ms - self._monotonic_ms, monotonic_ms
        self._steady_ms = steady_after(self._steady_ms, wall_ms, elapsed_ms)
        self._note_ahead(wall_ms - self._steady_ms)
        return min(wall_ms, self._steady_ms)

    def _note_ahead(self, ahead_ms: int) -> None:
        if (ahead_ms > AHEAD_MS) == self._is_ahead:
            return
        self._is_ahead = not self._is_ahead
        if self._is_ahead:
            _log.warning(
                "the date was set forward, retention follows at half the pace of time; a restart of the node believes it at once"
                " ahead_ms=%d", ahead_ms,
            )  # fmt: skip
        else:
            _log.info("retention goes by the date again")

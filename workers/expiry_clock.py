"""The date by which stored records are over: a clock that is set forward expires nothing at once.

Of the wall clock's date and the steady one of the node's life (`shm/steady_date.py`) the earlier one counts. So a date that is set eight
days ahead by mistake takes sixteen days to be believed, and is set back before. A process that is made in place of another one reads
the same steady date: no death of a process has a date believed.

Runs in: the housekeeper, for retention and compaction; a partition worker, for what its coordinators store. Apache Kafka goes by the wall
clock alone.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.clock import Clock
from headrace.shm.steady_date import SteadyDate

AHEAD_MS: Final = 3_600_000  # so far ahead the date is worth a line of the log

_log: Final = logging.getLogger(__name__)


class ExpiryClock:
    """One for a process. It may be asked at any time, seldom too."""

    __slots__ = ("_clock", "_is_ahead", "_steady")

    def __init__(self, clock: Clock, steady: SteadyDate) -> None:
        self._clock = clock
        self._steady = steady
        self._is_ahead = False

    def now_ms(self) -> int:
        """The date by which retention is over."""
        wall_ms, steady_ms = self._clock.now_ms(), self._steady.at_ms(self._clock.monotonic_ns())
        self._note_ahead(wall_ms - steady_ms)
        return min(wall_ms, steady_ms)

    def _note_ahead(self, ahead_ms: int) -> None:
        if (ahead_ms > AHEAD_MS) == self._is_ahead:
            return
        self._is_ahead = not self._is_ahead
        if self._is_ahead:
            _log.warning(
                "the system clock was set forward, retention follows at half speed; restart the node to accept the new time"
                " ahead_ms=%d", ahead_ms,
            )  # fmt: skip
        else:
            _log.info("retention follows the system clock again")

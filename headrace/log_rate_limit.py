"""Which of many log lines that say the same are written: four answers, one for each kind of repetition.

Runs in: every process. A peer, or a failure that repeats, must not fill the disk with log lines.

    is_worth_a_line    failures in a row               the 1st, 2nd, 4th, 8th, ...
    GrowingInterval    a condition that goes on        at once, then at intervals that double
    OncePerInterval    the same of many peers          once per interval for each, and so many lines in all
    LinesPerInterval   whatever a module writes        so many lines per interval, and how many were left out
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from headrace.backoff import Backoff
from headrace.limits import NOTICE_INTERVAL_MS, NOTICES_PER_INTERVAL_MAX

REMINDER_FIRST_MS: Final = 10_000
REMINDER_MAX_MS: Final = 600_000
_NS_PER_MS: Final = 1_000_000


def is_worth_a_line(count: int, first: int = 0) -> bool:
    """Whether the failure with this number is logged: each power of two from `first` on, and 0."""
    return count >= first and not count & (count - 1)


class GrowingInterval:
    """When to write again that a condition goes on."""

    __slots__ = ("_due_ns", "_intervals")

    def __init__(self) -> None:
        self._intervals = Backoff(REMINDER_FIRST_MS, REMINDER_MAX_MS)
        self._due_ns = 0

    def reset(self) -> None:
        """The condition is over."""
        self._due_ns = 0
        self._intervals.reset()

    def is_due(self, now_ns: int) -> bool:
        """Whether to write a line now; a line that is due counts as written."""
        if now_ns < self._due_ns:
            return False
        self._due_ns = now_ns + self._intervals.next_ms() * _NS_PER_MS
        return True


class OncePerInterval:
    """Which peers were already named, one of these for one kind of line.

    A peer is a host with a client id: two applications of one host are two peers. Client ids are chosen by clients, so the
    lines of one interval are bounded in all, and so are the names that are kept.
    """

    __slots__ = ("_written_ms",)

    def __init__(self) -> None:
        self._written_ms: OrderedDict[tuple[str, str], int] = OrderedDict()  # peer -> when, oldest first

    def is_due(self, host: str, client_id: str | None, now_ms: int) -> bool:
        """Whether to write a line now; a line that is due counts as written.

        now_ms   monotonic
        """
        written = self._written_ms
        while written and now_ms - next(iter(written.values())) >= NOTICE_INTERVAL_MS:
            written.popitem(last=False)
        peer = (host, client_id or "")
        if peer in written or len(written) >= NOTICES_PER_INTERVAL_MAX:
            return False
        written[peer] = now_ms
        return True


class LinesPerInterval:
    """How many lines of each kind came in their interval. The caller bounds the kinds."""

    __slots__ = ("_counts", "_interval_s")

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._counts: dict[Hashable, tuple[float, int]] = {}  # kind -> (when its interval began, lines since)

    def count(self, kind: Hashable, now_s: float) -> tuple[int, int]:
        """(number of this line in its interval, lines of the interval before where this one begins the next, else 0)

        now_s   a clock that was set back begins another interval
        """
        begun_s, lines = self._counts.get(kind, (now_s, 0))
        before = 0
        if not 0 <= now_s - begun_s < self._interval_s:
            begun_s, lines, before = now_s, 0, lines
        self._counts[kind] = (begun_s, lines + 1)
        return lines + 1, before

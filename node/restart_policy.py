"""When a dead process starts again, and when a silent one is ended: pure functions of numbers.

The first restart is immediate. A process that dies again before it has served for QUIET_MS waits
RESTART_BACKOFF_FIRST_MS, doubled each time up to RESTART_BACKOFF_MAX_MS. One that served longer starts from the
beginning; how long it took to get there does not count, so that a death at the end of a long recovery is one in a row.
"""

from __future__ import annotations

from headrace.backoff import pause_after
from headrace.limits import RESTART_BACKOFF_FIRST_MS, RESTART_BACKOFF_MAX_MS

QUIET_MS = 500


def backoff_ms(deaths_in_a_row: int) -> int:
    """Wait before the next start; `deaths_in_a_row` is 1 for the first death."""
    assert deaths_in_a_row >= 1
    if deaths_in_a_row == 1:
        return 0
    return pause_after(deaths_in_a_row - 1, RESTART_BACKOFF_FIRST_MS, RESTART_BACKOFF_MAX_MS)


def deaths_in_a_row(before: int, served_ms: int) -> int:
    """The count after a death."""
    return before + 1 if served_ms < QUIET_MS else 1


def is_settled(deaths: int, ready_ns: int, heartbeat_ns: int, now_ns: int) -> bool:
    """Whether a process may be counted on: it has turned once since we saw that it serves, and, where it died before,
    has served for a while."""
    if not ready_ns or heartbeat_ns <= ready_ns:
        return False
    return not deaths or now_ns - ready_ns >= QUIET_MS * 1_000_000


def is_hung(started_ns: int, heartbeat_ns: int, now_ns: int, timeout_ms: int) -> bool:
    """Whether a process has given no sign of life for too long.

    started_ns     its start counts as the first sign
    heartbeat_ns   0 before its first turn
    """
    return now_ns - max(started_ns, heartbeat_ns) > timeout_ms * 1_000_000

"""When a dead process starts again, and when a silent one is ended: pure functions of numbers.

The first restart is immediate. A process that dies again within QUIET_MS of its start waits
RESTART_BACKOFF_FIRST_MS, doubled each time up to RESTART_BACKOFF_MAX_MS. One that lived longer starts from the
beginning.
"""

from __future__ import annotations

from headrace.limits import RESTART_BACKOFF_FIRST_MS, RESTART_BACKOFF_MAX_MS

QUIET_MS = 500
_DOUBLINGS_MAX = (RESTART_BACKOFF_MAX_MS // RESTART_BACKOFF_FIRST_MS).bit_length()


def backoff_ms(deaths_in_a_row: int) -> int:
    """Wait before the next start; `deaths_in_a_row` is 1 for the first death."""
    assert deaths_in_a_row >= 1
    if deaths_in_a_row == 1:
        return 0
    return min(RESTART_BACKOFF_FIRST_MS << min(deaths_in_a_row - 2, _DOUBLINGS_MAX), RESTART_BACKOFF_MAX_MS)


def deaths_in_a_row(before: int, lived_ms: int) -> int:
    """The count after a death."""
    return before + 1 if lived_ms < QUIET_MS else 1


def is_hung(started_ns: int, heartbeat_ns: int, now_ns: int, timeout_ms: int) -> bool:
    """Whether a process has given no sign of life for too long.

    started_ns     its start counts as the first sign
    heartbeat_ns   0 before its first turn
    """
    return now_ns - max(started_ns, heartbeat_ns) > timeout_ms * 1_000_000

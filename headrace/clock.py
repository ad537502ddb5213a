"""Time, passed in. The core never asks the operating system for it."""

from __future__ import annotations

import time
from typing import Final, Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall clock, milliseconds since the epoch."""

    def monotonic_ns(self) -> int:
        """Monotonic clock, nanoseconds; the same in every process of one boot: for deadlines."""


_time_ns: Final = time.time_ns
_monotonic_ns: Final = time.monotonic_ns


def read_wall_ns() -> int:
    """CLOCK_REALTIME, nanoseconds since the epoch."""
    return _time_ns()


def read_monotonic_ns() -> int:
    """CLOCK_MONOTONIC, nanoseconds."""
    return _monotonic_ns()


class SystemClock:
    """The operating system's clocks (CLOCK_REALTIME and CLOCK_MONOTONIC)."""

    __slots__ = ()

    def now_ms(self) -> int:
        return read_wall_ns() // 1_000_000

    def monotonic_ns(self) -> int:
        return read_monotonic_ns()

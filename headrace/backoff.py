"""How long to wait before the next try: a first pause, doubled with each failure in a row, up to a longest one.

Runs in: every process and every client. Pure: chance is passed in.

    failures in a row     1       2         3         ...
    pause                 first   2 first   4 first   ... most

Jitter keeps many that failed together from trying again together.
Source: Kafka `ExponentialBackoff`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

DOUBLINGS: Final = 40  # more give no longer pause, only larger numbers

Number = TypeVar("Number", int, float)


def pause_after(failures: int, first: Number, most: Number) -> Number:
    """The pause after this number of failures in a row, 1 for the first one; in the unit of `first` and `most`."""
    return min(first * (1 << min(max(0, failures - 1), DOUBLINGS)), most)


def jittered(pause: float, jitter: float, chance: Callable[[], float]) -> float:
    """The pause, longer or shorter by a share of it.

    jitter   the largest share, either way
    chance   gives numbers in [0, 1)
    """
    return pause * (1 + jitter * (2 * chance() - 1))


class Backoff:
    """The pauses of one thing that is tried again and again.

    failures   in a row
    """

    __slots__ = ("_chance", "_first_ms", "_jitter", "_most_ms", "failures")

    def __init__(
        self, first_ms: int, most_ms: int, jitter: float = 0.0, chance: Callable[[], float] | None = None
    ) -> None:
        assert chance is not None or not jitter
        self.failures = 0
        self._first_ms = first_ms
        self._most_ms = most_ms
        self._jitter = jitter
        self._chance = chance

    def next_ms(self) -> int:
        """It failed once more: how long to wait."""
        self.failures += 1
        pause_ms = pause_after(self.failures, self._first_ms, self._most_ms)
        if self._chance is None:
            return pause_ms
        return max(1, round(jittered(pause_ms, self._jitter, self._chance)))

    def reset(self) -> None:
        """It succeeded: the next pause is the first one."""
        self.failures = 0

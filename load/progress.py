"""How far a load is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """At one moment.

    offsets        to read in all, as far as it is known
    offsets_done   read and written, committed or not
    rows           written; fewer than offsets in compacted and transactional topics
    elapsed_s      since the load began, or since it had work again
    """

    offsets: int
    offsets_done: int
    rows: int
    commits: int
    elapsed_s: float

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """An estimate; None where nothing is done yet."""
        if not self.offsets_done:
            return None
        return (self.offsets - self.offsets_done) * self.elapsed_s / self.offsets_done

    def text(self) -> str:
        left = "" if self.left_s is None else f", {self.left_s:.0f} s left"
        return f"{self.rows:,} records, {self.offsets_done:,} of {self.offsets:,} offsets, {self.rows_per_s:,.0f} records/s{left}"


class ProgressMeter:
    """Counts, and tells a listener."""

    def __init__(self, tell: Callable[[Progress], None] | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._begun_s = clock()
        self._offsets = self._done = self._rows = self._commits = 0

    def expect(self, offsets: int) -> None:
        """What is still to be read; a pause since the last ones were done does not count."""
        if self._done >= self._offsets:
            self._begun_s, self._done, self._rows = self._clock(), 0, 0
        self._offsets = self._done + offsets

    def loaded(self, offsets: int, rows: int) -> None:
        self._done += offsets
        self._rows += rows
        self._said()

    def committed(self) -> None:
        self._commits += 1
        self._said()

    def _said(self) -> None:
        if self._tell is not None:
            self._tell(Progress(self._offsets, self._done, self._rows, self._commits, self._clock() - self._begun_s))

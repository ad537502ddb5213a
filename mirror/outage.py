"""How long a source that does not respond is left alone: ten times as long as the try took. Pure.

A mirror copies from all its sources in one loop, and a try blocks it. So a source that is away takes a tenth of the loop's time at most,
whether its host refuses connections at once or lets them time out.

These may try: the discovery, the steward, the reader of the source. What one of them finds holds for all.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.limits import MIRROR_AWAY_S_MAX

SHARE = 10  # of the time that a try took, until the next one
AWAY_FIRST_S = 0.2


class Outage:
    """Of one source."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self.clock_s = clock_s
        self.reason = ""  # of the last try; empty: it responded
        self._due_s = 0.0

    @property
    def may_try(self) -> bool:
        return self.clock_s() >= self._due_s

    def failed(self, begun_s: float, failure: HeadraceError) -> None:
        """A try that began at this time got no response."""
        now_s = self.clock_s()
        self.reason = str(failure)
        self._due_s = now_s + min(max(SHARE * (now_s - begun_s), AWAY_FIRST_S), MIRROR_AWAY_S_MAX)

    def ended(self) -> None:
        self.reason = ""
        self._due_s = 0.0

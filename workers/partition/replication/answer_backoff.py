"""How long a leader is not asked, after answers that were of no use as a whole.

    1st in a row   asked again at once
    2nd, 3rd, ...  FETCH_PAUSE_FIRST_MS, doubled, up to `replica.fetch.backoff.ms`

Pure. Source: Kafka `AbstractFetcherThread.doWork`, `fetchBackOffMs`.
"""

from __future__ import annotations

from headrace.backoff import pause_after
from headrace.limits import FETCH_PAUSE_FIRST_MS


class AnswerBackoff:
    """Of one leader.

    until_ms   nothing is asked before; 0: the pause is over
    """

    __slots__ = ("_backoff_ms", "_failures", "until_ms")

    def __init__(self, backoff_ms: int) -> None:
        self.until_ms = 0
        self._backoff_ms = backoff_ms
        self._failures = 0  # in a row

    def is_over(self, now_ms: int) -> bool:
        """Whether the leader may be asked."""
        if now_ms >= self.until_ms:
            self.until_ms = 0
        return not self.until_ms

    def note_failure(self, now_ms: int, least_ms: int) -> None:
        """A whole answer was of no use. The pause has this length at least."""
        if self._failures or least_ms:
            pause_ms = pause_after(self._failures + 1, FETCH_PAUSE_FIRST_MS, self._backoff_ms)
            self.until_ms = now_ms + max(pause_ms, least_ms)
        self._failures += 1

    def note_success(self) -> None:
        """An answer was of use."""
        self._failures = 0

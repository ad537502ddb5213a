"""What failed is left alone for a while, longer each time, and everything else continues.

Runs in: the housekeeper. One partition whose files make no sense must not end a pass over the others, one pass must not
end the housekeeper: it would be started again, and meet the same files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

from headrace.backoff import pause_after
from headrace.clock import Clock
from headrace.errors import ConfigError, Fenced
from headrace.limits import QUARANTINE_ENTRIES_MAX, QUARANTINE_FIRST_MS, QUARANTINE_MAX_MS

_log = logging.getLogger(__name__)


class Quarantine:
    """Jobs by key. A key that is new, or did well the last time, is run at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed: dict[Hashable, tuple[int, int]] = {}  # key -> (failures in a row, not before this time)

    def run(self, key: Hashable, what: object, job: Callable[..., object], *args: object) -> bool:
        """Do a job unless it is in quarantine.

        what      names it in the log
        returns   whether it was done
        raises    Fenced, ConfigError: the process has to end
        """
        failures, until_ms = self._failed.get(key, (0, 0))
        now_ms = self._clock.monotonic_ns() // 1_000_000
        if failures and now_ms < until_ms:
            return False
        try:
            job(*args)
        except (Fenced, ConfigError):
            raise
        except Exception:
            failures += 1
            wait_ms = pause_after(failures, QUARANTINE_FIRST_MS, QUARANTINE_MAX_MS)
            self._failed.pop(key, None)
            self._failed[key] = (failures, now_ms + wait_ms)
            if len(self._failed) > QUARANTINE_ENTRIES_MAX:
                del self._failed[next(iter(self._failed))]
            _log.exception(
                "housekeeping task failed, others continue what=%s failures=%d retry_in_ms=%d",
                what,
                failures,
                wait_ms,
            )
            return False
        self._failed.pop(key, None)
        return True

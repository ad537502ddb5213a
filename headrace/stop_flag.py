"""How a child of the supervisor hears that it should stop: a flag, looked at in its cycle.

Runs in: every child. Ctrl-C is the supervisor's affair.
"""

from __future__ import annotations

import signal


class StopFlag:
    """`is_set` from SIGTERM on; SIGINT is ignored. To be made in the main thread."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False
        signal.signal(signal.SIGTERM, self._set)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _set(self, _signal: int, _frame: object) -> None:
        self.is_set = True

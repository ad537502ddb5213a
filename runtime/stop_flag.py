"""How a child of the supervisor hears that it should stop: a flag, checked in its cycle.

Runs in: every child. Ctrl-C is the supervisor's affair.
"""

from __future__ import annotations

import signal
from collections.abc import Callable


class Stopped(BaseException):
    """SIGTERM came during a long operation. Passes through handlers of failures, as KeyboardInterrupt does."""


class StopFlag:
    """`is_set` from SIGTERM on; SIGINT is ignored. To be made in the main thread.

    wake   called by the handler, to end a sleep
    """

    __slots__ = ("_wake", "is_set")

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self.is_set = False
        self._wake = wake
        signal.signal(signal.SIGTERM, self._set)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def check(self) -> None:
        """For what takes longer than a cycle should. raises Stopped"""
        if self.is_set:
            raise Stopped("SIGTERM")

    def _set(self, _signal: int, _frame: object) -> None:
        self.is_set = True
        self._wake()

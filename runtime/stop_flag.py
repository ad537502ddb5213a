"""How a child of the supervisor hears that it should stop: a flag, checked in its cycle.

Runs in: every child. Ctrl-C is the supervisor's affair.

Never compiled (`tools/native/core.py`): Python runs a handler between two of its own instructions, and where a cycle is compiled from
end to end there are none. A SIGTERM that arrived outside of a system call was not heard then. The property is what a cycle has of them.
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

    __slots__ = ("_is_set", "_wake")

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._is_set = False
        self._wake = wake
        signal.signal(signal.SIGTERM, self._set)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    @property
    def is_set(self) -> bool:
        """Whether SIGTERM came: its handler runs here, if it has not yet."""
        return self._is_set

    def check(self) -> None:
        """For what takes longer than a cycle should. raises Stopped"""
        if self._is_set:
            raise Stopped("SIGTERM")

    def _set(self, _signal: int, _frame: object) -> None:
        self._is_set = True
        self._wake()

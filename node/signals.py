"""Signals of the supervisor: a flag, and a descriptor that wakes its loop.

Runs in: the supervisor. The handlers only note what came; the C-level wakeup descriptor makes `wait` return.
A fork happens with these signals blocked, so that none of them can run our handler in a child, where its flag
would be lost: one that comes early finds the default action.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.node.early_stop import is_early_handler

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
HANDLED = (*STOP_SIGNALS, signal.SIGHUP, signal.SIGCHLD)
DRAIN_BYTES = 4096


class SignalInbox:
    """Handlers are in place between `__enter__` and `__exit__`; the earlier ones come back after that, but for those of a
    stop before the start (`early_stop.py`): the signals are ignored then, the process ends anyway.

    hang_up_stops   whether SIGHUP asks for a stop (the terminal is gone) or for a reload
    stop_signal     name of the first signal that asked for a stop, or None
    """

    def __init__(self, hang_up_stops: bool = True) -> None:
        self.stop_signal: str | None = None
        self._hang_up_stops = hang_up_stops
        self._is_reload_asked = False
        self._reading, self._writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._reading, select.POLLIN)

    def __enter__(self) -> SignalInbox:
        self._wakeup_before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._handlers_before = {
            number: signal.signal(number, self._note)
            for number in HANDLED
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN  # nohup ignores it for us
        }
        return self

    def __exit__(self, *_failure: object) -> None:
        for number, handler in self._handlers_before.items():
            signal.signal(number, signal.SIG_IGN if is_early_handler(handler) else handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reading)
        os.close(self._writing)

    def wait(self, timeout_ms: int) -> None:
        """Sleep until a signal comes, or the time is over."""
        if self._poll.poll(timeout_ms):
            os.read(self._reading, DRAIN_BYTES)

    def take_reload(self) -> bool:
        """Whether a reload was asked for since the last call."""
        asked, self._is_reload_asked = self._is_reload_asked, False
        return asked

    def forget_in_child(self) -> None:
        """Default actions in a process just forked; SIGINT is ignored: a terminal sends it to everyone."""
        signal.set_wakeup_fd(-1)
        for number in HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.close(self._reading)
        os.close(self._writing)

    def _note(self, number: int, _frame: object) -> None:
        if number == signal.SIGHUP and not self._hang_up_stops:
            self._is_reload_asked = True
        elif number != signal.SIGCHLD and self.stop_signal is None:
            self.stop_signal = signal.Signals(number).name


@contextmanager
def blocked() -> Iterator[None]:
    """No handled signal is delivered inside; what came meanwhile is delivered after."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

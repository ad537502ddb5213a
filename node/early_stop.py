"""A stop that comes before the node has its signal inbox: while it is imported, or its settings are read.

Runs in: the process that becomes the supervisor. What a signal means depends on how far it is:

    no inbox yet          the process exits at once, with 0: there are no regions yet, locks end with it, and so
                          does the ZooKeeper of `headrace dev`, which may be killed at any time
    the inbox is there    it notes the signal (`signals.py`)
    it was closed         nothing: the node has stopped, and its exit code must be returned

SIGHUP asks `headrace start` for a reload: of settings that it is about to read, so it is ignored here.
It imports nothing of ours but the exit codes: all that is imported before the handlers is time without them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from headrace import exit_codes

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
STDERR_FD = 2


@contextmanager
def heard(hang_up_stops: bool) -> Iterator[None]:
    """From now on a stop ends the process with 0. Inside of it the node is run.

    hang_up_stops   whether SIGHUP is a stop
    """
    before = {
        number: signal.signal(number, _end if number != signal.SIGHUP or hang_up_stops else _do_nothing)
        for number in SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup ignores SIGHUP for us
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            if is_early_handler(signal.getsignal(number)):
                signal.signal(number, handler)


def is_early_handler(handler: object) -> bool:
    """Whether a signal's handler is one of these."""
    return handler in (_end, _do_nothing)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    line = f"headrace: stopped by {signal.Signals(number).name} before the node was started\n"
    try:
        os.write(STDERR_FD, line.encode())
    except OSError:
        pass  # standard error is closed
    os._exit(exit_codes.CLEAN)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Not SIG_IGN, which would tell the inbox that nohup is above us."""

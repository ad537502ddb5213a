"""Ctrl-C and SIGTERM as a flag, so that work ends between two steps and not inside of one.

The first signal sets the flag and wakes a wait on `fd`; inside `at_once`, around a wait that may last, it
raises. A second one ends the program at once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

EXIT_SIGNAL_BASE = 128


class Interrupt:
    """A context in which signals wait for us.

    signal_number   of the signal that came, 0: none
    fd              readable once one came
    """

    def __init__(self) -> None:
        self.signal_number = 0
        self.fd, self._write_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[int, object] = {}
        self._raises = False

    def __enter__(self) -> Interrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self.fd)
        os.close(self._write_fd)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Around a wait that nothing but its answer ends: a signal raises KeyboardInterrupt there."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def __bool__(self) -> bool:
        return bool(self.signal_number)

    @property
    def exit_code(self) -> int:
        """As a shell reports a program that the signal ended; 0 where none came."""
        return EXIT_SIGNAL_BASE + self.signal_number if self.signal_number else 0

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.signal_number:
            raise KeyboardInterrupt
        self.signal_number = number
        os.write(self._write_fd, b"\0")
        if self._raises:
            raise KeyboardInterrupt

"""Standard streams that were closed when the program began (`>&-`): a socket or a log must not become number 0, 1 or 2.

Standard output is opened so that a write fails, as it does for every other program: output that can't be read is not a success. Standard
error is thrown away: an error must not become output.
"""

from __future__ import annotations

import os
import sys

STDIN_FD, STDOUT_FD, STDERR_FD = 0, 1, 2
_FLAGS = {STDIN_FD: os.O_WRONLY, STDOUT_FD: os.O_RDONLY, STDERR_FD: os.O_WRONLY}


def occupy_closed_streams() -> frozenset[int]:
    """Put /dev/null where a stream is closed; `sys.stdin` stays None there, the other two become files. Returns those that were closed."""
    closed = frozenset(fd for fd in _FLAGS if not _is_open(fd))
    for fd in sorted(closed):  # open takes the smallest that is free
        os.open(os.devnull, _FLAGS[fd])
        os.set_inheritable(fd, True)
    if sys.stdout is None:
        sys.stdout = os.fdopen(STDOUT_FD, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(STDERR_FD, "w", closefd=False)
    return closed


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True

"""Processes that tests start: none outlives the tests, however those end.

A test that fails ends its processes itself. For tests that are killed, each child asked the kernel for a signal at the
death of its parent: SIGTERM, so that a node stops in order and takes its shared memory along.
"""

import ctypes
import os
import signal
import subprocess

from tests.support.waiting import DEADLINE_S

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent(parent, number=signal.SIGTERM):
    """In a child just forked: ask for a signal at the parent's death. False, where that has come already."""
    _libc.prctl(_PR_SET_PDEATHSIG, number)
    return os.getppid() == parent


def start(command, **options):
    """`subprocess.Popen` of a command that gets SIGTERM when this process dies."""
    parent = os.getpid()
    return subprocess.Popen(command, preexec_fn=lambda: die_with_parent(parent) or os._exit(1), **options)


def end(process):
    """SIGTERM, and SIGKILL where that does not help; returns the exit code."""
    process.terminate()
    try:
        return process.wait(DEADLINE_S)
    except BaseException as failure:
        process.kill()
        code = process.wait()
        if not isinstance(failure, subprocess.TimeoutExpired):
            raise
        return code

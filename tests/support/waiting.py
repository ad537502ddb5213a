"""Waits of the tests: for a state, and not for a time.

A wait has a deadline only so that a state that never comes is a failure with a reason. No passing run comes near it,
on whatever machine, so that it says nothing about speed.
"""

import os
import signal
import time
from pathlib import Path

DEADLINE_S = 60.0
LOOK_S = 0.01  # between the first looks; a wait that has lasted looks less often, for some conditions read whole logs
LOOK_SHARE = 20  # of what has passed
LOOK_MAX_S = 0.2


def wait_until(condition, complaint="not in time"):
    """Look again and again; the first value that is true is returned.

    complaint   what the failure says: a text, or a function that tells what is there instead
    raises      AssertionError, after DEADLINE_S
    """
    began = time.monotonic()
    deadline = began + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, complaint() if callable(complaint) else complaint
        time.sleep(min(max(LOOK_S, (time.monotonic() - began) / LOOK_SHARE), LOOK_MAX_S))
    return found


def stop_whole(pid):
    """SIGSTOP, and wait until each thread has stopped: `kill` returns before they have, and a JVM has many."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: {_state_of(thread) for thread in Path(f"/proc/{pid}/task").iterdir()} == {"T"})


def _state_of(thread):
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]

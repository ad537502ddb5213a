"""A process that runs tasks for a loader on the same host: `python -m headrace.load.task_worker`.

It gets the job and then one task after the other on standard input, and sends each result on what was standard output. It
inherits the loader's lock (`runs.py`), and dies with it: the kernel sends SIGKILL, and standard input ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any

from headrace.client.connection import ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.load.frames import encoded, read_message

PR_SET_PDEATHSIG = 1


def main() -> int:
    """raises   nothing: what a task raises is its result"""
    parent = int(sys.argv[1])
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's, for the driver
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    try:
        job = read_message(requests)
        while True:
            task = read_message(requests)
            answers.write(encoded(_answer(job, task)))
            answers.flush()
    except (EOFError, BrokenPipeError):
        return 0


def _answer(job: Any, task: Any) -> Any:
    """("done", result) or ("failed", text, whether another attempt may succeed)."""
    from headrace.load.task import run_task

    try:
        return ("done", run_task(job, *task))
    except Exception as failure:
        return ("failed", f"{type(failure).__name__}: {failure}", _may_pass(failure))


def _may_pass(failure: Exception) -> bool:
    if isinstance(failure, KafkaError):
        return failure.code.retriable and failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return isinstance(failure, ConnectionFailed)


if __name__ == "__main__":
    sys.exit(main())

"""A loader's own task workers: processes on this host, no JVM.

A worker that dies in a task, killed or out of memory, is replaced, and the range is given to another attempt, LOAD_TASK_ATTEMPTS_MAX
times; so is a range whose broker was unavailable. Any other failure ends the round.
"""

from __future__ import annotations

import logging
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from headrace.arrow.offset_range import OffsetRange
from headrace.limits import LOAD_TASK_ATTEMPTS_MAX
from headrace.load.data_files import Attempt
from headrace.load.errors import TaskFailed
from headrace.load.frames import FrameBuffer, encoded
from headrace.load.task import Job, TaskResult

RECEIVE_BYTES = 1 << 20
POLL_S = 0.2

_log = logging.getLogger("headrace.load")


class _Worker:
    """One process, and the task that it has."""

    def __init__(self, job: Job, lock: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace.load.task_worker", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(lock,),
        )
        self.received = FrameBuffer()
        self.task: tuple[OffsetRange, Attempt] | None = None
        self.send(job)

    def send(self, message: object) -> None:
        """A worker that is gone is seen when its output ends."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(encoded(message))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def fileno(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def end(self) -> None:
        """SIGKILL: what it was writing is not committed."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class TaskPool:
    """At most `count` workers, started when there is work.

    dead_attempts   whose workers died, so that what they left may be removed
    """

    def __init__(self, job: Job, run_id: str, lock: int, count: int) -> None:
        self._job = job
        self._run_id = run_id
        self._lock = lock
        self._count = count
        self._workers: list[_Worker] = []
        self._next_attempt = 0
        self.dead_attempts: list[Attempt] = []

    def pids(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    def run(self, ranges: Sequence[OffsetRange], is_stopped: Callable[[], bool]) -> Iterator[TaskResult]:
        """Results in the order in which they come; ends early where it is stopped.

        raises   TaskFailed
        """
        due = [(one, 1) for one in reversed(ranges)]
        tries: dict[Attempt, int] = {}
        left = len(due)
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker, selectors.EVENT_READ)
            while left:
                self._give(due, tries, selector)
                for key, _events in selector.select(timeout=POLL_S):
                    worker = cast(_Worker, key.fileobj)
                    for answer in self._answers(worker, selector, due, tries):
                        left -= 1
                        yield answer
                if is_stopped():
                    return

    def _give(
        self, due: list[tuple[OffsetRange, int]], tries: dict[Attempt, int], selector: selectors.BaseSelector
    ) -> None:
        """A task to each idle worker; new workers where there is more work."""
        idle = [worker for worker in self._workers if worker.task is None]
        while due and (idle or len(self._workers) < self._count):
            if not idle:
                idle.append(_Worker(self._job, self._lock))
                self._workers.append(idle[-1])
                selector.register(idle[-1], selectors.EVENT_READ)
            worker = idle.pop()
            one, tried = due.pop()
            attempt = Attempt(self._run_id, self._next_attempt)
            self._next_attempt += 1
            tries[attempt] = tried
            worker.task = (one, attempt)
            worker.send(worker.task)

    def _answers(
        self,
        worker: _Worker,
        selector: selectors.BaseSelector,
        due: list[tuple[OffsetRange, int]],
        tries: dict[Attempt, int],
    ) -> Iterator[TaskResult]:
        data = os.read(worker.fileno(), RECEIVE_BYTES)
        if not data:
            selector.unregister(worker)
            worker.end()
            self._workers.remove(worker)
            if worker.task is not None:
                self.dead_attempts.append(worker.task[1])
                self._again(worker.task, f"its worker ended with {worker.process.returncode}", False, due, tries)
            return
        for answer in worker.received.add(data):
            assert worker.task is not None
            task, worker.task = worker.task, None
            if answer[0] == "done":
                yield answer[1]
            elif answer[2]:
                self._again(task, answer[1], True, due, tries)
            else:
                raise TaskFailed(f"{_said(task[0])}: {answer[1]}")

    def _again(
        self,
        task: tuple[OffsetRange, Attempt],
        reason: str,
        may_pass: bool,
        due: list[tuple[OffsetRange, int]],
        tries: dict[Attempt, int],
    ) -> None:
        """raises   TaskFailed, at the last attempt"""
        tried = tries[task[1]]
        if tried >= LOAD_TASK_ATTEMPTS_MAX:
            raise TaskFailed(f"{_said(task[0])} failed {tried} times, the last time: {reason}", may_pass)
        _log.warning("retrying task of %s: %s", _said(task[0]), reason)
        due.append((task[0], tried + 1))

    def abandon(self) -> None:
        """End the workers that have a task; what those left may be removed."""
        for worker in [one for one in self._workers if one.task is not None]:
            assert worker.task is not None
            self.dead_attempts.append(worker.task[1])
            worker.end()
            self._workers.remove(worker)

    def close(self) -> None:
        """End all workers."""
        self.abandon()
        for worker in self._workers:
            worker.end()
        self._workers = []


def _said(one: OffsetRange) -> str:
    return f"{one.topic}-{one.partition} {one.start}..{one.end}"

"""A session for who may wait: tools and tests, which have no duty cycle.

Runs in: none of the node's processes once they serve; the embedded ZooKeeper's start, and tests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from headrace.controller.zookeeper.errors import ZkLost
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.session_file import SessionFile
from headrace.runtime.tasks import Tasks

READY_PATH = "/headrace-ready"
STEP_MS = 50

T = TypeVar("T")


class BlockingSession:
    """A session whose calls are waited for: `run(session.zk.get(path))`."""

    def __init__(self, connect: str, timeout_ms: int, session_file: SessionFile | None = None) -> None:
        self._event = threading.Event()
        self.tasks = Tasks(lambda: time.monotonic_ns() // 1_000_000, ZkLost)
        self.zk = ZkSession(connect, timeout_ms, session_file, self.tasks, self._event.set)

    def start(self, timeout_s: float) -> None:
        """Connect, and wait for it; raises ZkLost, where no server answers in time."""
        self.zk.start(timeout_s)

    def run(self, coroutine: Coroutine[Any, None, T]) -> T:
        """Wait for what a procedure brings; raises what it raises."""
        task = self.tasks.start(coroutine, lambda _task: None)
        while not task.is_done:
            self._event.clear()
            if not self.zk.take_replies() + self.tasks.run(STEP_MS):
                self._event.wait(STEP_MS / 1000)
        return task.result()

    def stop(self) -> None:
        self.zk.stop()


def wait_until_ready(connect: str, timeout_s: float) -> None:
    """Return when a session can write: a port that listens would not tell. For tests and tools.

    raises   ZkLost, where it can't in time
    """
    session = BlockingSession(connect, 10_000)
    session.start(timeout_s)
    try:
        session.run(session.zk.ensure(READY_PATH))
        session.run(session.zk.delete(READY_PATH))
    finally:
        session.stop()

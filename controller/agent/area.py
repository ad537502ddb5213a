"""What is read again together, when a watch has fired: by one task at a time.

Runs in: the controller process of every node.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from headrace.controller.zookeeper.errors import ZkError
from headrace.limits import FOLLOW_PAUSE_MS_MAX
from headrace.runtime.tasks import Task, Tasks

RETRY_MS = 200  # between two tries of what ZooKeeper did not answer
PAUSE_FACTOR = 4  # an area that took so long rests for so many times that


class Superseded(ZkError):
    """Everything is read again: what this task was about to find is found by that."""


class Area:
    """One area.

    follow   the procedure, given the paths that changed
    on_end   called with of a failure, None: it went through
    paces    whether it rests in proportion to what it took: its watch may fire for each of thousands
    """

    def __init__(
        self,
        follow: Callable[[list[str]], Coroutine[Any, None, None]],
        on_end: Callable[[BaseException | None], None],
        paces: bool = False,
    ) -> None:
        self.due_ms = 0
        self._paths: dict[str, None] = {}  # that changed
        self._follow = follow
        self._on_end = on_end
        self._paces = paces
        self._task: Task[None] | None = None
        self._begun_ms = 0

    def note(self, path: str) -> None:
        """A watch has fired."""
        self._paths[path] = None

    def is_waiting(self, has_more: bool = False) -> bool:
        """Whether there is something to follow, and nobody does.

        has_more   beside paths that changed
        """
        return self._task is None and (bool(self._paths) or has_more)

    def start(self, tasks: Tasks, now_ms: Callable[[], int]) -> None:
        """Follow all that has changed so far."""
        paths, self._paths = list(self._paths), {}
        self._begun_ms = now_ms()
        self._task = tasks.start(self._follow(paths), partial(self._ended, paths, now_ms))

    def stop(self, forget: bool) -> None:
        """End the task; what it was about to find is found otherwise.

        forget   also what is to be followed
        """
        if self._task is not None:
            self._task.cancel(Superseded("everything is read again"))
            self._task = None
        self.due_ms = 0
        if forget:
            self._paths.clear()

    def _ended(self, paths: list[str], now_ms: Callable[[], int], task: Task[None]) -> None:
        """What failed is tried again later."""
        if self._task is not task:
            return  # it was stopped
        self._task = None
        took_ms = now_ms() - self._begun_ms
        if task.failure is not None:
            self._paths = {**dict.fromkeys(paths), **self._paths}
            self.due_ms = now_ms() + RETRY_MS
        elif self._paces:
            self.due_ms = now_ms() + min(PAUSE_FACTOR * took_ms, FOLLOW_PAUSE_MS_MAX)
        self._on_end(task.failure)

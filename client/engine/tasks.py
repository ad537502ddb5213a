"""Procedures of the engine: coroutines that yield what they wait for, and never wait themselves.

    response = yield Ask(node, ApiKey.METADATA, (0, 12), message)      the body; what failed is raised here
    result = yield task                                                another task's result, or its failure
    yield Pause(0.1)                                                   nothing

A `Task` is a procedure at work: done once, with a result or a failure. What drives the engine waits for tasks, and nothing else.
No task outlives its engine: `Tasks.close` ends all of them.

Model: the controller's procedures (`controller/active/`); asyncio's `Task`, without its loop.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Generator
from typing import Any, Final, Generic, NamedTuple, TypeVar

from headrace.backoff import pause_after
from headrace.client.engine.link import Answer, Lane, Message, Versions
from headrace.client.engine.requests import Requests
from headrace.client.failures import ConnectionFailed
from headrace.errors import HeadraceError

REQUEST_TIMEOUT_S: Final = 30.0  # request.timeout.ms
ANY_NODE: Final = -(1 << 31)  # any that responds

T = TypeVar("T")


class Ask(NamedTuple):
    """A request whose response a procedure waits for.

    message   of the schema, or a function of the version that makes it
    """

    node: int
    api_key: int
    versions: Versions
    message: Message
    timeout_s: float = REQUEST_TIMEOUT_S
    lane: Lane = Lane.GENERAL
    has_version: bool = False  # whether the procedure gets (version, body)


class Pause(NamedTuple):
    seconds: float


class Cancelled(HeadraceError):
    """A task that was ended from outside."""


class Task(Generic[T]):
    """A procedure at work.

    what   in words: what a user waits for, while it waits for this
    """

    __slots__ = ("_callbacks", "_is_running", "_procedure", "_tasks", "failure", "is_done", "result", "what")

    def __init__(self, tasks: Tasks | None, procedure: Procedure[T] | None, what: str) -> None:
        self._tasks = tasks
        self._procedure = procedure
        self._is_running = False
        self._callbacks: list[Callable[[Task[T]], None]] = []
        self.what = what
        self.is_done = False
        self.result: T | None = None
        self.failure: HeadraceError | None = None

    def value(self) -> T:
        """The result of a task that is done. raises   its failure"""
        assert self.is_done
        if self.failure is not None:
            raise self.failure
        return self.result  # type: ignore[return-value]  # None is a result too

    def on_done(self, callback: Callable[[Task[T]], None]) -> None:
        """Called once; at once where it is done."""
        if self.is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def cancel(self, failure: HeadraceError | None = None) -> None:
        """End it where it stands, with this failure."""
        if self.is_done:
            return
        procedure, self._procedure = self._procedure, None
        if procedure is not None and not self._is_running:  # else it ends itself, where it waits next
            procedure.close()
        self.settle(None, failure or Cancelled(f"{self.what}: cancelled"))

    def settle(self, result: T | None, failure: HeadraceError | None = None) -> None:
        """It is done."""
        if self.is_done:
            return
        self.is_done, self.result, self.failure = True, result, failure
        if self._tasks is not None:
            self._tasks.alive.pop(self, None)
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


Procedure = Generator[Ask | Pause | Task[Any], Any, T]


class Tasks:
    """The procedures of one engine.

    now_s   set by the engine before each event
    alive   those that are not done
    """

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.now_s = 0.0
        self.alive: dict[Task[Any], None] = {}
        self._end: HeadraceError | None = None  # of the engine
        self._timers: list[tuple[float, int, Task[Any]]] = []
        self._serial = itertools.count()

    def start(self, procedure: Procedure[T], what: str) -> Task[T]:
        """Run it until it first waits."""
        task = Task(self, procedure, what)
        self.alive[task] = None
        if self._end is not None:
            task.cancel(self._end)
        else:
            self._step(task, None, None)
        return task

    def close(self, failure: HeadraceError) -> None:
        """Every procedure ends with this, those that are started later as well."""
        self._end = failure
        for task in list(self.alive):
            task.cancel(failure)
        self._timers.clear()

    def fire(self, now_s: float) -> None:
        """Continue those whose pause is over."""
        self.now_s = now_s
        while self._timers and self._timers[0][0] <= now_s:
            _at_s, _serial, task = heapq.heappop(self._timers)
            self._step(task, None, None)

    def next_s(self) -> float:
        """When the next pause is over."""
        while self._timers and self._timers[0][2].is_done:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else float("inf")

    def _step(self, task: Task[Any], value: Any, failure: HeadraceError | None) -> None:
        """Continue a procedure until it waits again, or ends."""
        while (procedure := task._procedure) is not None and not task.is_done:
            task._is_running = True
            try:
                wish = procedure.send(value) if failure is None else procedure.throw(failure)
            except StopIteration as end:
                task._procedure = None
                task.settle(end.value)
                return
            except HeadraceError as failed:
                task._procedure = None
                task.settle(None, failed)
                return
            except Exception as fault:
                task._procedure = None
                task.settle(None, HeadraceError(f"{task.what}: {fault!r}"))  # what waits for it does not hang
                raise
            finally:
                task._is_running = False
            if task.is_done:  # it ended itself
                procedure.close()
                return
            value, failure = None, None
            if isinstance(wish, Pause):
                heapq.heappush(self._timers, (self.now_s + wish.seconds, next(self._serial), task))
                return
            if isinstance(wish, Task):
                if wish.is_done:
                    value, failure = wish.result, wish.failure
                    continue
                wish.on_done(lambda done: self._step(task, done.result, done.failure))
                return
            self._ask(task, wish)
            return

    def _ask(self, task: Task[Any], wish: Ask) -> None:
        def answered(answer: Answer) -> None:
            body = (answer.version, answer.body) if wish.has_version else answer.body
            self._step(task, body, answer.failure)

        now_s = self.now_s
        node = self.requests.any_node(now_s) if wish.node == ANY_NODE else wish.node
        self.requests.ask(node, wish.api_key, wish.versions, wish.message, answered, now_s, wish.timeout_s, wish.lane)


def retry_pause_s(tries: int, first_s: float = 0.05, most_s: float = 1.0) -> float:
    """How long to wait after this number of failed tries (retry.backoff.ms, retry.backoff.max.ms)."""
    return pause_after(tries, first_s, most_s)


def first_to_answer(
    requests: Requests,
    api_key: int,
    versions: Versions,
    message: Message,
    timeout_s: float = REQUEST_TIMEOUT_S,
    has_version: bool = False,
) -> Procedure[Any]:
    """The response of the first broker that gives one: each is asked until one does.

    has_version   (version, body) instead of the body
    raises        ConnectionFailed, which names what each said
    """
    failures: list[str] = []
    for _ in range(len(requests.brokers) + len(requests.bootstrap)):
        try:
            return (yield Ask(ANY_NODE, api_key, versions, message, timeout_s, has_version=has_version))
        except ConnectionFailed as failure:
            if str(failure) not in failures:
                failures.append(str(failure))
    raise ConnectionFailed("no broker responded: " + "; ".join(failures))

"""Procedures that wait for calls without a process that waits for them: coroutines, driven by the duty cycle.

Runs in: the controller process. A procedure is an `async def`. Where it awaits a call it is suspended, and the duty cycle
continues. Everything here is touched by the process's one thread: threads of a library hand in what has come
(`controller/zookeeper/session.py`).

    start(coroutine)      -> ready
    run(work_ms)          ready, one after another  ->  awaits a Future: its reply makes it ready again
                                                    ->  pause(): ready again, behind all others
                                                    ->  ended: whoever awaits the Task is ready
    cancel(failure)       every open task's await raises the failure, and each call that it still makes

Between two awaits nothing moves; over an await everything may have. What each procedure of the controller does about that is
in its README (Interleaving). Those that await one future go on in the order in which they came to it.

Not asyncio: its loop wants to own the sleep, which is the duty cycle's (docs/decisions/002), and its threads-safe hand-over
makes two system calls for each reply.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from headrace.limits import CONTROLLER_TIMERS_MAX
from headrace.runtime.deadlines import Deadlines

T = TypeVar("T")

Steps = Generator["Future[Any] | None", None, T]


class Future(Generic[T]):
    """What will have come: a value or a failure, once."""

    __slots__ = ("_failure", "_value", "_waiting", "is_done", "timer")

    def __init__(self) -> None:
        self.is_done = False
        self.timer = 0  # serial of its deadline, 0: none
        self._value: T | None = None
        self._failure: BaseException | None = None
        self._waiting: list[Task[Any]] = []

    def __await__(self) -> Steps[T]:
        if not self.is_done:
            yield self
        return self.result()

    @property
    def failure(self) -> BaseException | None:
        """None while it is not done, too."""
        return self._failure

    def result(self) -> T:
        """The value; raises the failure. Only when it is done."""
        assert self.is_done
        if self._failure is not None:
            raise self._failure
        return self._value  # type: ignore[return-value]  # T may be None itself

    def complete(self, value: T) -> None:
        self._value = value
        self._wake()

    def fail(self, failure: BaseException) -> None:
        self._failure = failure
        self._wake()

    def add_waiting(self, task: Task[Any]) -> None:
        self._waiting.append(task)

    def _wake(self) -> None:
        assert not self.is_done
        self.is_done = True
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            task.wake(self)


class Task(Future[T]):
    """A procedure on its way; done when it returned or raised."""

    __slots__ = ("_awaited", "_coroutine", "_on_done", "_tasks", "cancelled")

    def __init__(self, tasks: Tasks, coroutine: Coroutine[Any, None, T], on_done: Callable[[Task[T]], None] | None):
        super().__init__()
        self.cancelled: BaseException | None = None
        self._tasks = tasks
        self._coroutine = coroutine
        self._on_done = on_done
        self._awaited: Future[Any] | None = None

    def wake(self, future: Future[Any]) -> None:
        """What it waits for has come."""
        if self._awaited is future:
            self._awaited = None
            self._tasks.make_ready(self)

    def cancel(self, failure: BaseException) -> None:
        """Its await raises the failure, and so does each one after."""
        if self.is_done or self.cancelled is not None:
            return
        self.cancelled = failure
        if self._awaited is not None:
            self._awaited = None
            self._tasks.make_ready(self)

    def step(self) -> None:
        """Go on to the next await, or to the end. Once it is cancelled, that is not far."""
        try:
            if self.cancelled is not None:
                awaited = self._coroutine.throw(self.cancelled)
            else:
                awaited = self._coroutine.send(None)
        except StopIteration as stop:
            self._end(partial(self.complete, stop.value))
        except Exception as failure:
            self._end(partial(self.fail, failure))
        else:
            if awaited is None or awaited.is_done or self.cancelled is not None:
                self._tasks.make_ready(self)
            else:
                self._awaited = awaited
                awaited.add_waiting(self)

    def _end(self, settle: Callable[[], None]) -> None:
        """raises   the failure, where nobody is there to take it"""
        self._tasks.forget(self)
        is_awaited = bool(self._waiting)
        settle()
        if self._on_done is not None:
            self._on_done(self)
        elif self.failure is not None and not is_awaited:
            raise self.failure


class Tasks:
    """All tasks of the process, and the times that they wait for.

    now_ms   a clock that never goes back
    refuse   makes the failure of a call for whose deadline there is no timer left
    """

    def __init__(self, now_ms: Callable[[], int], refuse: Callable[[str], BaseException]) -> None:
        self.now_ms = now_ms
        self._refuse = refuse
        self._ready: deque[Task[Any]] = deque()
        self._open: dict[Task[Any], None] = {}
        self._deadlines: Deadlines[Future[Any], BaseException | None] = Deadlines(CONTROLLER_TIMERS_MAX)
        self._current: Task[Any] | None = None

    def __len__(self) -> int:
        """How many are on their way."""
        return len(self._open)

    @property
    def next_ms(self) -> int:
        """When the first one goes on by itself."""
        return self.now_ms() if self._ready else self._deadlines.next_ms

    def start(self, coroutine: Coroutine[Any, None, T], on_done: Callable[[Task[T]], None] | None = None) -> Task[T]:
        """Have a procedure run from the next `run` on.

        on_done   called when it ended, however it did; without one a failure that no task awaits leaves `run`
        """
        task = Task(self, coroutine, on_done)
        self._open[task] = None
        self._ready.append(task)
        return task

    def run(self, work_ms: int) -> int:
        """Let tasks go on until none can, or the time is over; returns how many steps were made."""
        self._expire()
        ready = self._ready
        if not ready:
            return 0
        end_ms = self.now_ms() + work_ms
        steps = 0
        while ready:
            steps += 1
            self._current = task = ready.popleft()
            try:
                task.step()
            finally:
                self._current = None
            if self.now_ms() >= end_ms:
                break
        return steps

    def cancel(self, failure: BaseException) -> None:
        """Every task's await raises the failure: the session that they talk in is over."""
        for task in list(self._open):
            task.cancel(failure)

    def check(self) -> None:
        """Before each call of a task: one that was cancelled calls nobody any more. raises   what it was cancelled with"""
        if self._current is not None and self._current.cancelled is not None:
            raise self._current.cancelled

    def expect(self, future: Future[Any], wait_ms: int, failure: BaseException | None) -> None:
        """Have a future fail when the time is over, or come with nothing where there is no failure."""
        future.timer = self._deadlines.schedule(self.now_ms() + wait_ms, future, failure)
        if not future.timer:
            future.fail(self._refuse(f"{CONTROLLER_TIMERS_MAX} calls are already waiting for replies"))

    def unexpect(self, future: Future[Any]) -> None:
        """It has come."""
        self._deadlines.cancel(future.timer)
        future.timer = 0

    def later(self, wait_ms: int, call: Callable[[], None]) -> bool:
        """Have something called once, which no task waits for; False: too many timers are set."""
        future = _Call(call)
        self.expect(future, wait_ms, None)
        return not future.is_done

    async def sleep(self, wait_ms: int) -> None:
        future: Future[None] = Future()
        self.expect(future, wait_ms, None)
        await future

    async def pause(self) -> None:
        """Let the others go on: for loops without an await that may be long."""
        await _PAUSE

    async def share(self, count: int, work: Callable[[], Coroutine[Any, None, None]]) -> None:
        """Have so many tasks do the same work at once, and wait for all of them; raises the first failure."""
        tasks = [self.start(work(), _ignore) for _ in range(count)]
        for task in tasks:
            if not task.is_done:
                await _Ended(task)
        for task in tasks:
            task.result()

    # For tasks

    def make_ready(self, task: Task[Any]) -> None:
        self._ready.append(task)

    def forget(self, task: Task[Any]) -> None:
        self._open.pop(task, None)

    def _expire(self) -> None:
        deadlines = self._deadlines
        now_ms = self.now_ms()
        while deadlines.next_ms <= now_ms:
            entry = deadlines.pop_due(now_ms)
            assert entry is not None
            _deadline_ms, _serial, future, failure = entry
            future.timer = 0
            if future.is_done:
                continue
            if failure is None:
                future.complete(None)
            else:
                future.fail(failure)


class _Call(Future[None]):
    """A time that calls somebody instead of waking a task."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self._call = call

    def complete(self, value: None) -> None:
        super().complete(value)
        self._call()


class _Pause(Awaitable[None]):
    def __await__(self) -> Steps[None]:
        yield None


class _Ended(Awaitable[None]):
    """A task's end, whatever it brought."""

    def __init__(self, task: Task[Any]) -> None:
        self._task = task

    def __await__(self) -> Steps[None]:
        if not self._task.is_done:
            yield self._task


_PAUSE = _Pause()


def _ignore(_task: Task[Any]) -> None:
    """Its failure is taken by whoever awaits it."""

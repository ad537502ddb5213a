"""What a blocking and an asyncio client do alike, written once: generators that yield what they wait for.

    yield Done(task, timeout_s)             the result of a procedure of the engine
    yield Heard(future, timeout_s, what)    the result of what another thread does
    yield Until(is_so, timeout_s, what)     whether something became so; without `what` False where it did not in time
    yield Call(function, argument)          what a function of the user's returns; in asyncio it may be a coroutine function
    yield Whole(steps, timeout_s)           whether these steps are done: they continue where the caller is cancelled, or time is up
    yield Pass()                            after the event loop had a turn

A driver runs them (`BlockingDriver.run`, `EventLoopDriver.run`). What fails is raised in the generator, where it waits. What is not
done in time is raised there as `WaitTimedOut`.

Model: the engine's procedures (`engine/tasks.py`), which wait for brokers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from headrace.client.engine.tasks import Task

T = TypeVar("T")


class Done(NamedTuple):
    task: Task[Any]
    timeout_s: float | None = None  # None: as long as the procedure takes, which has bounds of its own


class Heard(NamedTuple):
    future: Future[Any]
    timeout_s: float
    what: str


class Until(NamedTuple):
    is_so: Callable[[], bool]
    timeout_s: float | None
    what: str


class Call(NamedTuple):
    function: Callable[[Any], Any]
    argument: Any


class Whole(NamedTuple):
    """Steps that are not left half done. One run of them at a time: another caller waits for that one."""

    steps: Callable[[], Generator[Any, Any, None]]
    timeout_s: float


class Pass(NamedTuple):
    """Let others have a turn of the event loop."""


Step = Done | Heard | Until | Call | Whole | Pass
Steps = Generator[Step, Any, T]

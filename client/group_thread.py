"""The thread of a group member: heartbeats that no busy caller delays, over connections of their own.

The whole membership lives here: joins, heartbeats, commits, with an engine and a driver of its own. The consumer sees its events, and
asks for the rest by `call`. A caller that computes for long holds up its reading, not its membership; one that doesn't poll for
`max.poll.interval.ms` is taken out of the group.

Source: KIP-62.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from headrace.client.driving.blocking import BlockingDriver
from headrace.client.engine.coordinator import GroupMetadata
from headrace.client.engine.engine import Engine
from headrace.client.engine.membership import Event, Membership, MembershipOptions
from headrace.client.engine.tasks import Task
from headrace.client.failures import ConnectionFailed
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import NO_GENERATION

TURN_S: Final = 1.0
JOIN_S: Final = 10.0  # for the thread to end, after what it does is given up

T = TypeVar("T")
Command = Callable[[Membership], Task[T]]


class GroupThread:
    """A member of a group, and the thread that it lives in.

    notify   called in that thread, when there is an event or a failure
    ended    done when the thread is about to end
    """

    def __init__(
        self, engine: Engine, options: MembershipOptions, notify: Callable[[], None], metadata_max_age_s: float
    ) -> None:
        self._engine = engine
        engine.metadata.max_age_s = metadata_max_age_s
        self._driver = BlockingDriver(engine)
        self._membership = Membership(engine.requests, engine.tasks, engine.metadata, options)
        self._notify = notify
        self._commands: deque[tuple[Command[Any], Future[Any]]] = deque()
        self._is_stopping = False
        self._is_abandoned = False
        self._failure: HeadraceError | None = None
        self.ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=f"headrace-group-{options.group_id}", daemon=True)
        self._thread.start()

    def call(self, command: Command[T]) -> Future[T]:
        """Have the thread start a task; the future has its result."""
        future: Future[T] = Future()
        self._commands.append((command, future))
        if self.ended.done() or self._is_abandoned:
            self._refuse_commands()  # the thread has had its last turn, and may not have seen this one
        else:
            self._driver.wake()
        return future

    def do(self, action: Callable[[Membership], None]) -> None:
        """Have the thread do something that is done at once."""

        def command(membership: Membership) -> Task[None]:
            action(membership)
            return _done("a command to the group member")

        self.call(command)

    @property
    def first_event(self) -> Event | None:
        """What the consumer has to act on next."""
        events = self._membership.events
        return events[0] if events else None

    @property
    def failure(self) -> HeadraceError | None:
        """Why there is no member any more."""
        return self._failure or self._membership.failure

    @property
    def has_failed(self) -> bool:
        return self.failure is not None

    @property
    def metadata(self) -> GroupMetadata:
        """The member as it is now. raises KafkaError UNKNOWN_MEMBER_ID, while its group has none of it"""
        membership, options = self._membership, self._membership.options
        generation, member_id = membership.generation, membership.member_id
        if generation == NO_GENERATION or not member_id:
            text = f"group {options.group_id} has removed this consumer; it rejoins at the next poll"
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, text)
        return GroupMetadata(options.group_id, generation, member_id, options.instance_id)

    def acknowledge(self, event: Event) -> Future[None]:
        """The event was acted on; a second time does nothing."""

        def command(membership: Membership) -> Task[None]:
            if membership.events and membership.events[0] is event:
                membership.acknowledge()
            return _done("a command to the group member")

        return self.call(command)

    def polled(self) -> None:
        """The consumer is alive."""
        self._membership.polled()

    def describe(self) -> str:
        membership = self._membership
        waits = "; ".join(self._engine.waits_for()) or "nothing"
        return f"group {membership.options.group_id}: {membership.state.value}, generation {membership.generation}; waiting for {waits}"

    def stop_soon(self) -> None:
        """Have the thread end; the member has left before, or stays in its group until its session is over. From any thread."""
        self._is_stopping = True
        self._driver.wake()

    def stop(self) -> None:
        """The same, and wait for it."""
        self.stop_soon()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def abandon(self) -> None:
        """In a forked child: there is no thread."""
        self._is_stopping = self._is_abandoned = True
        self._driver.abandon()

    def _run(self) -> None:
        membership = self._membership
        seen: Event | None = None
        try:
            while not self._is_stopping:
                while self._commands:
                    command, future = self._commands.popleft()
                    if future.set_running_or_notify_cancel():
                        self._start(command, future)
                self._driver.turn(TURN_S)
                first = membership.events[0] if membership.events else None
                if (first is not seen and first is not None) or membership.failure is not None:
                    self._notify()
                seen = first
        except HeadraceError as failure:
            self._failure = failure
        except Exception as fault:  # of ours: the consumer reports it, where it would wait for ever
            self._failure = HeadraceError(f"group {membership.options.group_id}: {fault!r}")
            raise
        finally:
            self._is_stopping = True
            self._driver.close()  # what waits for the engine fails
            self.ended.set_result(None)
            self._refuse_commands()
            if self._failure is not None:
                self._notify()

    def _refuse_commands(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                _command, future = self._commands.popleft()
                if future.set_running_or_notify_cancel():
                    future.set_exception(self._failure or ConnectionFailed("the member has left its group"))

    def _start(self, command: Command[Any], future: Future[Any]) -> None:
        def done(task: Task[Any]) -> None:
            if task.failure is not None:
                future.set_exception(task.failure)
            else:
                future.set_result(task.result)

        self._engine.tasks.now_s = self._driver.clock_s()
        try:
            task = command(self._membership)
        except Exception as fault:
            future.set_exception(fault)
            raise
        task.on_done(done)


def _done(what: str) -> Task[None]:
    """A task that was done at once."""
    task: Task[None] = Task(None, None, what)
    task.settle(None)
    return task

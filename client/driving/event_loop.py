"""The asyncio driver: connections of one engine on a running event loop.

    buffer_updated, connection_made, a timer, wake  ->  one turn of the engine, by `call_soon`, however many of them there were
    turn                                            ->  connections to open, bytes to write, a timer for when to turn again at the latest
                                                    ->  callers are woken whose conditions hold

All of it runs in the loop's thread; `wake` may be called from any. Bytes are received where the engine wants them
(`BufferedProtocol`), and written without being copied where the socket takes them; what it doesn't take waits in the engine's queue.

A caller that is cancelled leaves the engine as it is: what it waited for continues, and is done for the next caller.

Source: asyncio's `BufferedProtocol`, PEP 3156.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final, TypeVar, cast

from headrace.client.engine.engine import Engine
from headrace.client.engine.link import Link, LinkState, closed_by_broker
from headrace.client.engine.requests import CONNECT_TIMEOUT_S
from headrace.client.engine.tasks import Task
from headrace.client.failures import ConnectionFailed, NotSent, WaitTimedOut
from headrace.client.steps import Call, Done, Heard, Pass, Step, Steps, Whole
from headrace.errors import KafkaError

TURN_S: Final = 0.0005  # between two turns by the timer, at least
SLACK_S: Final = 0.0002  # a timer that is late by so much is left as it is

PASS_S: Final = 0.005  # for which a caller that never has to wait keeps the loop to itself
END_S: Final = 1.0  # for a user's callback that was cancelled

T = TypeVar("T")


class _Connection(asyncio.BufferedProtocol):
    """A link's end of a transport.

    held   bytes that the transport has, and its socket has not: it takes no more meanwhile
    """

    __slots__ = ("_driver", "held", "link", "transport")

    def __init__(self, driver: EventLoopDriver, link: Link) -> None:
        self._driver = driver
        self.link = link
        self.held = 0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(0)
        self._driver.connected(self)

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self.link.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._driver.received(self.link, nbytes)

    def eof_received(self) -> None:
        return None  # the transport closes itself

    def connection_lost(self, exc: Exception | None) -> None:
        link = self.link
        self._driver.lost(link, closed_by_broker(link) if exc is None else ConnectionFailed(f"{link.address}: {exc}"))

    def pause_writing(self) -> None:
        pass  # `held` says so: `write` reads what the transport has kept

    def resume_writing(self) -> None:
        if self.link.state is not LinkState.CLOSED:
            held, self.held = self.held, 0
            self.link.out.sent(held)
            self.write()
        self._driver.turn_soon()

    def write(self) -> None:
        """What the link has to send, as far as the socket takes it."""
        out, transport = self.link.out, self.transport
        if self.held or transport is None or transport.is_closing():
            return
        while out.unsent_bytes:
            for part in out.gather():
                transport.write(part)
                if transport.get_write_buffer_size():
                    self.held = len(part)
                    return
                out.sent(len(part))


class EventLoopDriver:
    """The connections of one engine, on the loop that runs where it is made."""

    def __init__(self, engine: Engine, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.engine = engine
        self.clock_s = clock_s
        self.loop = asyncio.get_running_loop()
        self.is_closed = False
        self._connecting: dict[Link, asyncio.Task[None]] = {}
        self._connections: dict[Link, _Connection] = {}
        self._waits: dict[asyncio.Future[Any], str] = {}  # what callers wait for, in words
        self._conditions: dict[asyncio.Future[bool], Callable[[], bool]] = {}
        self._wholes: dict[Callable[[], Any], asyncio.Task[None]] = {}
        self._soon: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = float("inf")
        self._mark: asyncio.Handle | None = None  # done when the loop comes to it
        self._marked_s = 0.0
        engine.tasks.now_s = clock_s()
        engine.clock_s = clock_s

    # Turns

    def wake(self) -> None:
        """Turn soon, from any thread."""
        if not self.is_closed:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self.turn_soon)

    def turn_soon(self) -> None:
        """Turn in the next iteration of the loop."""
        if self._soon is None and not self.is_closed:
            self._soon = self.loop.call_soon(self.turn)

    def turn(self) -> None:
        """Turn the engine, and do what it wants."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self.is_closed:
            return
        now_s = self.engine.tasks.now_s = self.clock_s()
        self.engine.turn(now_s)
        if self._conditions:
            self._look()
        if self._serve() and self._conditions:
            self._look()  # whether bytes are out
        self._set_timer(now_s)

    def _look(self) -> None:
        for future, is_so in list(self._conditions.items()):
            if future.done():
                continue
            try:
                if is_so():
                    future.set_result(True)
            except Exception as failure:
                future.set_exception(failure)

    def _set_timer(self, now_s: float) -> None:
        at_s = self.engine.next_s(now_s)
        if at_s >= self._timer_s - SLACK_S:
            return  # the one that is set comes early enough
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_s = at_s
        if at_s < float("inf"):
            self._timer = self.loop.call_later(max(TURN_S, at_s - now_s), self._timed)

    def _timed(self) -> None:
        self._timer, self._timer_s = None, float("inf")
        self.turn()

    # Waiting

    async def run(self, steps: Steps[T]) -> T:
        """Their result. raises what they raise"""
        value: Any = None
        failure: BaseException | None = None
        while True:
            try:
                step = steps.send(value) if failure is None else steps.throw(failure)
            except StopIteration as end:
                result: T = end.value
                return result
            value = failure = None
            try:
                value = await self._perform(step)
            except BaseException as raised:  # the steps have to hear of a cancellation as well
                failure = raised

    async def _perform(self, step: Step) -> Any:
        if isinstance(step, Done):
            return await self.wait(step.task, step.timeout_s)
        if isinstance(step, Call):
            said = step.function(step.argument)
            return await said if inspect.isawaitable(said) else said
        if isinstance(step, Whole):
            return await self._whole(step)
        if isinstance(step, Heard):
            return await self._heard(step)
        if isinstance(step, Pass):
            return await asyncio.sleep(0)
        return await self.wait_until(step.is_so, step.timeout_s, step.what)

    async def wait(self, task: Task[T], timeout_s: float | None = None) -> T:
        """The task's result. It continues where its caller is cancelled.

        raises   its failure; WaitTimedOut
        """
        if not task.is_done:
            self.turn_soon()
            with self._waiting(task.what) as future:
                task.on_done(lambda _task: _settle(future))
                await self._until_done(future, timeout_s, task.what)
        return task.value()

    async def settled(
        self, on_done: Callable[[Callable[[Any], None]], None], timeout_s: float | None, what: str
    ) -> None:
        """Until a callback was called that `on_done` takes. raises WaitTimedOut"""
        with self._waiting(what) as future:
            on_done(lambda _value: _settle(future))
            await self._until_done(future, timeout_s, what)

    async def wait_until(self, is_so: Callable[[], bool], timeout_s: float | None, what: str) -> bool:
        """Until it is so. Returns False where it was not in time, and `what` names nothing; raises WaitTimedOut where it does."""
        if is_so():
            return True
        self.turn_soon()
        if not timeout_s and timeout_s is not None:
            await asyncio.sleep(0)
            return is_so()
        with self._waiting(what or "records") as future:
            self._conditions[future] = is_so
            try:
                return await self._until_done(future, timeout_s, what)
            finally:
                del self._conditions[future]

    async def _until_done(self, future: asyncio.Future[bool], timeout_s: float | None, what: str) -> bool:
        timer = None if timeout_s is None else self.loop.call_later(timeout_s, _settle, future, False)
        try:
            is_done = await future
        finally:
            if timer is not None:
                timer.cancel()
        if not is_done and what:
            raise WaitTimedOut(f"{what}: not done within {timeout_s:g} s; waiting for {self.describe()}")
        return is_done

    async def _heard(self, step: Heard) -> Any:
        """What another thread does."""

        def heard(_future: Future[Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(_settle, future)

        with self._waiting(step.what) as future:
            step.future.add_done_callback(heard)
            await self._until_done(future, step.timeout_s, step.what)
        return step.future.result(0)

    async def _whole(self, step: Whole) -> bool:
        """Whether steps are done that a task of ours runs: a caller that is cancelled does not end them."""
        running = self._wholes.get(step.steps)
        if running is None:
            running = self._wholes[step.steps] = self.loop.create_task(self.run(step.steps()))
        elif running is asyncio.current_task():
            raise RuntimeError("a rebalance callback asked for records: it must return first")
        done, _pending = await asyncio.wait([running], timeout=step.timeout_s)
        if not done:
            return False
        if self._wholes.get(step.steps) is running:
            del self._wholes[step.steps]
        if running.cancelled():
            raise ConnectionFailed("the client was closed")
        running.result()
        return True

    async def end_wholes(self) -> None:
        """Cancel the steps that tasks of ours run, and wait until they have ended."""
        wholes, self._wholes = self._wholes, {}
        for running in wholes.values():
            running.cancel()
        if wholes:
            await asyncio.wait(wholes.values(), timeout=END_S)
        for running in wholes.values():
            running.add_done_callback(_look_at)

    def holds_up(self, now_s: float) -> bool:
        """Whether the caller, which asks now and then, has kept the loop from its other tasks for too long."""
        if self._mark is None:
            self._mark, self._marked_s = self.loop.call_soon(self._passed), now_s
            return False
        return now_s - self._marked_s >= PASS_S

    def _passed(self) -> None:
        self._mark = None

    @contextlib.contextmanager
    def _waiting(self, what: str) -> Iterator[asyncio.Future[bool]]:
        """A future that `health` names."""
        if self.is_closed:
            raise ConnectionFailed("the client was closed")
        future: asyncio.Future[bool] = self.loop.create_future()
        self._waits[future] = what
        try:
            yield future
        finally:
            del self._waits[future]

    def waits_for(self) -> list[str]:
        """In words: what callers wait for, and what the engine does."""
        return list(dict.fromkeys([*self._waits.values(), *self.engine.waits_for()]))

    def describe(self) -> str:
        return "; ".join(self.waits_for()) or "nothing"

    # Connections

    def connected(self, connection: _Connection) -> None:
        link, now_s = connection.link, self.clock_s()
        if self.is_closed or link.state is not LinkState.CONNECTING:
            assert connection.transport is not None
            connection.transport.abort()
            return
        self._connections[link] = connection
        self.engine.tasks.now_s = now_s
        try:
            self.engine.requests.is_connected(link, now_s)
        except KafkaError as failure:
            self.engine.requests.drop(link, failure, now_s)
        self.turn_soon()

    def received(self, link: Link, count: int) -> None:
        now_s = self.engine.tasks.now_s = self.clock_s()
        if link.state is not LinkState.CLOSED and self.engine.requests.has_received(link, count, now_s):
            self.turn_soon()

    def lost(self, link: Link, failure: ConnectionFailed) -> None:
        self._connections.pop(link, None)
        now_s = self.engine.tasks.now_s = self.clock_s()
        self.engine.requests.drop(link, failure, now_s)
        self.turn_soon()

    def _serve(self) -> bool:
        """Open, write, close, as the engine wants; False: it wants nothing."""
        requests = self.engine.requests
        is_wanted = False
        while requests.wanted or requests.closed or requests.unsent:
            is_wanted = True
            closed, requests.closed = requests.closed, []
            for link in closed:
                self._close_link(link)
            wanted, requests.wanted = requests.wanted, []
            for link in wanted:
                if link.state is LinkState.WANTED:
                    link.opening()
                    self._connecting[link] = self.loop.create_task(self._connect(link))
            unsent, requests.unsent = requests.unsent, {}
            for link in unsent:
                connection = self._connections.get(link)
                if connection is not None:
                    connection.write()
        return is_wanted

    async def _connect(self, link: Link) -> None:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self.loop.create_connection(lambda: _Connection(self, link), link.host, link.port)
        except TimeoutError:
            self._not_connected(link, f"no connection within {CONNECT_TIMEOUT_S:g} s")
        except OSError as failure:
            number = failure.errno or 0  # below 0: the resolver's
            self._not_connected(link, os.strerror(number) if number > 0 else str(failure.strerror or failure))
        except UnicodeError as failure:  # no name of a host
            self._not_connected(link, str(failure))
        finally:
            self._connecting.pop(link, None)

    def _not_connected(self, link: Link, why: str) -> None:
        now_s = self.engine.tasks.now_s = self.clock_s()
        self.engine.requests.drop(link, NotSent(f"{link.address}: {why}"), now_s)
        self.turn_soon()

    def _close_link(self, link: Link) -> None:
        connecting = self._connecting.pop(link, None)
        if connecting is not None and connecting is not asyncio.current_task(self.loop):
            connecting.cancel()
        connection = self._connections.pop(link, None)
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

    # The end

    def close(self) -> None:
        """Close everything; calls that still wait fail. What was sent and not answered is left to the broker."""
        if self.is_closed:
            return
        self.engine.close(ConnectionFailed("the client was closed"))
        for link in [*self._connecting, *self._connections]:
            self._close_link(link)
        self.is_closed = True
        for handle in (self._soon, self._timer):
            if handle is not None:
                handle.cancel()
        for running in self._wholes.values():
            running.cancel()
            running.add_done_callback(_look_at)
        for future in list(self._waits):
            if not future.done():
                future.set_exception(ConnectionFailed("the client was closed"))

    def close_soon(self) -> None:
        """The same, from any thread, and of a client that was left: where the loop is closed there is nothing to close."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.close)

    def abandon(self) -> None:
        """In a forked child: the connections are the parent's, and so is what its loop waits on. The child's descriptors become
        /dev/null: closing them would take them out of the parent's epoll, and leave objects with numbers of other files."""
        if self.is_closed:
            return
        self.is_closed = True
        connections, self._connections = self._connections, {}
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            for connection in connections.values():
                if connection.transport is not None:
                    made = connection.transport.get_extra_info("socket")
                    if made is not None and made.fileno() >= 0:
                        os.dup2(null, made.fileno(), inheritable=False)
        finally:
            os.close(null)


def _settle(future: asyncio.Future[bool], is_done: bool = True) -> None:
    if not future.done():
        future.set_result(is_done)


def _look_at(running: asyncio.Task[None]) -> None:
    """Its failure is not reported: the client is closed."""
    if not running.cancelled():
        running.exception()

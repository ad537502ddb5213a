"""The blocking driver: sockets of one engine, turned by who waits for something. No threads.

    turn(wait_s)      one turn of the engine, and one wait for the sockets, of at most that long
    wait(task, ...)   turns, until a task is done
    run(steps)        what a facade shares with the asyncio one (`client/steps.py`)

One thread at a time drives an engine. `wake` may be called from any: it ends the wait for the sockets.

A name is resolved where it is needed, and blocks as the system's resolver does.

Ctrl-C ends a wait for the sockets at once, and the client is as it was. A KeyboardInterrupt anywhere else may leave the engine's state
half changed. From then on the client is refused with `Interrupted`, and can only be closed: a record that waits for nothing would hang.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from headrace.client.engine.engine import Engine
from headrace.client.engine.link import Link, LinkState, closed_by_broker
from headrace.client.engine.requests import CONNECT_TIMEOUT_S
from headrace.client.engine.tasks import Task
from headrace.client.failures import ConnectionFailed, Interrupted, NotSent, WaitTimedOut
from headrace.client.steps import Call, Done, Heard, Pass, Step, Steps, Whole
from headrace.errors import KafkaError
from headrace.limits import CLIENT_RECEIVES_MAX

WAIT_MAX_S: Final = 1.0  # of one wait for the sockets

T = TypeVar("T")
_IN_PROGRESS: Final = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR)


class _Socket:
    """A link's socket, and what poll is asked for."""

    __slots__ = ("addresses", "deadline_s", "events", "link", "socket")

    def __init__(self, link: Link, addresses: list[tuple[socket.AddressFamily, tuple[str, int]]]) -> None:
        self.link = link
        self.addresses = addresses  # not tried yet
        self.socket: socket.socket | None = None
        self.events = 0
        self.deadline_s = 0.0


class BlockingDriver:
    """The sockets of one engine."""

    def __init__(self, engine: Engine, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.engine = engine
        self.clock_s = clock_s
        self._poll = select.poll()
        self._sockets: dict[int, _Socket] = {}  # by descriptor
        self._by_link: dict[Link, _Socket] = {}
        self._connecting: dict[_Socket, None] = {}
        self._wake_lock = threading.Lock()  # the descriptor of one that is closed may be another file's
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._wake_fd, select.POLLIN)
        self.is_closed = False
        self.is_half_done = False
        self._is_waiting = False  # for the sockets
        self._noted: BaseException | None = None
        engine.tasks.now_s = clock_s()
        engine.clock_s = clock_s

    def wake(self) -> None:
        """End the wait for the sockets, from any thread."""
        with self._wake_lock:
            if not self.is_closed:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_write(self._wake_fd, 1)

    def turn(self, wait_s: float = 0.0) -> None:
        """Turn the engine, and handle what the sockets have; waits for something of them for at most so long. raises Interrupted"""
        self.check()
        try:
            self._turn(wait_s)
        except BaseException as failure:
            self.note_interruption(failure)
            raise

    def check(self) -> None:
        """raises   Interrupted"""
        if self.is_half_done:
            raise Interrupted("a KeyboardInterrupt interrupted a step of this client: close it and create a new one")

    def note_interruption(self, failure: BaseException) -> None:
        """What leaves a step of this client: only while it waits for the sockets nothing is half done."""
        if isinstance(failure, Exception) or failure is self._noted:
            return
        self._noted = failure
        if not self._is_waiting:
            self.is_half_done = True

    def _turn(self, wait_s: float) -> None:
        engine, clock_s = self.engine, self.clock_s
        self._is_waiting, self._noted = False, None
        now_s = clock_s()
        engine.turn(now_s)
        self._serve(now_s)
        wait_s = max(0.0, min(wait_s, engine.next_s(now_s) - now_s, WAIT_MAX_S))
        self._is_waiting = True
        found = self._poll.poll(wait_s * 1000)
        self._is_waiting = False
        if not found and not wait_s and not self._connecting:
            return
        now_s = engine.tasks.now_s = clock_s()
        for fd, events in found:
            if fd == self._wake_fd:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(fd)
                continue
            one = self._sockets.get(fd)
            if one is not None:
                self._handle(one, events, now_s)
        for one in [one for one in self._connecting if now_s >= one.deadline_s]:
            self._try_next(one, now_s, f"no connection within {CONNECT_TIMEOUT_S:g} s")
        engine.turn(now_s)
        self._serve(now_s)

    def wait(self, task: Task[T], timeout_s: float | None = None) -> T:
        """The task's result.

        raises   its failure; WaitTimedOut
        """
        deadline_s = float("inf") if timeout_s is None else self.clock_s() + timeout_s
        while not task.is_done:
            left_s = deadline_s - self.clock_s()
            if left_s <= 0:
                raise WaitTimedOut(f"{task.what}: not done within {timeout_s:g} s; waiting for {self.describe()}")
            self.turn(min(left_s, WAIT_MAX_S))
        return task.value()

    def wait_until(self, is_done: Callable[[], bool], timeout_s: float | None, what: str) -> bool:
        """Turn until it is so. Returns False where it was not in time, and `what` names nothing; raises WaitTimedOut where it does."""
        deadline_s = float("inf") if timeout_s is None else self.clock_s() + timeout_s
        while not is_done():
            left_s = deadline_s - self.clock_s()
            if left_s <= 0:
                if not what:
                    return False
                raise WaitTimedOut(f"{what}: not done within {timeout_s:g} s; waiting for {self.describe()}")
            self.turn(min(left_s, WAIT_MAX_S))
        return True

    def run(self, steps: Steps[T]) -> T:
        """Their result. raises what they raise"""
        self._is_waiting = False
        value: Any = None
        failure: BaseException | None = None
        while True:
            try:
                step = steps.send(value) if failure is None else steps.throw(failure)
            except StopIteration as end:
                result: T = end.value
                return result
            except BaseException as raised:
                if raised is not failure:  # which is noted, or a function of the caller raised it
                    self.note_interruption(raised)
                raise
            value = failure = None
            try:
                value = self._perform(step)
            except BaseException as raised:  # the steps have to hear of a KeyboardInterrupt as well
                failure = raised
                self._is_waiting = False

    def _perform(self, step: Step) -> Any:
        if isinstance(step, Done):
            return self.wait(step.task, step.timeout_s)
        if isinstance(step, Call):
            return step.function(step.argument)
        if isinstance(step, Whole):
            self.run(step.steps())
            return True
        if isinstance(step, Heard):
            future = step.future
            future.add_done_callback(lambda _future: self.wake())
            self.wait_until(future.done, step.timeout_s, step.what)
            return future.result(0)
        if isinstance(step, Pass):
            return None
        return self.wait_until(step.is_so, step.timeout_s, step.what)

    def describe(self) -> str:
        return "; ".join(self.engine.waits_for()) or "nothing"

    def close(self) -> None:
        """Close everything. What was sent and not answered is left to the broker."""
        if self.is_closed:
            return
        self.engine.close(ConnectionFailed("the client was closed"))
        self._close_sockets()
        with self._wake_lock:
            self.is_closed = True
            os.close(self._wake_fd)

    def abandon(self) -> None:
        """In a forked child: the sockets are the parent's; release our copies of them, say nothing to anyone."""
        if self.is_closed:
            return
        self.is_closed = True
        self._wake_lock = threading.Lock()  # another thread may have had it
        for one in self._by_link.values():
            if one.socket is not None:
                one.socket.close()
        self._by_link.clear()
        self._sockets.clear()
        os.close(self._wake_fd)

    # Sockets

    def _serve(self, now_s: float) -> None:
        """Open, write, close, as the engine wants."""
        requests = self.engine.requests
        while requests.wanted or requests.closed or requests.unsent:
            if requests.closed:
                self._close_sockets()
            wanted, requests.wanted = requests.wanted, []
            for link in wanted:
                if link.state is LinkState.WANTED:
                    self._open(link, now_s)
            unsent, requests.unsent = requests.unsent, {}
            for link in unsent:
                one = self._by_link.get(link)
                if one is not None and link.state in (LinkState.READY, LinkState.GREETING):
                    self._send(one, now_s)

    def _open(self, link: Link, now_s: float) -> None:
        link.opening()
        try:
            found = socket.getaddrinfo(link.host, link.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as failure:  # a label of a name may be too long
            self.engine.requests.drop(link, NotSent(f"{link.address}: {failure}"), now_s)
            return
        addresses: list[tuple[socket.AddressFamily, tuple[str, int]]] = list(
            dict.fromkeys((family, (str(at[0]), int(at[1]))) for family, _kind, _proto, _name, at in found)
        )
        one = self._by_link[link] = _Socket(link, addresses)
        self._try_next(one, now_s, "no address")

    def _try_next(self, one: _Socket, now_s: float, why: str) -> None:
        """Connect to the next address of its host; without one the link is given up."""
        self._forget_fd(one)
        while one.addresses:
            family, address = one.addresses.pop(0)
            try:
                made = socket.socket(family, socket.SOCK_STREAM)
            except OSError as failure:  # no descriptor is left
                why = str(failure)
                continue
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = made.connect_ex(address)
            if code and code not in _IN_PROGRESS:
                why = os.strerror(code)
                made.close()
                continue
            one.socket = made
            one.deadline_s = now_s + CONNECT_TIMEOUT_S
            self._sockets[made.fileno()] = one
            self._connecting[one] = None
            self._ask_poll(one, select.POLLOUT)
            return
        self._by_link.pop(one.link, None)
        self.engine.requests.drop(one.link, NotSent(f"{one.link.address}: {why}"), now_s)

    def _handle(self, one: _Socket, events: int, now_s: float) -> None:
        link, requests = one.link, self.engine.requests
        assert one.socket is not None
        if link.state is LinkState.CONNECTING:
            code = one.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._try_next(one, now_s, os.strerror(code))
                return
            self._connecting.pop(one, None)
            self._ask_poll(one, select.POLLIN)
            try:
                requests.is_connected(link, now_s)
            except KafkaError as failure:
                requests.drop(link, failure, now_s)
            return
        if events & (select.POLLIN | select.POLLERR | select.POLLHUP):
            self._receive(one, now_s)
        if events & select.POLLOUT and link.state is not LinkState.CLOSED:
            self._send(one, now_s)

    def _receive(self, one: _Socket, now_s: float) -> None:
        link, requests = one.link, self.engine.requests
        assert one.socket is not None
        for _ in range(CLIENT_RECEIVES_MAX):
            room = link.room()
            try:
                count = one.socket.recv_into(room)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as failure:
                requests.drop(link, ConnectionFailed(f"{link.address}: {failure}"), now_s)
                return
            if not count:
                requests.drop(link, closed_by_broker(link), now_s)
                return
            requests.has_received(link, count, now_s)
            if link.state is LinkState.CLOSED or count < len(room):
                return

    def _send(self, one: _Socket, now_s: float) -> None:
        link = one.link
        assert one.socket is not None
        while link.out.unsent_bytes:
            try:
                count = one.socket.sendmsg(link.out.gather())
            except (BlockingIOError, InterruptedError):
                self._ask_poll(one, select.POLLIN | select.POLLOUT)
                return
            except OSError as failure:
                self.engine.requests.drop(link, ConnectionFailed(f"{link.address}: {failure}"), now_s)
                return
            link.out.sent(count)
        self._ask_poll(one, select.POLLIN)

    def _ask_poll(self, one: _Socket, events: int) -> None:
        assert one.socket is not None
        if one.events == events:
            return
        if one.events:
            self._poll.modify(one.socket.fileno(), events)
        else:
            self._poll.register(one.socket.fileno(), events)
        one.events = events

    def _close_sockets(self) -> None:
        closed, self.engine.requests.closed = self.engine.requests.closed, []
        for link in closed:
            one = self._by_link.pop(link, None)
            if one is not None:
                self._forget_fd(one)

    def _forget_fd(self, one: _Socket) -> None:
        self._connecting.pop(one, None)
        if one.socket is not None:
            fd = one.socket.fileno()
            if one.events:
                self._poll.unregister(fd)
                one.events = 0
            self._sockets.pop(fd, None)
            one.socket.close()
            one.socket = None

"""A connection to another node that never blocks: requests out, their replies by callback.

Runs in: any process, over its `Poller`; made by `Peers` (`peers.py`), which has what all of a process's peers share.

    ask -> waits for the connection, or for the end of the cycle -> sent -> on_reply(outcome, body), once, never within `ask`

    ANSWERED      here is the response's body
    NOT_SENT      it has not left whole, so it was not done: no connection, late, or the peer was closed
    UNSUPPORTED   not done: the node serves no version that is good enough
    LOST          the connection broke: done or not
    TIMED_OUT     late: done or not, and the connection is given up, since what comes late would be another one's answer

A node answers one connection's requests in their order, so they may be pipelined, and are told in that order. When the
connection goes, all that was asked fails, each once, what waited to be sent too: the order of requests is their owner's, who
asks again. What is asked while the peer backs off waits for the next try, so an owner who asks again at once is no busy loop.

A reply's body is gone after `on_reply`, unless it was asked for with `into`: then it lies there.

States: `peer_states.py`. Bytes: `protocol/stream.py`, with a `Transform` (TLS) between it and the socket where the options
name one. Bounds: `requests_max`, PEER_UNSENT_BYTES_MAX, `response_bytes_max`; PEER_BYTES_PER_CYCLE_MAX for one cycle.

Source: Kafka `NetworkClient`, `ClusterConnectionStates`, `InFlightRequests`.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from headrace.errors import BadFrame, HeadraceError
from headrace.limits import (
    PEER_BACKOFF_FIRST_MS,
    PEER_BACKOFF_JITTER,
    PEER_BACKOFF_MAX_MS,
    PEER_BYTES_PER_CYCLE_MAX,
    PEER_REQUESTS_MAX,
    PEER_SETUP_MS,
    PEER_UNSENT_BYTES_MAX,
    RECEIVE_BYTES_BUSY,
    RESPONSE_BYTES_MAX,
)
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.protocol.stream import ResponseReader, SendQueue, Transform
from headrace.runtime.peer_states import TABLE, Act, PeerEvent, PeerState
from headrace.runtime.poller import READ, WRITE
from headrace.runtime.resolver import Address

if TYPE_CHECKING:
    from headrace.runtime.peers import Peers

_EMPTY = memoryview(b"")
_DOUBLINGS_MAX_BITS = 20

_log = logging.getLogger(__name__)


class Outcome(IntEnum):
    """What became of a request."""

    ANSWERED = 0
    NOT_SENT = 1
    UNSUPPORTED = 2
    LOST = 3
    TIMED_OUT = 4

    @property
    def is_undone(self) -> bool:
        """Whether the node has not done it for sure: to ask again does nothing twice."""
        return self in (Outcome.NOT_SENT, Outcome.UNSUPPORTED)


# Called once with what became of a request, and the body of its response; empty unless ANSWERED.
OnReply = Callable[[Outcome, memoryview], None]


@dataclass(frozen=True, slots=True)
class PeerOptions:
    """How to speak to a node.

    asks_versions         ApiVersions first, for requests that are asked for with `version_min`
    requests_max          sent or waiting; 1: the next one is asked for when this one is told
    response_bytes_max    a larger one ends the connection
    send_buffer_bytes     SO_SNDBUF; -1 leaves the system's
    receive_buffer_bytes  SO_RCVBUF, the same
    transform             makes what stands between the socket and the frames
    """

    client_id: str = "headrace"
    asks_versions: bool = False
    requests_max: int = PEER_REQUESTS_MAX
    unsent_bytes_max: int = PEER_UNSENT_BYTES_MAX
    response_bytes_max: int = RESPONSE_BYTES_MAX
    setup_ms: int = PEER_SETUP_MS
    backoff_first_ms: int = PEER_BACKOFF_FIRST_MS
    backoff_max_ms: int = PEER_BACKOFF_MAX_MS
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    transform: Callable[[], Transform] | None = None


class PeerRequest:
    """One that was asked for and is not told yet.

    frame    where its version was known at once; None otherwise, and after it was queued
    timer    serial of its deadline
    end      how many bytes the connection has taken when all of it is out; 0: not queued
    """

    __slots__ = (
        "api_key", "correlation_id", "end", "frame", "frame_bytes", "into", "message", "on_reply", "timer", "version",
        "version_min",
    )  # fmt: skip

    def __init__(
        self,
        api_key: int,
        version: int,
        version_min: int | None,
        message: Any,
        on_reply: OnReply,
        into: memoryview | None,
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.version_min = version_min
        self.message = message
        self.on_reply = on_reply
        self.into = into
        self.correlation_id = 0
        self.frame: bytes | None = None
        self.frame_bytes = 0
        self.timer = 0
        self.end = 0


class Peer:
    """One node, as one process of ours speaks to it.

    state   to be read
    """

    __slots__ = (
        "_addresses", "_events", "_failures", "_host", "_options", "_peers", "_port", "_queue", "_reason", "_requests",
        "_responses", "_scratch", "_sock", "_timer", "_told", "_transform", "_unqueued_bytes", "_versions", "address", "state",
    )  # fmt: skip

    def __init__(self, peers: Peers, host: str, port: int, options: PeerOptions) -> None:
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.state = PeerState.IDLE
        self._peers = peers
        self._host = host
        self._port = port
        self._options = options
        self._addresses: deque[Address] = deque()  # that were not tried yet
        self._failures = 0  # in a row: without a single answer between them
        self._reason = ""  # of the last failure
        self._timer = 0  # of the state
        self._sock: socket.socket | None = None
        self._events = 0  # that the poller waits for
        self._transform: Transform | None = None
        self._scratch = _EMPTY
        self._requests: deque[PeerRequest] = deque()  # as they were asked for
        self._unqueued_bytes = 0  # of frames that wait for the connection
        self._versions: dict[int, tuple[int, int]] | None = None
        self._told: list[tuple[PeerRequest, Outcome]] = []  # outcomes to tell when the state is right again
        self._queue = SendQueue()
        self._responses = ResponseReader(self.address, options.response_bytes_max)

    def __len__(self) -> int:
        """Requests that were asked for and are not told yet."""
        return len(self._requests)

    @property
    def unsent_bytes(self) -> int:
        """Of requests that the system has not taken."""
        wrapped = 0 if self._transform is None else self._transform.outgoing.unsent_bytes
        return self._queue.unsent_bytes + self._unqueued_bytes + wrapped

    def ask(
        self,
        api_key: int,
        version: int,
        message: Any,
        on_reply: OnReply,
        timeout_ms: int,
        *,
        version_min: int | None = None,
        into: memoryview | None = None,
    ) -> bool:
        """Send a request when the connection is there.

        version_min   the highest version that the node serves from here to `version` (`version_of` says which it was); only
                      where the options ask for versions. None: `version`, unseen, as among brokers of one cluster
        timeout_ms    from now to the response
        into          memory for the response, header and all; one that does not fit comes as others do
        returns       False, where too much waits already: nothing will be sent, nothing will come
        """
        assert version_min is None or self._options.asks_versions
        if self.state is PeerState.CLOSED or len(self._requests) >= self._options.requests_max:
            return False
        request = PeerRequest(api_key, version, version_min, message, on_reply, into)
        request.correlation_id = self._responses.draw_id()
        if version_min is None:
            frame = build_request(api_key, version, request.correlation_id, self._options.client_id, message)
            waiting = self.unsent_bytes
            if waiting and waiting + len(frame) > self._options.unsent_bytes_max:
                return False
            request.message, request.frame, request.frame_bytes = None, frame, len(frame)
        elif self.unsent_bytes > self._options.unsent_bytes_max:
            return False
        request.timer = self._peers.schedule_request(timeout_ms, self, request)
        if not request.timer:
            return False
        self._unqueued_bytes += request.frame_bytes
        self._requests.append(request)
        self._peers.asked(self)
        return True

    def version_of(self, api_key: int, version_min: int, version: int) -> int | None:
        """The highest version that both serve; None where there is none, or it is not known (now)."""
        served = None if self._versions is None else self._versions.get(api_key)
        if served is None or served[1] < version_min or served[0] > version:
            return None
        return min(version, served[1])

    def close(self) -> None:
        """Give the connection up for good; what was asked for is told, from within this call."""
        self._step(PeerEvent.CLOSE)
        self._tell()

    # For `Peers`

    def turn(self) -> None:
        """The end of a cycle: connect where something waits, send what was asked for."""
        if self._requests:
            self._step(PeerEvent.ASKED)
        self._tell()

    def resolve(self) -> bool:
        """Whether the name was looked up; asked while RESOLVING."""
        found = self._peers.resolver.lookup(self._host, self._port)
        if found is None:
            return False
        self._addresses.extend(found)
        if found:
            self._step(PeerEvent.RESOLVED)
        else:
            self._step(PeerEvent.BROKEN, "the name has no address")
        self._tell()
        return True

    def expire(self, serial: int, request: PeerRequest | None) -> None:
        """A deadline passed: a request's, or the state's own."""
        if request is None:
            if serial == self._timer:
                self._timer = 0
                self._step(PeerEvent.TIME)
        elif request.end:
            request.timer = 0
            taken = self._queue.taken_bytes
            late = "taken" if request.end > taken else "answered"
            self._step(PeerEvent.BROKEN, f"a request was not {late} in time", request)
        else:
            request.timer = 0
            self._unqueued_bytes -= request.frame_bytes
            self._requests.remove(request)
            self._told.append((request, Outcome.NOT_SENT))
        self._tell()

    # The engine

    def _step(self, event: PeerEvent, *details: Any) -> None:
        """What the table says."""
        row = TABLE[self.state][event]
        if row is None:
            return
        assert not isinstance(row, bool), f"{event.name} in {self.state.name}"
        before = self.state
        _ACTS[row.act](self, *details)
        assert self.state in row.states, f"{before.name} led to {self.state.name} by {event.name}"

    def _enter(self, state: PeerState, timeout_ms: int = 0) -> None:
        """Into a state, which lasts so long at most; 0: no bound."""
        self.state = state
        if self._timer:
            self._peers.deadlines.cancel(self._timer)
            self._timer = 0
        if timeout_ms:
            self._timer = self._peers.schedule_state(timeout_ms, self)

    def _tell(self) -> None:
        """Tell outcomes; what hears of them may ask, and close."""
        while self._told:
            told, self._told = self._told, []
            for request, outcome in told:
                self._peers.settled(request)
                _settle(request.on_reply, outcome, _EMPTY)

    # Acts

    def _resolve(self) -> None:
        """Find its addresses, unless some were not tried yet."""
        self._enter(PeerState.RESOLVING, self._options.setup_ms)
        if self._addresses or (found := self._peers.resolver.lookup(self._host, self._port)):
            if not self._addresses:
                self._addresses.extend(found)
            self._step(PeerEvent.RESOLVED)
        elif found is None:
            self._peers.wait_for_name(self)
        else:
            self._step(PeerEvent.BROKEN, "the name has no address")

    def _connect(self) -> None:
        """Have the system connect; within what is left of the time for it all."""
        family, address = self._addresses.popleft()
        self.state = PeerState.CONNECTING
        try:
            self._sock = sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
            for option, size in (
                (socket.SO_SNDBUF, self._options.send_buffer_bytes),
                (socket.SO_RCVBUF, self._options.receive_buffer_bytes),
            ):
                if size > 0:
                    sock.setsockopt(socket.SOL_SOCKET, option, size)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = sock.connect_ex(address)
        except OSError as failure:
            self._step(PeerEvent.BROKEN, str(failure))
            return
        if code not in (0, errno.EINPROGRESS):
            self._step(PeerEvent.BROKEN, os.strerror(code))
            return
        self._events = WRITE
        self._peers.poller.register(sock.fileno(), WRITE, self._on_events)

    def _greet(self) -> None:
        """Connected: ask for its versions, or begin."""
        options = self._options
        if options.transform is not None:
            self._transform = options.transform()
            self._scratch = memoryview(bytearray(RECEIVE_BYTES_BUSY))
        if not options.asks_versions:
            self._welcome(None)
            return
        self.state = PeerState.GREETING
        correlation_id = self._responses.draw_id()
        request = messages.ApiVersionsRequest()
        self._queue.put(build_request(ApiKey.API_VERSIONS, 0, correlation_id, options.client_id, request))
        self._responses.expect(correlation_id, ApiKey.API_VERSIONS, 0)
        self._send()

    def _welcome(self, versions: dict[int, tuple[int, int]] | None) -> None:
        """Its versions are known, or not asked for: send what waits."""
        self._versions = versions
        self._enter(PeerState.READY)
        if not self._failures:  # else its first answer is news
            _log.info("node connected address=%s", self.address)
        self._transmit()

    def _transmit(self) -> None:
        """Queue what waits, each under the next correlation id, and send."""
        requests = self._requests
        first = len(requests)
        while first and not requests[first - 1].end:
            first -= 1
        waiting = [requests.pop() for _ in range(len(requests) - first)]
        while waiting:
            request = waiting.pop()
            self._unqueued_bytes -= request.frame_bytes
            if request.version_min is not None:
                version = self.version_of(request.api_key, request.version_min, request.version)
                if version is None:
                    self._told.append((request, Outcome.UNSUPPORTED))
                    continue
                request.version = version
            frame, correlation_id = request.frame, request.correlation_id
            if frame is None:
                frame = build_request(
                    request.api_key, request.version, correlation_id, self._options.client_id, request.message
                )
            request.end = self._queue.put(frame)
            request.message, request.frame, request.frame_bytes = None, None, 0
            self._responses.expect(correlation_id, request.api_key, request.version, request, request.into)
            requests.append(request)
        self._send()

    def _back_off(self, reason: str, late: PeerRequest | None = None) -> None:
        """The connection is gone: all that was asked for fails, and the next try has to wait."""
        self._fail_all(late)
        self._failures += 1
        options = self._options
        doubled_ms = options.backoff_first_ms << min(self._failures - 1, _DOUBLINGS_MAX_BITS)
        jitter = 1 + PEER_BACKOFF_JITTER * (2 * self._peers.chance() - 1)
        backoff_ms = max(1, round(min(doubled_ms, options.backoff_max_ms) * jitter))
        if reason != self._reason:  # one line for a node that is away, not one for each try
            self._reason = reason
            _log.warning("node not connected address=%s reason=%s failed=%d", self.address, reason, len(self._told))
        self._enter(PeerState.BACKING_OFF, backoff_ms)

    def _be_late(self) -> None:
        self._back_off(f"{self.state.value}, not ready after {self._options.setup_ms} ms")

    def _resume(self) -> None:
        """The back-off is over."""
        if self._requests:
            self._resolve()
        else:
            self._enter(PeerState.IDLE)

    def _shut(self) -> None:
        self._fail_all(None)
        self._enter(PeerState.CLOSED)

    def _fail_all(self, late: PeerRequest | None) -> None:
        """Hang up; every request fails, each by what is known of it."""
        if self.state is PeerState.RESOLVING:
            self._peers.resolver.forget(self._host, self._port)
        taken = self._queue.taken_bytes
        for request in self._requests:
            outcome = Outcome.NOT_SENT if not 0 < request.end <= taken else Outcome.LOST
            if request is late and outcome is Outcome.LOST:
                outcome = Outcome.TIMED_OUT
            self._told.append((request, outcome))
        self._requests.clear()
        self._unqueued_bytes = 0
        self._versions = None
        self._queue = SendQueue()
        self._transform = None
        self._scratch = _EMPTY
        self._responses = ResponseReader(self.address, self._options.response_bytes_max, self._responses.last_id)
        if self._sock is not None:
            if self._events:
                self._peers.poller.forget(self._sock.fileno())
                self._events = 0
            self._sock.close()
            self._sock = None

    # The socket

    def _on_events(self, events: int) -> int:
        if self.state is PeerState.CONNECTING:
            done = self._check_connected()
        else:
            done = self._receive() if events & ~WRITE else 0
            if events & WRITE and self._sock is not None:
                self._send()
                done += 1
        self._tell()
        return done

    def _check_connected(self) -> int:
        """Whether the connect is through; one that met itself (a port of ours that nobody listens on) is none."""
        sock = self._sock
        assert sock is not None
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        try:
            is_own = not code and sock.getpeername() == sock.getsockname()
        except OSError:
            return 0  # not yet
        if code or is_own:
            self._step(PeerEvent.BROKEN, os.strerror(code) if code else "nobody listens, it met itself")
        else:
            self._watch(READ)
            self._step(PeerEvent.CONNECTED)
        return 1

    def _watch(self, events: int) -> None:
        assert self._sock is not None
        if events != self._events:
            self._events = events
            self._peers.poller.modify(self._sock.fileno(), events)

    def _send(self) -> None:
        """As much as the system takes; the rest when it takes more. A failure is met by `_receive`, behind what came before it."""
        sock, transform = self._sock, self._transform
        assert sock is not None
        try:
            while True:
                queue = self._queue if transform is None else self._wrap(transform)
                if not (parts := queue.gather()):
                    break
                queue.sent(sock.sendmsg(parts))
        except BlockingIOError:
            self._watch(READ | WRITE)
            return
        except OSError as failure:
            if failure.errno not in (errno.EPIPE, errno.ECONNRESET):
                self._step(PeerEvent.BROKEN, str(failure))
                return
        self._watch(READ)

    def _wrap(self, transform: Transform) -> SendQueue:
        """Through the transform, as much as it takes now, and the system soon."""
        queue, outgoing = self._queue, transform.outgoing
        while outgoing.unsent_bytes < RECEIVE_BYTES_BUSY and (parts := queue.gather()):
            count = transform.write(parts[0])
            if not count:
                break
            queue.sent(count)
        return outgoing

    def _receive(self) -> int:
        """What came, up to this peer's share of a cycle; returns the work done."""
        sock, responses, transform = self._sock, self._responses, self._transform
        assert sock is not None
        left_bytes = PEER_BYTES_PER_CYCLE_MAX
        done = 0
        try:
            while left_bytes > 0:
                room = responses.room() if transform is None else self._scratch
                if len(room) > left_bytes:
                    room = room[:left_bytes]
                count = sock.recv_into(room)
                if not count:
                    self._step(PeerEvent.BROKEN, "closed by the node")
                    return done + 1
                left_bytes -= count
                if transform is None:
                    if responses.received(count):
                        done += self._take_responses(responses)
                else:
                    done += self._unwrap(transform, responses, room[:count])
                if responses is not self._responses:
                    return done + 1  # gone by what was heard
                if count < len(room):
                    break
        except BlockingIOError:
            pass
        except (BadFrame, OSError) as failure:
            if responses is self._responses:
                self._step(PeerEvent.BROKEN, str(failure))
            return done + 1
        return done + 1

    def _unwrap(self, transform: Transform, responses: ResponseReader, received: memoryview) -> int:
        """Through the transform, into frames; it may have something to say itself, and take more then."""
        transform.feed(received)
        done = 0
        while responses is self._responses and (count := transform.read_into(responses.room())):
            if responses.received(count):
                done += self._take_responses(responses)
        if responses is self._responses:
            self._send()
        return done

    def _take_responses(self, responses: ResponseReader) -> int:
        """Every response that is whole."""
        done = 0
        while responses is self._responses and (response := responses.next_response()) is not None:
            done += 1
            (_id, _key, _version, request, _into), body = response
            if not isinstance(request, PeerRequest):
                self._step(PeerEvent.GREETED, _served(body))
                continue
            first = self._requests.popleft()
            assert first is request, "they are told in their order"
            self._peers.settled(request)
            if self._failures:
                _log.info("node answers again address=%s failures=%d", self.address, self._failures)
                self._failures, self._reason = 0, ""
            _settle(request.on_reply, Outcome.ANSWERED, body)
        return done


def _served(body: memoryview) -> dict[int, tuple[int, int]]:
    """raises   BadFrame, where a node does not say what it serves"""
    answer = decode_response(ApiKey.API_VERSIONS, 0, body)
    if answer.error_code:
        raise BadFrame(f"versions refused by error {answer.error_code}")
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}


def _settle(on_reply: OnReply, outcome: Outcome, body: memoryview) -> None:
    try:
        on_reply(outcome, body)
    except HeadraceError:
        raise
    except Exception:  # what one node says must not end the process that asked
        _log.exception("a reply was not taken outcome=%s", outcome.name)


_ACTS: dict[Act, Callable[..., None]] = {
    Act.RESOLVE: Peer._resolve,
    Act.CONNECT: Peer._connect,
    Act.GREET: Peer._greet,
    Act.WELCOME: Peer._welcome,
    Act.TRANSMIT: Peer._transmit,
    Act.BACK_OFF: Peer._back_off,
    Act.BE_LATE: Peer._be_late,
    Act.RESUME: Peer._resume,
    Act.SHUT: Peer._shut,
}

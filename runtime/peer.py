"""A connection to another node that never blocks: requests out, their replies by callback.

Runs in: any process, over its `Poller`; made by `Peers` (`peers.py`), which has what all of a process's peers share.

    ask -> waits for the connection, or for the end of the cycle -> sent -> on_reply(outcome, body), once, never within `ask`

Outcomes: `peer_request.py`. A node answers one connection's requests in their order, so they may be pipelined, and are told in
that order. When the connection goes, all that was asked fails, each once, and what waited to be sent too: the order of
requests is their owner's, who asks again. What is asked while the peer backs off waits for the next try, so an owner who asks
again at once is no busy loop.

A reply's body is gone after `on_reply`, unless it was asked for with `into`: then it lies there.

States: `peer_states.py`. The socket: `wire.py`. Bounds: `requests_max`, `unsent_bytes_max`, `response_bytes_max`, and
PEER_BYTES_PER_CYCLE_MAX for one cycle.

Source: Kafka `NetworkClient`, `ClusterConnectionStates`, `InFlightRequests`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headrace.backoff import Backoff
from headrace.errors import BadFrame
from headrace.limits import PEER_BACKOFF_JITTER
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.protocol.stream import Response, next_correlation_id
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import OnReply, Outcome, PeerRequest
from headrace.runtime.peer_states import TABLE, Act, PeerEvent, PeerState
from headrace.runtime.poller import WRITE
from headrace.runtime.resolver import Address
from headrace.runtime.wire import CLOSED_BY_NODE, Wire, WireBroken

if TYPE_CHECKING:
    from headrace.runtime.peers import Peers

_log: Final = logging.getLogger(__name__)


class Peer:
    """One node, as one process of ours speaks to it.

    state   to be read
    """

    __slots__ = (
        "_addresses", "_backoff", "_connections", "_host", "_last_id", "_options", "_peers", "_port", "_reason", "_requests", "_timer",
        "_told", "_unqueued_bytes", "_versions", "_wire", "address", "state",
    )  # fmt: skip

    def __init__(self, peers: Peers, host: str, port: int, options: PeerOptions) -> None:
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.state = PeerState.IDLE
        self._peers = peers
        self._host = host
        self._port = port
        self._options = options
        self._addresses: deque[Address] = deque()  # that were not tried yet
        self._connections = 0  # so far
        self._backoff = Backoff(  # of failures without a single answer between them
            options.backoff_first_ms, options.backoff_max_ms, PEER_BACKOFF_JITTER, peers.chance
        )
        self._reason = ""  # of the last failure
        self._timer = 0  # of the state
        self._wire: Wire | None = None  # from CONNECTING to READY
        self._last_id = 0  # correlation id
        self._requests: deque[PeerRequest] = deque()  # as they were asked for
        self._unqueued_bytes = 0  # of frames that wait for the connection
        self._versions: dict[int, tuple[int, int]] | None = None
        self._told: list[tuple[PeerRequest, Outcome]] = []  # outcomes to tell when the state is right again

    def __len__(self) -> int:
        """Requests that were made and are not reported yet."""
        return len(self._requests)

    @property
    def connection(self) -> int:
        """The number of the connection that is there, from 1 on; 0: none is. After another number the node may have restarted, whether
        or not a request was in flight. What is asked goes by one connection, or fails.
        """
        return self._connections if self.state is PeerState.READY else 0

    @property
    def unsent_bytes(self) -> int:
        """Of requests that the system has not taken."""
        return self._unqueued_bytes + (0 if self._wire is None else self._wire.unsent_bytes)

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
        request.correlation_id = self._draw_id()
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

    # For `Peers`

    def shut(self) -> None:
        """Its owner closed it: what was asked for is reported, from within this call."""
        self._step(PeerEvent.CLOSE)
        self._tell()

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
            taken = 0 if self._wire is None else self._wire.taken_bytes
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

    def _draw_id(self) -> int:
        self._last_id = next_correlation_id(self._last_id)
        return self._last_id

    def _tell(self) -> None:
        """Tell outcomes; what hears of them may ask, and close."""
        while self._told:
            told, self._told = self._told, []
            for request, outcome in told:
                self._peers.settled(request)
                request.settle(outcome)

    # Acts

    def _resolve(self) -> None:
        """Find its addresses, unless some were not tried yet."""
        self._enter(PeerState.RESOLVING, self._options.setup_ms)
        if not self._addresses:
            found = self._peers.resolver.lookup(self._host, self._port)
            if found is None:
                self._peers.wait_for_name(self)
                return
            self._addresses.extend(found)
        if self._addresses:
            self._step(PeerEvent.RESOLVED)
        else:
            self._step(PeerEvent.BROKEN, "the name has no address")

    def _connect(self) -> None:
        """Have the system connect; within what is left of the time for it all."""
        self.state = PeerState.CONNECTING
        target = self._addresses.popleft()
        try:
            self._wire = Wire(self._peers.poller, self.address, self._options, target, self._on_events)
        except WireBroken as failure:
            self._step(PeerEvent.BROKEN, str(failure))

    def _greet(self) -> None:
        """Connected: ask for its versions, or begin."""
        if not self._options.asks_versions:
            self._welcome(None)
            return
        assert self._wire is not None
        self.state = PeerState.GREETING
        correlation_id = self._draw_id()
        request = messages.ApiVersionsRequest()
        frame = build_request(ApiKey.API_VERSIONS, 0, correlation_id, self._options.client_id, request)
        self._wire.put(frame, correlation_id, ApiKey.API_VERSIONS, 0)
        self._send()

    def _welcome(self, versions: dict[int, tuple[int, int]] | None) -> None:
        """Its versions are known, or not asked for: send what waits."""
        self._versions = versions
        self._connections += 1
        self._enter(PeerState.READY)
        if not self._backoff.failures:  # else its first answer is news
            _log.info("node connected address=%s", self.address)
        self._transmit()

    def _transmit(self) -> None:
        """Queue what waits, and send."""
        requests, wire = self._requests, self._wire
        assert wire is not None
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
            request.end = wire.put(frame, correlation_id, request.api_key, request.version, request, request.into)
            request.message, request.frame, request.frame_bytes = None, None, 0
            requests.append(request)
        self._send()

    def _back_off(self, reason: str, late: PeerRequest | None = None) -> None:
        """The connection is gone: all that was asked for fails, and the next try has to wait."""
        self._fail_all(late)
        backoff_ms = self._backoff.next_ms()
        if reason != self._reason:  # one line for a node that is away, not one for each try
            self._reason = reason
            is_idle = not self._told and reason == CLOSED_BY_NODE  # nodes close what nothing uses
            level = logging.INFO if is_idle else logging.WARNING
            _log.log(level, "node not connected address=%s reason=%s failed=%d", self.address, reason, len(self._told))
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
        taken = 0 if self._wire is None else self._wire.taken_bytes
        for request in self._requests:
            outcome = Outcome.NOT_SENT if not 0 < request.end <= taken else Outcome.LOST
            if request is late and outcome is Outcome.LOST:
                outcome = Outcome.TIMED_OUT
            self._told.append((request, outcome))
        self._requests.clear()
        self._unqueued_bytes = 0
        self._versions = None
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    # The socket

    def _on_events(self, events: int) -> int:
        wire = self._wire
        assert wire is not None
        done = 1
        try:
            if self.state is PeerState.CONNECTING:
                if wire.is_connected():
                    self._step(PeerEvent.CONNECTED)
            else:
                if events & ~WRITE:
                    done = wire.receive(self._take_response)
                if events & WRITE and wire.is_open:
                    wire.send()
        except WireBroken as failure:
            self._break(wire, failure)
        self._tell()
        return done

    def _break(self, wire: Wire, failure: WireBroken) -> None:
        """A wire failed; unless it was given up meanwhile."""
        if wire.is_open:
            self._step(PeerEvent.BROKEN, str(failure))

    def _send(self) -> None:
        wire = self._wire
        assert wire is not None
        try:
            wire.send()
        except WireBroken as failure:
            self._break(wire, failure)

    def _take_response(self, response: Response) -> None:
        asked, body = response
        request = asked.what
        if not isinstance(request, PeerRequest):
            self._step(PeerEvent.GREETED, _served(body))
            return
        first = self._requests.popleft()
        assert first is request, "they are told in their order"
        self._peers.settled(request)
        if self._backoff.failures:
            _log.info("node responds again address=%s failures=%d", self.address, self._backoff.failures)
            self._backoff.reset()
            self._reason = ""
        request.settle(Outcome.ANSWERED, body)


def _served(body: memoryview) -> dict[int, tuple[int, int]]:
    """raises   BadFrame, where a node does not say what it serves"""
    answer = decode_response(ApiKey.API_VERSIONS, 0, body)
    if answer.error_code:
        raise BadFrame(f"versions refused by error {answer.error_code}")
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}


_ACTS: Final[dict[Act, Callable[..., None]]] = {
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

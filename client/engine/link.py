"""One connection to a broker, without its socket: bytes in, responses out; requests in, bytes out.

    WANTED       a driver is to open it; requests wait
    CONNECTING   the driver is at it
    GREETING     connected: ApiVersions, then what security asks for, are in flight; requests wait
    READY        requests are written at once, several in flight; a broker answers in their order
    CLOSED       for good: what had no response has failed; the next request to that broker makes a new link

A link stands for (node, lane). Lanes keep what waits long in the broker (a fetch, a join) out of the way of what does not, as a
broker answers one request of a connection after the other.

Bytes of a response are taken as `protocol.stream.ResponseReader` does: a large one is received where it stays.

Source: Kafka `NetworkClient`, `ClusterConnectionStates`, `ApiVersions`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from headrace.client.failures import ConnectionFailed, error_of
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request_parts
from headrace.protocol.stream import ResponseReader, SendQueue, next_correlation_id

GREETING_TIMEOUT_S: Final = 10.0  # for each of the first responses
NO_VERSION: Final = -1  # of an answer without a response

Versions = tuple[int, int]
Message = Any  # of the schema, or a function of the version that makes it


class Lane(Enum):
    """What a link of a broker is for."""

    GENERAL = "general"
    FETCH = "fetch"
    GROUP = "group"


class LinkState(Enum):
    WANTED = "wanted"
    CONNECTING = "connecting"
    GREETING = "greeting"
    READY = "ready"
    CLOSED = "closed"


class Answer(NamedTuple):
    """What became of a request: its response, or why there is none.

    version   of the response; NO_VERSION: there is none
    body      of the schema; None where `failure` says why
    """

    version: int
    body: Any
    failure: HeadraceError | None


OnAnswer = Callable[[Answer], None]
Step = tuple[int, Versions, Any]  # api key, versions, message


class Security(Protocol):
    """The room for credentials: what a new connection asks and answers before it is used (SASL)."""

    def handshake(self) -> Generator[Step, Any, None]:
        """Requests in turn; each yields its response. raises KafkaError, where the broker refuses"""


class Pending(NamedTuple):
    """A request that was not answered yet."""

    api_key: int
    versions: Versions
    message: Message
    on_answer: OnAnswer
    deadline_s: float
    is_answered: bool  # a produce with acks=0 is not


class Link:
    """A connection as its requests see it.

    key      (node id, lane)
    out      bytes to send
    used_s   when it was asked, or answered, last
    """

    __slots__ = (
        "_correlation_id", "_greeting", "_in_flight", "_reader", "_served", "_unconfirmed", "_waiting", "address", "client_id", "host",
        "key", "out", "port", "security", "state", "used_s",
    )  # fmt: skip

    def __init__(
        self, key: tuple[int, Lane], host: str, port: int, client_id: str, security: Security | None = None
    ) -> None:
        self.key = key
        self.host = host
        self.port = port
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.client_id = client_id
        self.security = security
        self.state = LinkState.WANTED
        self.out = SendQueue()
        self.used_s = 0.0
        self._reader = ResponseReader(self.address)
        self._in_flight: deque[Pending] = deque()
        self._waiting: list[Pending] = []  # until the link is ready
        self._unconfirmed: deque[tuple[int, Pending]] = deque()  # without a response: done once the socket has them
        self._served: dict[int, Versions] = {}
        self._correlation_id = 0
        self._greeting: Generator[Step, Any, None] | None = None

    def __len__(self) -> int:
        """Requests without a response."""
        return len(self._in_flight) + len(self._waiting) + len(self._unconfirmed)

    def __repr__(self) -> str:
        return f"Link({self.key[0]}, {self.key[1].value}, {self.address}, {self.state.value}, {len(self)} without a response)"

    @property
    def is_ready(self) -> bool:
        return self.state is LinkState.READY

    # What a driver calls

    def opening(self) -> None:
        assert self.state is LinkState.WANTED, self.state
        self.state = LinkState.CONNECTING

    def connected(self, now_s: float) -> None:
        """The socket is connected: the greeting goes out."""
        assert self.state is LinkState.CONNECTING, self.state
        self.state = LinkState.GREETING
        self._greeting = self._greet()
        self._greet_on(None, now_s, is_first=True)

    def room(self) -> memoryview:
        """Where the next bytes go; what responses were handed out before is gone then, unless it was kept by `own`."""
        return self._reader.room()

    def received(self, count: int, now_s: float) -> bool:
        """`count` bytes came into the room. Responses are handed to what asked; False: none can be whole yet.

        raises   BadFrame, for bytes that are no response of Kafka's; what a handshake raises. The link is to be closed then
        """
        reader = self._reader
        if not reader.received(count):
            return False
        while self.state is not LinkState.CLOSED and (response := reader.next_response()) is not None:
            asked, body = response
            decoded = decode_response(asked.api_key, asked.version, reader.own(body))
            pending = self._in_flight.popleft()  # after it was decoded: a bad response fails it as well
            pending.on_answer(Answer(asked.version, decoded, None))
        self.used_s = now_s
        return True

    def close(self, failure: HeadraceError) -> None:
        """For good; every request without a response fails with this."""
        if self.state is LinkState.CLOSED:
            return
        self.state = LinkState.CLOSED
        given_up = [*self._in_flight, *(pending for _mark, pending in self._unconfirmed), *self._waiting]
        self._reader.give_up()
        self._in_flight.clear()
        self._unconfirmed.clear()
        self._waiting = []
        self.out = SendQueue()
        greeting, self._greeting = self._greeting, None
        if greeting is not None:
            greeting.close()
        for pending in given_up:
            pending.on_answer(Answer(NO_VERSION, None, failure))

    # What the engine calls

    def ask(self, pending: Pending, now_s: float) -> None:
        """Write a request, or keep it until the link is ready. An unsupported version is answered at once."""
        assert self.state is not LinkState.CLOSED
        if self.state is not LinkState.READY:
            self._waiting.append(pending)
            return
        self._write(pending, now_s)

    def oldest_deadline_s(self) -> float:
        """The deadline of the response that is due first; those that wait for the link count as well."""
        due_s = min((pending.deadline_s for pending in self._waiting), default=float("inf"))
        if self._in_flight:
            due_s = min(due_s, self._in_flight[0].deadline_s)
        if self._unconfirmed:
            due_s = min(due_s, self._unconfirmed[0][1].deadline_s)
        return due_s

    @property
    def has_sent(self) -> bool:
        """Whether the socket has taken a request that has no response."""
        return bool(self._unconfirmed) and self._unconfirmed[0][0] <= self.out.taken_bytes

    def confirm(self) -> None:
        """What has no response and was taken by the socket is done."""
        while self.has_sent:
            _mark, pending = self._unconfirmed.popleft()
            pending.on_answer(Answer(NO_VERSION, None, None))

    def version(self, api_key: int, low: int, high: int) -> int:
        """The highest version in low..high that the broker supports; -1: none. Only of a link that is ready."""
        served = self._served.get(api_key)
        if served is None or served[1] < low or served[0] > high:
            return -1
        return min(high, served[1])

    def _write(self, pending: Pending, now_s: float) -> None:
        version = self.version(pending.api_key, *pending.versions)
        if version < 0:
            pending.on_answer(Answer(NO_VERSION, None, self._unsupported(pending)))
            return
        self._put(pending, version, now_s)

    def _put(self, pending: Pending, version: int, now_s: float) -> None:
        try:
            message = pending.message(version) if callable(pending.message) else pending.message
        except HeadraceError as failure:  # it can't be said in this version
            pending.on_answer(Answer(version, None, failure))
            return
        self._correlation_id = correlation_id = next_correlation_id(self._correlation_id)
        for part in build_request_parts(pending.api_key, version, correlation_id, self.client_id, message):
            self.out.put(part)
        self.used_s = now_s
        if pending.is_answered:
            self._reader.expect(correlation_id, pending.api_key, version)
            self._in_flight.append(pending)
        else:
            self._unconfirmed.append((self.out.taken_bytes + self.out.unsent_bytes, pending))

    def _unsupported(self, pending: Pending) -> KafkaError:
        served = self._served.get(pending.api_key)
        has = f"v{served[0]} to v{served[1]}" if served else "none"
        low, high = pending.versions
        return KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"{ApiKey(pending.api_key).api_name} v{low} to v{high} is required, the broker at {self.address} supports {has}",
        )

    # The greeting

    def _greet(self) -> Generator[Step, Any, None]:
        answer = yield ApiKey.API_VERSIONS, (0, 0), messages.ApiVersionsRequest()
        if answer.error_code:
            raise error_of(answer.error_code, f"ApiVersions of {self.address}")
        self._served = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
        if self.security is not None:
            yield from self.security.handshake()

    def _greet_on(self, response: Any, now_s: float, is_first: bool = False) -> None:
        assert self._greeting is not None
        try:
            api_key, versions, message = next(self._greeting) if is_first else self._greeting.send(response)
        except StopIteration:
            self._greeting = None
            self._is_ready(now_s)
            return

        def answered(answer: Answer) -> None:
            if answer.failure is None and self.state is LinkState.GREETING:
                self._greet_on(answer.body, now_s)

        pending = Pending(api_key, versions, message, answered, now_s + GREETING_TIMEOUT_S, True)
        version = versions[1] if api_key == ApiKey.API_VERSIONS else self.version(api_key, *versions)
        if version < 0:
            raise self._unsupported(pending)
        self._put(pending, version, now_s)

    def _is_ready(self, now_s: float) -> None:
        self.state = LinkState.READY
        waiting, self._waiting = self._waiting, []
        for pending in waiting:
            self._write(pending, now_s)


def closed_by_broker(link: Link) -> ConnectionFailed:
    """What to close a link with where the other end hung up."""
    hint = " (before the first response: is it a TLS or SASL listener?)" if link.state is LinkState.GREETING else ""
    return ConnectionFailed(f"{link.address}: closed by the broker{hint}")


def bad_response(link: Link, failure: HeadraceError) -> HeadraceError:
    """What to close a link with where its bytes are no response."""
    return ConnectionFailed(f"{link.address}: {failure}") if isinstance(failure, BadFrame) else failure

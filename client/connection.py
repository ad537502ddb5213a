"""One blocking connection to a broker: a request, its response.

A request has one deadline for all of its response. A connection on which anything failed is closed: a late response would be
taken for that of the next request. `send` and `receive` are the two halves of `request`, for callers with other work to do
in between than to wait. CLIENT_IN_FLIGHT_MAX requests may be in flight; responses come in the order of the requests.

Used by Spark's driver and tasks, and by tools; never by the node's own hot path. One thread at a time.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from headrace.client.client_id import CLIENT_ID
from headrace.client.failures import ConnectionFailed
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import CLIENT_IN_FLIGHT_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.protocol.stream import ResponseReader, next_correlation_id

__all__ = ["Connection", "ConnectionFailed", "Versions", "wait_for_answers"]

T = TypeVar("T")
Versions = Mapping[int, tuple[int, int]]  # by API key: lowest, highest


class Connection:
    """A socket and the versions that its broker supports.

    assumed   those of a broker from before ApiVersions (0.9 and older), which hangs up when it is asked; None: such a broker is refused
    """

    def __init__(
        self,
        host: str,
        port: int,
        timeout_s: float = 30.0,
        client_id: str = CLIENT_ID,
        assumed: Versions | None = None,
    ) -> None:
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._timeout_s = timeout_s
        self._client_id = client_id
        self._correlation_id = 0
        self._responses = ResponseReader(self.address)
        self._socket = self._connected(host, port)
        self._served: Versions
        try:
            answer = self.request(ApiKey.API_VERSIONS, 0, messages.ApiVersionsRequest())
        except ConnectionFailed:
            if assumed is None:
                raise
            self._responses = ResponseReader(self.address)
            self._socket = self._connected(host, port)
            self._served = assumed
        else:
            self._served = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}

    def version(self, api_key: int, low: int, high: int) -> int:
        """The highest version in low..high that the broker supports.

        raises   KafkaError UNSUPPORTED_VERSION, if there is none
        """
        served = self._served.get(api_key)
        if served is None or served[1] < low or served[0] > high:
            name = ApiKey(api_key).api_name
            has = f"v{served[0]} to v{served[1]}" if served else "none"
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{name} v{low} to v{high} is required, the broker at {self.address} supports {has}",
            )
        return int(min(high, served[1]))

    def request(self, api_key: int, version: int, message: messages.Request[T], timeout_s: float | None = None) -> T:
        """Send a request and wait for its response.

        timeout_s   for this response, if it may take longer than others
        raises      ConnectionFailed, if the connection breaks or the deadline passes; BadFrame, for a
                    malformed response
        """
        self.send(api_key, version, message)
        response: T = self.receive(timeout_s)
        return response

    def send(self, api_key: int, version: int, message: messages.Request[Any], is_answered: bool = True) -> None:
        """Send a request whose response is left to `receive`; a produce with acks=0 has none.

        raises   ConnectionFailed
        """
        responses = self._responses
        assert len(responses) < CLIENT_IN_FLIGHT_MAX, "too many requests in flight"
        self._correlation_id = correlation_id = next_correlation_id(self._correlation_id)
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(build_request(api_key, version, correlation_id, self._client_id, message))
        except OSError as failure:
            self.close()
            raise ConnectionFailed(f"{self.address}: {failure}") from None
        if is_answered:
            responses.expect(correlation_id, api_key, version)

    def receive(self, timeout_s: float | None = None) -> Any:
        """Receive the response. The deadline counts from here. Raises as `request`."""
        assert self._responses, "no request was sent"
        wait_s = timeout_s or self._timeout_s
        try:
            return self._receive_response(time.monotonic() + wait_s)
        except TimeoutError:
            self.close()
            raise ConnectionFailed(
                f"{self.address}: timed out: connected, but no complete response within {wait_s:g} s"
            ) from None
        except OSError as failure:
            self.close()
            raise ConnectionFailed(f"{self.address}: {failure}") from None
        except HeadraceError:
            self.close()
            raise

    @property
    def in_flight(self) -> int:
        """Requests that a response is due for."""
        return len(self._responses)

    @property
    def has_begun_response(self) -> bool:
        """Whether bytes of the next response are here already: `select` knows nothing of them."""
        return bool(self._responses) and self._responses.buffered_bytes > 0

    def fileno(self) -> int:
        """For `select`: readable once a response begins to arrive, or the broker hung up; -1 when closed."""
        return self._socket.fileno()

    def close(self) -> None:
        self._responses.give_up()
        self._socket.close()

    def _connected(self, host: str, port: int) -> socket.socket:
        """raises   ConnectionFailed"""
        try:
            connected = socket.create_connection((host, port), timeout=self._timeout_s)
        except OSError as failure:
            raise ConnectionFailed(f"{self.address}: {failure}") from None
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def _receive_response(self, deadline_s: float) -> Any:
        """The next response; what is decoded of it may be kept, so it leaves the reader's memory."""
        responses = self._responses
        while (response := responses.next_response()) is None:
            is_whole = False
            while not is_whole:
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError
                self._socket.settimeout(left_s)
                count = self._socket.recv_into(responses.room())
                if not count:
                    raise ConnectionFailed(f"{self.address}: closed by the broker")
                is_whole = responses.received(count)
        asked, body = response
        return decode_response(asked.api_key, asked.version, responses.own(body))


def wait_for_answers(connections: Iterable[tuple[int, Connection]], wait_s: float) -> list[int]:
    """Keys of the connections with a response to read, or that broke; waits at most `wait_s`."""
    poll = select.poll()
    by_fd = {}
    for key, connection in connections:
        by_fd[connection.fileno()] = key
        poll.register(connection.fileno(), select.POLLIN)
    return [by_fd[fd] for fd, _event in poll.poll(wait_s * 1000)]

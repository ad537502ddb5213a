"""Requests that another process answers: the controller process, or a partition worker beyond its produces.

Runs in: a network worker. The request body crosses the ring as it came; the response body comes back ready to
send. Where the other process dies meanwhile, the outcome is unknown: the connection closes, and the client asks
again.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.limits import RING_BYTES_MIN
from headrace.shm.messages import ADMIN, ADMIN_HEADER, ADMIN_RESULT_HEADER
from headrace.shm.seat import Seat
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.ring_sender import RingSender

MESSAGE_BYTES_ALWAYS = RING_BYTES_MIN // 4  # any ring takes a message of this size

# Called with the response body, or None where the other process was lost, or had no right answer.
OnResult = Callable[[memoryview | None], None]


class AdminLedger:
    """Admin requests in flight, by request id."""

    def __init__(self, seat: Seat, sender: RingSender) -> None:
        self._sender = sender
        self._controller = seat.wiring.controller_id
        # request id -> process that owes the answer, whom it is for, and who makes a response of it; None: it is one
        self._pending: dict[int, tuple[int, Exchange, OnResult | None]] = {}
        self._parts: dict[int, list[bytes]] = {}  # of responses that take several messages
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._pending)

    def forward(self, exchange: Exchange, body: memoryview | bytes, process_id: int | None = None) -> None:
        """Send a client's request on; the client gets what the other process answers, as it stands.

        process_id   who is to answer; None: the controller process
        """
        self._send(exchange, exchange.api_key, exchange.api_version, body, None, process_id)

    def ask(
        self,
        exchange: Exchange,
        api_key: int,
        api_version: int,
        body: memoryview | bytes,
        on_result: OnResult,
        process_id: int | None = None,
    ) -> None:
        """Send a request of ours on behalf of `exchange`."""
        self._send(exchange, api_key, api_version, body, on_result, process_id)

    def _send(
        self,
        exchange: Exchange,
        api_key: int,
        api_version: int,
        body: memoryview | bytes,
        on_result: OnResult | None,
        process_id: int | None,
    ) -> None:
        owner = self._controller if process_id is None else process_id
        size = ADMIN_HEADER.size + len(body)
        if size > MESSAGE_BYTES_ALWAYS and size > self._sender.message_bytes_max(owner):
            exchange.close_connection(f"request of {len(body)} bytes is too large for the ring to process {owner}")
            return
        self._next_id += 1
        self._pending[self._next_id] = (owner, exchange, on_result)
        header = ADMIN_HEADER.pack(self._next_id, api_key, api_version)
        self._sender.send(exchange.connection, owner, ADMIN, header, body)

    def take_result(self, body: memoryview) -> None:
        """Settle an ADMIN_RESULT message."""
        (request_id,) = ADMIN_RESULT_HEADER.unpack_from(body)
        pending = self._pending.pop(request_id, None)
        parts = self._parts.pop(request_id, None) if self._parts else None
        if pending is not None:
            response = body[ADMIN_RESULT_HEADER.size :]
            if parts is not None:
                response = memoryview(b"".join((*parts, response)))
            _settle(pending[1], pending[2], response if len(response) else None)  # empty: no answer is right

    def take_part(self, body: memoryview) -> None:
        """Keep an ADMIN_PART message for the ADMIN_RESULT that follows."""
        (request_id,) = ADMIN_RESULT_HEADER.unpack_from(body)
        if request_id in self._pending:
            self._parts.setdefault(request_id, []).append(bytes(body[ADMIN_RESULT_HEADER.size :]))

    def forget_unsent(self, header: bytes) -> None:
        """An ADMIN message was dropped with its closed connection: no result will come for it, and nobody waits."""
        request_id, _api_key, _api_version = ADMIN_HEADER.unpack(header)
        self._pending.pop(request_id, None)

    def fail_owner(self, process_id: int) -> None:
        """A process died: what it owes is not coming any more."""
        lost = [request_id for request_id, (owner, _, _) in self._pending.items() if owner == process_id]
        for request_id in lost:
            self._parts.pop(request_id, None)
            _owner, exchange, on_result = self._pending.pop(request_id)
            _settle(exchange, on_result, None)


def _settle(exchange: Exchange, on_result: OnResult | None, response: memoryview | None) -> None:
    if on_result is not None:
        try:
            on_result(response)
        except Exception as failure:
            exchange.connection.contain(failure)
    elif response is None:
        exchange.close_connection("no answer from the process that was asked, outcome unknown")
    else:
        exchange.answer_bytes(bytes(response))

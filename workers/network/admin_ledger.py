"""Requests that the controller process answers.

Runs in: a network worker. The request body crosses the ring as it came; the response body comes back ready to
send. Where the controller process dies meanwhile, the outcome is unknown: the connection closes, and the
client asks again.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.shm.messages import ADMIN, ADMIN_HEADER, ADMIN_RESULT_HEADER
from headrace.shm.seat import Seat
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.ring_sender import RingSender

# Called with the response body, or None where the controller was lost.
OnResult = Callable[[memoryview | None], None]


class AdminLedger:
    """Admin requests in flight, by request id."""

    def __init__(self, seat: Seat, sender: RingSender) -> None:
        self._sender = sender
        self._controller = seat.wiring.controller_id
        self._pending: dict[int, tuple[Exchange, OnResult]] = {}
        self._next_id = 0

    def forward(self, exchange: Exchange, body: memoryview) -> None:
        """Send a client's request on; the client gets what the controller answers."""

        def answer(response: memoryview | None) -> None:
            if response is None:
                exchange.close_connection("no answer from the controller process, outcome unknown")
            else:
                exchange.answer_bytes(bytes(response))

        self.ask(exchange, exchange.api_key, exchange.api_version, body, answer)

    def ask(
        self,
        exchange: Exchange,
        api_key: int,
        api_version: int,
        body: memoryview | bytes,
        on_result: OnResult,
    ) -> None:
        """Send a request of ours on behalf of `exchange`."""
        if ADMIN_HEADER.size + len(body) > self._sender.message_bytes_max(self._controller):
            exchange.close_connection(f"request of {len(body)} bytes is too large for the controller's ring")
            return
        self._next_id += 1
        self._pending[self._next_id] = (exchange, on_result)
        header = ADMIN_HEADER.pack(self._next_id, api_key, api_version)
        self._sender.send(exchange.connection, self._controller, ADMIN, header, body)

    def take_result(self, body: memoryview) -> None:
        """Settle an ADMIN_RESULT message."""
        (request_id,) = ADMIN_RESULT_HEADER.unpack_from(body)
        pending = self._pending.pop(request_id, None)
        if pending is not None:
            response = body[ADMIN_RESULT_HEADER.size :]
            pending[1](response if len(response) else None)  # empty: the controller had no right answer

    def fail_all(self) -> None:
        """The controller process died."""
        pending, self._pending = self._pending, {}
        for _exchange, on_result in pending.values():
            on_result(None)

"""Requests of clients that another process answers: the controller process, or a partition worker beyond its produces.

Runs in: a network worker. The request body crosses the ring as it came; the response body comes back ready to
send. Where the other process dies meanwhile, the outcome is unknown: the connection closes, and the client asks
again. It closes as well where no answer is right.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import ReplyStatus
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.produce.ring_sender import RingSender

# Called with the response body, or None where the other process was lost, or had no right answer.
OnResult = Callable[[memoryview | None], None]

_REASONS: Final = {
    ReplyStatus.REFUSED: "the process that serves this sent an invalid response",
    ReplyStatus.STALE: "its producer has used a newer connection since, and what this one may still hold is late",
    ReplyStatus.UNKNOWN_KIND: "the process that was asked does not serve this request",
    ReplyStatus.PEER_DIED: "no response from the process that was asked, outcome unknown",
}


class Forwarder:
    """The way of a connection's requests to other processes, and of their answers back."""

    def __init__(self, mailbox: Mailbox, sender: RingSender, controller_id: int) -> None:
        self._mailbox = mailbox
        self._sender = sender
        self._controller = controller_id

    def forward(self, exchange: Exchange, body: memoryview | bytes, process_id: int | None = None) -> None:
        """Send a client's request on; the client gets what the other process answers, unchanged.

        process_id   that is to answer; None: the controller process
        """

        def on_reply(status: ReplyStatus, response: memoryview) -> None:
            if status is ReplyStatus.ANSWERED:
                exchange.answer_bytes(bytes(response))
            else:
                exchange.close_connection(_REASONS[status])

        self._ask(exchange, exchange.api_key, exchange.api_version, body, on_reply, process_id)

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

        def on_reply(status: ReplyStatus, response: memoryview) -> None:
            try:
                on_result(response if status is ReplyStatus.ANSWERED else None)
            except Exception as failure:
                exchange.connection.contain(failure)

        self._ask(exchange, api_key, api_version, body, on_reply, process_id)

    def _ask(
        self,
        exchange: Exchange,
        api_key: int,
        api_version: int,
        body: memoryview | bytes,
        on_reply: Callable[[ReplyStatus, memoryview], None],
        process_id: int | None,
    ) -> None:
        owner = self._controller if process_id is None else process_id
        post = partial(self._sender.send, exchange.connection)
        if not self._mailbox.ask(owner, api_key, body, on_reply, version=api_version, post=post):
            exchange.close_connection(
                f"request of {len(body)} bytes is too large, or too many are waiting for process {owner}"
            )

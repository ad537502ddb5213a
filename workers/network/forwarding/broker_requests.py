"""Requests that only brokers send: forwarded to the controller process, refused where no broker can have sent them.

Runs in: a network worker. LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, AlterPartition, AllocateProducerIds move leaders
and delete files. Until peers are authenticated, they are taken from the addresses of registered brokers alone:

    the peer has an address of a broker                     forwarded
    it has not: the view, or a name, may be out of date     held, BROKER_REQUEST_WAIT_MS_MAX, and checked again
    it still has not, and this node follows the cluster     CLUSTER_AUTHORIZATION_FAILED, a log line
    the same, and it does not: the view says nothing        the connection closes, so that a controller asks again
    the same, and a broker's name was never found           the connection closes, too

Fetch, ListOffsets and OffsetForLeaderEpoch of a follower are refused at once where they are taken: followers ask again.

Bounds: BROKER_REQUESTS_HELD_MAX and BROKER_REQUESTS_HELD_BYTES_MAX; what goes beyond is refused at once.
Source: docs/decisions/011; Kafka `AuthHelper.authorizeClusterOperation`; CVE-2018-1288 for what a client did as a follower.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.errors import ErrorCode
from headrace.limits import BROKER_REQUEST_WAIT_MS_MAX, BROKER_REQUESTS_HELD_BYTES_MAX, BROKER_REQUESTS_HELD_MAX
from headrace.log_rate_limit import OncePerInterval
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from headrace.workers.network.connections.exchange import Exchange

if TYPE_CHECKING:
    from headrace.workers.network.connections.connection import Connection
    from headrace.workers.network.context import Context

HINT: Final = (
    "brokers that connect from other addresses than they register need headrace.broker.requests.any.address=true"
)

_log: Final = logging.getLogger(__name__)


class _Held(NamedTuple):
    deadline_ms: int
    exchange: Exchange
    body: bytes


class BrokerRequests:
    """Those of one network worker that wait for the view."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._held: list[_Held] = []
        self._held_bytes = 0
        self._notices = OncePerInterval()

    @property
    def is_waiting(self) -> bool:
        return bool(self._held)

    def is_of_broker(self, connection: Connection, api_key: int) -> bool:
        """Whether a request that a follower sends may be taken; a log line where it may not."""
        context = self._context
        if context.addresses.admits(connection):
            return True
        context.addresses.look_again(context.now_ms)
        self._complain(connection, api_key)
        return False

    def forward(self, exchange: Exchange, body: memoryview) -> None:
        """Have the controller process answer, at once or once the view has the broker; or refuse."""
        context = self._context
        self.turn()  # in their order
        if context.addresses.admits(exchange.connection):
            context.forward_to_controller(exchange, body)
            return
        context.addresses.look_again(context.now_ms)
        if len(self._held) >= BROKER_REQUESTS_HELD_MAX or self._held_bytes + len(body) > BROKER_REQUESTS_HELD_BYTES_MAX:
            self._refuse(exchange)
            return
        self._held.append(_Held(context.now_ms + BROKER_REQUEST_WAIT_MS_MAX, exchange, bytes(body)))
        self._held_bytes += len(body)

    def turn(self) -> int:
        """Look again at those that wait; returns how many wait no more."""
        context, held = self._context, self._held
        if not held:
            return 0
        self._held = []
        self._held_bytes = 0
        for one in held:
            connection = one.exchange.connection
            if connection.is_closed:
                continue
            if context.addresses.admits(connection):
                context.forward_to_controller(one.exchange, memoryview(one.body))
            elif context.now_ms >= one.deadline_ms:
                self._refuse(one.exchange)
            else:
                self._held.append(one)
                self._held_bytes += len(one.body)
        return len(held) - len(self._held)

    def sleep_bound_ms(self, most_ms: int) -> int:
        """How long the worker may sleep before one of them has waited for long enough."""
        return max(0, min(most_ms, self._held[0].deadline_ms - self._context.now_ms)) if self._held else most_ms

    def _refuse(self, exchange: Exchange) -> None:
        self._complain(exchange.connection, exchange.api_key)
        if not self._context.is_control_current() or self._context.addresses.has_unfound:
            exchange.close_connection("a broker request from an address that no registered broker has")
            return
        response = messages.class_of(f"{ApiKey(exchange.api_key).api_name}Response")
        refusal = response(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        exchange.answer_bytes(encode_response(exchange.api_key, exchange.api_version, refusal))

    def _complain(self, connection: Connection, api_key: int) -> None:
        """One line a peer and interval."""
        host = connection.peer.rpartition(":")[0]
        if self._notices.is_due(host, ApiKey(api_key).api_name, self._context.now_ms):
            _log.warning(
                "broker request refused, no registered broker has the peer's address api=%s peer=%s hint=%s",
                ApiKey(api_key).api_name, connection.peer, HINT,
            )  # fmt: skip

"""FindCoordinator (key 10), v0 to v4: the leader of the offsets partition that a group belongs to.

The first one makes `__consumer_offsets`. Transactions have no coordinator yet, and a producer is told so at once:
CLUSTER_AUTHORIZATION_FAILED is the one code that every client takes for final *and* that Java shows our message with
(docs/decisions/018). The node's log names the producer.

Source: Kafka `KafkaApis.handleFindCoordinatorRequest`; KIP-699 for several keys at once.
"""

from __future__ import annotations

import logging
from typing import Final

from headrace.errors import ErrorCode
from headrace.ids import OFFSETS_TOPIC
from headrace.limits import LOGGED_ID_LENGTH_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import check_named, partition_of_group, with_offsets_topic

VERSION_OF_MANY_KEYS: Final = 4
GROUP: Final = 0
TRANSACTION: Final = 1
NO_COORDINATOR: Final = "no coordinator is available: {}"
NO_TRANSACTIONS: Final = (
    "this node does not serve transactions yet: use an idempotent producer without a transactional id"
)

_log: Final = logging.getLogger(__name__)

_Coordinator = messages.FindCoordinatorResponse.Coordinator


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from the view, after the offsets topic was made."""
    request = decode_request(ApiKey.FIND_COORDINATOR, exchange.api_version, body)
    check_named(context, request.coordinator_keys or ())
    if request.key_type == GROUP:
        with_offsets_topic(context, exchange, lambda: _respond(context, exchange, request))
    else:
        if request.key_type == TRANSACTION:
            _warn(context, exchange, request)
        _respond(context, exchange, request)


def _respond(context: Context, exchange: Exchange, request: messages.FindCoordinatorRequest) -> None:
    version = exchange.api_version
    if version >= VERSION_OF_MANY_KEYS:
        rows = [_find(context, request.key_type, key) for key in request.coordinator_keys]
        response = messages.FindCoordinatorResponse(coordinators=rows)
    else:
        row = _find(context, request.key_type, request.key)
        response = messages.FindCoordinatorResponse(
            error_code=row.error_code,
            error_message=row.error_message,
            node_id=row.node_id,
            host=row.host,
            port=row.port,
        )
    exchange.answer_bytes(encode_response(ApiKey.FIND_COORDINATOR, version, response))


def _find(context: Context, key_type: int, key: str) -> _Coordinator:
    if key_type == TRANSACTION:
        return _refuse(key, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NO_TRANSACTIONS)
    if key_type != GROUP:
        return _refuse(key, ErrorCode.INVALID_REQUEST, f"key type {key_type} is neither group nor transaction")
    partition = partition_of_group(context, key)
    route = context.routes.partition(OFFSETS_TOPIC, partition)
    if route is None:
        return _refuse(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} could not be created yet")
    broker = context.view.brokers.get(route.leader)
    if broker is None:
        return _refuse(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC}-{partition} has no leader")
    return _Coordinator(
        key=key, node_id=broker.node_id, host=broker.host, port=broker.port, error_code=0, error_message=None
    )


def _warn(context: Context, exchange: Exchange, request: messages.FindCoordinatorRequest) -> None:
    """One line a peer and interval: the operator learns why that producer ended."""
    connection = exchange.connection
    host = connection.peer.rpartition(":")[0]
    if context.transaction_notices.is_due(host, connection.client_id, context.now_ms):
        key = request.key or next(iter(request.coordinator_keys or ()), "")
        _log.warning(
            "transactional producer refused, transactions are not served yet peer=%s client_id=%s transactional_id=%s",
            connection.peer,
            connection.client_id,
            key[:LOGGED_ID_LENGTH_MAX],
        )


def _refuse(key: str, error: ErrorCode, why: str) -> _Coordinator:
    return _Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=int(error), error_message=NO_COORDINATOR.format(why)
    )

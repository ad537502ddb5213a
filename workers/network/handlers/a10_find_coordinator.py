"""FindCoordinator (key 10), v0 to v4: the leader of the partition that a group or a transactional id belongs to.

The first one of its kind makes `__consumer_offsets` or `__transaction_state`.

Source: Kafka `KafkaApis.handleFindCoordinatorRequest`; KIP-699 for several keys at once.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import check_named, partition_of_group, with_offsets_topic
from headrace.workers.network.forwarding.transaction_owners import partition_of_transaction, with_transactions_topic

VERSION_OF_MANY_KEYS: Final = 4
GROUP: Final = 0
TRANSACTION: Final = 1
NO_COORDINATOR: Final = "no coordinator is available: {}"

_Coordinator = messages.FindCoordinatorResponse.Coordinator


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Answer from the view, after the topic was made."""
    request = decode_request(ApiKey.FIND_COORDINATOR, exchange.api_version, body)
    check_named(context, request.coordinator_keys or ())
    if request.key_type == GROUP:
        with_offsets_topic(context, exchange, lambda: _respond(context, exchange, request))
    elif request.key_type == TRANSACTION:
        with_transactions_topic(context, exchange, lambda: _respond(context, exchange, request))
    else:
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
    if key_type not in (GROUP, TRANSACTION):
        return _refuse(key, ErrorCode.INVALID_REQUEST, f"key type {key_type} is neither group nor transaction")
    is_group = key_type == GROUP
    topic = OFFSETS_TOPIC if is_group else TRANSACTIONS_TOPIC
    partition = partition_of_group(context, key) if is_group else partition_of_transaction(context, key)
    route = context.routes.partition(topic, partition)
    if route is None:
        return _refuse(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic} could not be created yet")
    broker = context.view.brokers.get(route.leader)
    if broker is None:
        return _refuse(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic}-{partition} has no leader")
    return _Coordinator(
        key=key, node_id=broker.node_id, host=broker.host, port=broker.port, error_code=0, error_message=None
    )


def _refuse(key: str, error: ErrorCode, why: str) -> _Coordinator:
    return _Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=int(error), error_message=NO_COORDINATOR.format(why)
    )

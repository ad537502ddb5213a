"""AddPartitionsToTxn (key 24), v0 to v3 from producers, v4 to v5 from data leaders that verify a batch (KIP-890).

A producer's partitions have to exist: where one does not, it is UNKNOWN_TOPIC_OR_PARTITION, the others are
OPERATION_NOT_ATTEMPTED, and none is added. A leader names several transactions: each goes to its owner, and the answers are
put together.

Work: `partition/coordination/transaction_requests.py`, then `coordinators/transaction/participants.py`.
Source: Kafka `KafkaApis.handleAddPartitionsToTxnRequest`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import ErrorCode
from headrace.ids import INTERNAL_TOPICS
from headrace.protocol import messages
from headrace.protocol.added_partitions import VERSION_OF_BROKERS, topic_results
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import ask_owners
from headrace.workers.network.forwarding.transaction_owners import (
    forward_to_transaction,
    owner_of_transaction,
    with_transactions_topic,
)

_Response = messages.AddPartitionsToTxnResponse
_Place = tuple[str, int]


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the owners of the transactional ids."""
    request = decode_request(ApiKey.ADD_PARTITIONS_TO_TXN, exchange.api_version, body)
    if exchange.api_version >= VERSION_OF_BROKERS:
        _ask_all(context, exchange, request)
        return
    topics = request.v3_and_below_topics
    faults = {
        (topic.name, index): _fault_of(context, topic.name, index) for topic in topics for index in topic.partitions
    }
    if any(faults.values()):
        not_attempted = int(ErrorCode.OPERATION_NOT_ATTEMPTED)
        _answer(exchange, _response(topics, lambda place: faults[place] or not_attempted))
        return
    transactional_id = request.v3_and_below_transactional_id
    forward_to_transaction(
        context, exchange, body, transactional_id, lambda code: _response(topics, lambda _place: code)
    )


def _fault_of(context: Context, topic: str, index: int) -> int:
    """Why a producer may not write to a partition; 0: it may."""
    if topic in INTERNAL_TOPICS:
        return int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    known = context.view.topics.get(topic)
    if known is None or not 0 <= index < len(known.partitions):
        return int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return 0


def _response(topics: Any, code_of: Callable[[_Place], int]) -> _Response:
    return _Response(results_by_topic_v3_and_below=topic_results(topics, code_of))


def _answer(exchange: Exchange, response: _Response) -> None:
    exchange.answer_bytes(encode_response(ApiKey.ADD_PARTITIONS_TO_TXN, exchange.api_version, response))


def _ask_all(context: Context, exchange: Exchange, request: messages.AddPartitionsToTxnRequest) -> None:
    """Each transaction is its owner's business."""
    if not context.broker_requests.is_of_broker(exchange.connection, ApiKey.ADD_PARTITIONS_TO_TXN):
        _answer(exchange, _Response(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
        return

    def respond(responses: list[_Response]) -> None:
        found = {row.transactional_id: row for response in responses for row in response.results_by_transaction}
        rows = [found[row.transactional_id] for row in request.transactions if row.transactional_id in found]
        _answer(exchange, _Response(results_by_transaction=rows))

    def ask() -> None:
        by_owner: dict[int, list[Any]] = {}
        for row in request.transactions:
            by_owner.setdefault(owner_of_transaction(context, row.transactional_id), []).append(row)
        if not by_owner:
            _answer(exchange, _Response())
            return
        requests = {owner: messages.AddPartitionsToTxnRequest(transactions=rows) for owner, rows in by_owner.items()}
        ask_owners(context, exchange, requests, respond)

    with_transactions_topic(context, exchange, ask)

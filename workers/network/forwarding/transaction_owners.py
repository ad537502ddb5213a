"""Which partition worker answers for a transactional id, and the way there.

Runs in: a network worker. As for groups (`group_owners.py`): an id belongs to a partition of `__transaction_state`, that to a
partition worker of this node, which says NOT_COORDINATOR where the node does not lead it. The first request that needs the
topic has it made.

A request of a producer carries the order of its connection (`coordinators/transaction/connection_order.py`). A connection
over which nothing was sent has none yet: its first request is refused so that the client asks again.

Source: Kafka `TransactionStateManager.partitionFor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import ErrorCode
from headrace.ids import ANY_ORDER, TRANSACTIONS_TOPIC, coordinator_partition, owner_of
from headrace.protocol.codec import encode_response
from headrace.shm.messages import ORDER
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import first_id, with_topic

Refusal = Callable[[int], Any]  # error code -> response


def partition_of_transaction(context: Context, transactional_id: str) -> int:
    """Index in `__transaction_state`."""
    topic = context.view.topics.get(TRANSACTIONS_TOPIC)
    count = len(topic.partitions) if topic is not None else context.settings["transaction.state.log.num.partitions"]
    return coordinator_partition(transactional_id, count)


def owner_of_transaction(context: Context, transactional_id: str) -> int:
    """Process id of the partition worker that answers for a transactional id."""
    wiring = context.seat.wiring
    partition = partition_of_transaction(context, transactional_id)
    return wiring.network_count + owner_of(TRANSACTIONS_TOPIC, partition, wiring.partition_count)


def first_transactional_id(exchange: Exchange, body: memoryview) -> str:
    """The transactional id of a request that begins with it. raises BadFrame"""
    return first_id(exchange, body, "transactional id")


def with_transactions_topic(context: Context, exchange: Exchange, then: Callable[[], None]) -> None:
    """Call `then` once `__transaction_state` is there, or could not be made."""
    with_topic(context, exchange, TRANSACTIONS_TOPIC, then)


def forward_to_transaction(
    context: Context, exchange: Exchange, body: memoryview | bytes, transactional_id: str, refusal: Refusal
) -> None:
    """Forward a producer's request to the owner of its transactional id; its answer is the response.

    refusal   makes the response to an error: of a connection without an order
    """
    order = ANY_ORDER
    if context.settings["headrace.transaction.connection.order"]:
        order = exchange.connection.order
    if (
        not order
    ):  # nothing was sent over it: a client that sends no ApiVersions. It asks again, and the connection has its order
        response = refusal(int(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        exchange.answer_bytes(encode_response(exchange.api_key, exchange.api_version, response))
        return
    kept = ORDER.pack(order) + bytes(body)
    with_transactions_topic(
        context,
        exchange,
        lambda: context.forwarder.forward(exchange, kept, owner_of_transaction(context, transactional_id)),
    )


def owners_of_transactions(context: Context) -> range:
    """Process ids of all partition workers."""
    wiring = context.seat.wiring
    return range(wiring.network_count, wiring.network_count + wiring.partition_count)

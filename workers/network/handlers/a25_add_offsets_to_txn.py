"""AddOffsetsToTxn (key 25), v0 to v3: the group's partition of `__consumer_offsets` becomes one of the transaction's.

Work: `partition/coordination/transaction_requests.py`. Source: Kafka `KafkaApis.handleAddOffsetsToTxnRequest`.
"""

from __future__ import annotations

from headrace.protocol import messages
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import with_offsets_topic
from headrace.workers.network.forwarding.transaction_owners import first_transactional_id, forward_to_transaction


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the owner of the transactional id, after the offsets topic was made. raises BadFrame"""
    transactional_id, kept = first_transactional_id(exchange, body), bytes(body)
    with_offsets_topic(
        context, exchange, lambda: forward_to_transaction(context, exchange, kept, transactional_id, _refuse)
    )


def _refuse(code: int) -> messages.AddOffsetsToTxnResponse:
    return messages.AddOffsetsToTxnResponse(error_code=code)

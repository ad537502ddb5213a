"""EndTxn (key 26), v0 to v3: commit or abort.

Work: `partition/coordination/transaction_requests.py`, then `coordinators/transaction/ending.py`.
Source: Kafka `KafkaApis.handleEndTxnRequest`.
"""

from __future__ import annotations

from headrace.protocol import messages
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.transaction_owners import first_transactional_id, forward_to_transaction


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Forward to the owner of the transactional id. raises BadFrame"""
    forward_to_transaction(context, exchange, body, first_transactional_id(exchange, body), _refuse)


def _refuse(code: int) -> messages.EndTxnResponse:
    return messages.EndTxnResponse(error_code=code)

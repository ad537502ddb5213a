"""ListTransactions (key 66), v0 to v1: none, since this node coordinates none yet. States that don't exist are named.

Source: Kafka `TransactionStateManager.listTransactionStates`; KIP-664, KIP-994 for durations.
"""

from __future__ import annotations

from typing import Final

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

STATES: Final = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """No transactions, whatever the filters."""
    request = decode_request(ApiKey.LIST_TRANSACTIONS, exchange.api_version, body)
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in STATES]
    response = messages.ListTransactionsResponse(error_code=0, unknown_state_filters=unknown, transaction_states=[])
    exchange.answer_bytes(encode_response(ApiKey.LIST_TRANSACTIONS, exchange.api_version, response))

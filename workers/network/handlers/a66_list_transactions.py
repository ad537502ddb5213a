"""ListTransactions (key 66), v0 to v1: of all partition workers. States that don't exist are named.

Work: `partition/coordination/transaction_requests.py`, then `coordinators/transaction/queries.py`.
Source: Kafka `TransactionStateManager.listTransactionStates`; KIP-664, KIP-994 for durations.
"""

from __future__ import annotations

from typing import Final

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import ask_owners
from headrace.workers.network.forwarding.transaction_owners import owners_of_transactions

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
    """Ask all of them; an error of one (loading) is the error of the whole."""
    version = exchange.api_version
    request = decode_request(ApiKey.LIST_TRANSACTIONS, version, body)
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in STATES]

    def respond(responses: list[messages.ListTransactionsResponse]) -> None:
        response = messages.ListTransactionsResponse(
            error_code=max(one.error_code for one in responses),
            unknown_state_filters=unknown,
            transaction_states=[row for one in responses for row in one.transaction_states],
        )
        exchange.answer_bytes(encode_response(ApiKey.LIST_TRANSACTIONS, version, response))

    ask_owners(context, exchange, dict.fromkeys(owners_of_transactions(context), request), respond)

"""DescribeTransactions (key 65), v0: each transactional id is its owner's business.

Work: `partition/coordination/transaction_requests.py`, then `coordinators/transaction/queries.py`.
Source: Kafka `TransactionCoordinator.handleDescribeTransactions`; KIP-664.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.ids import TRANSACTIONS_TOPIC
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import ask_owners, check_named
from headrace.workers.network.forwarding.transaction_owners import owner_of_transaction

_Response = messages.DescribeTransactionsResponse


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Ask the owners; one row an id, in the order of the request. raises BadFrame"""
    request = decode_request(ApiKey.DESCRIBE_TRANSACTIONS, exchange.api_version, body)
    names = list(dict.fromkeys(request.transactional_ids))
    check_named(context, names)
    by_owner: dict[int, list[str]] = {}
    unknown: dict[str, ErrorCode] = {}
    for name in names:
        if not name:
            unknown[name] = ErrorCode.INVALID_REQUEST
        elif TRANSACTIONS_TOPIC not in context.view.topics:
            unknown[name] = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        else:
            by_owner.setdefault(owner_of_transaction(context, name), []).append(name)

    def respond(responses: list[_Response]) -> None:
        found = {row.transactional_id: row for response in responses for row in response.transaction_states}
        rows = [
            found.get(name)
            or _Response.TransactionState(
                error_code=int(unknown.get(name, ErrorCode.NOT_COORDINATOR)), transactional_id=name, topics=[]
            )
            for name in names
        ]
        response = _Response(transaction_states=rows)
        exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_TRANSACTIONS, exchange.api_version, response))

    if not by_owner:
        respond([])
        return
    requests = {
        owner: messages.DescribeTransactionsRequest(transactional_ids=asked) for owner, asked in by_owner.items()
    }
    ask_owners(context, exchange, requests, respond)

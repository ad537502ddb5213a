"""DescribeTransactions (key 65), v0: TRANSACTIONAL_ID_NOT_FOUND, since this node coordinates none yet.

Source: Kafka `TransactionCoordinator.handleDescribeTransactions`; KIP-664.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

_State = messages.DescribeTransactionsResponse.TransactionState


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """One row an id."""
    request = decode_request(ApiKey.DESCRIBE_TRANSACTIONS, exchange.api_version, body)
    unknown, invalid = int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND), int(ErrorCode.INVALID_REQUEST)
    rows = [
        _State(error_code=unknown if transactional_id else invalid, transactional_id=transactional_id, topics=[])
        for transactional_id in dict.fromkeys(request.transactional_ids)
    ]
    response = messages.DescribeTransactionsResponse(transaction_states=rows)
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_TRANSACTIONS, exchange.api_version, response))

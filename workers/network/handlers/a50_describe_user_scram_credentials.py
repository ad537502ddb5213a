"""DescribeUserScramCredentials (key 50), v0: there are none, since this node does not authenticate yet.

Source: Kafka `ZkAdminManager.describeUserScramCredentials`; KIP-554.
"""

from __future__ import annotations

from collections import Counter

from headrace.errors import ErrorCode, cut
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

_Result = messages.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """RESOURCE_NOT_FOUND for each user that is named; of all users, none."""
    request = decode_request(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, exchange.api_version, body)
    results = []
    for name, count in Counter(user.name for user in request.users or ()).items():
        error = ErrorCode.RESOURCE_NOT_FOUND
        if count > 1:
            error = ErrorCode.DUPLICATE_RESOURCE
            text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        elif not name:
            text = "Username must not be empty"
        else:
            text = f"Attempt to describe a user credential that does not exist: {name}"
        results.append(_Result(user=name, error_code=int(error), error_message=cut(text), credential_infos=[]))
    response = messages.DescribeUserScramCredentialsResponse(error_code=0, error_message=None, results=results)
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, exchange.api_version, response))

"""DescribeAcls (key 29), v0 to v3: SECURITY_DISABLED, as Kafka answers without an authorizer; tools know it.

Source: Kafka `AclApis.handleDescribeAcls`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

NO_AUTHORIZER: Final = "No Authorizer is configured on the broker"


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Whatever the filter."""
    decode_request(ApiKey.DESCRIBE_ACLS, exchange.api_version, body)
    response = messages.DescribeAclsResponse(
        error_code=int(ErrorCode.SECURITY_DISABLED), error_message=NO_AUTHORIZER, resources=[]
    )
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_ACLS, exchange.api_version, response))

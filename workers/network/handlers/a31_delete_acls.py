"""DeleteAcls (key 31), v0 to v3: SECURITY_DISABLED for each filter, as Kafka answers without an authorizer.

Source: Kafka `AclApis.handleDeleteAcls`.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

NO_AUTHORIZER: Final = "No Authorizer is configured."


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """One result for each filter."""
    request = decode_request(ApiKey.DELETE_ACLS, exchange.api_version, body)
    row = messages.DeleteAclsResponse.DeleteAclsFilterResult(
        error_code=int(ErrorCode.SECURITY_DISABLED), error_message=NO_AUTHORIZER, matching_acls=[]
    )
    response = messages.DeleteAclsResponse(filter_results=[row] * len(request.filters))
    exchange.answer_bytes(encode_response(ApiKey.DELETE_ACLS, exchange.api_version, response))

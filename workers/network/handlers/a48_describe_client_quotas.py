"""DescribeClientQuotas (key 48), v0 to v1: none, since this node has no quotas. What can't be asked is refused.

Source: Kafka `ClientQuotaCache`, `ZkAdminManager.describeClientQuotas`; KIP-546, KIP-612 for ip.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import ErrorCode, KafkaError, cut
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context

USER, CLIENT_ID, IP = "user", "client-id", "ip"
MATCH_EXACT, MATCH_DEFAULT, MATCH_ANY = range(3)


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """No entries, or why the filter is invalid."""
    request = decode_request(ApiKey.DESCRIBE_CLIENT_QUOTAS, exchange.api_version, body)
    try:
        _check(request.components)
        response = messages.DescribeClientQuotasResponse(error_code=0, error_message=None, entries=[])
    except KafkaError as failure:
        response = messages.DescribeClientQuotasResponse(
            error_code=int(failure.code), error_message=cut(failure.message), entries=None
        )
    exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_CLIENT_QUOTAS, exchange.api_version, response))


def _check(components: Sequence[messages.DescribeClientQuotasRequest.ComponentData]) -> None:
    """raises   KafkaError INVALID_REQUEST, or UNSUPPORTED_VERSION for a kind of entity that Kafka has not"""
    kinds: set[str] = set()
    for component in components:
        kind = component.entity_type
        if kind in kinds:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate {kind} filter component entity type")
        if not kind:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{kind}' not supported")
        kinds.add(kind)
        match = component.match_type
        if match not in (MATCH_EXACT, MATCH_DEFAULT, MATCH_ANY) or (match == MATCH_EXACT and component.match is None):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{kind}: match type {match} with {component.match!r}")
    if IP in kinds and len(kinds) > 1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used with user or "
            "clientId filter component.",
        )

"""FindCoordinator (key 10), v0 to v4: this node hosts no coordinator yet, and says so.

COORDINATOR_NOT_AVAILABLE is what Kafka answers while `__consumer_offsets` can't be made; consumers that
`assign` go on without.

Source: Kafka `KafkaApis.handleFindCoordinatorRequest`.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange

VERSION_OF_MANY_KEYS = 4
NO_COORDINATOR = "no coordinator is available: this node does not host consumer groups or transactions"


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Refuse every key, retriably."""
    version = exchange.api_version
    request = decode_request(ApiKey.FIND_COORDINATOR, version, body)
    error = int(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if version >= VERSION_OF_MANY_KEYS:
        response = messages.FindCoordinatorResponse(
            coordinators=[
                messages.FindCoordinatorResponse.Coordinator(
                    key=key, node_id=-1, host="", port=-1, error_code=error, error_message=NO_COORDINATOR
                )
                for key in request.coordinator_keys
            ]
        )
    else:
        response = messages.FindCoordinatorResponse(
            error_code=error, error_message=NO_COORDINATOR, node_id=-1, host="", port=-1
        )
    exchange.answer_bytes(encode_response(ApiKey.FIND_COORDINATOR, version, response))

"""ListGroups (key 16), v0 to v5: every partition worker owns some groups.

Source: Kafka `KafkaApis.handleListGroupsRequest`; KIP-518 (states), KIP-848 (types).
"""

from __future__ import annotations

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import ask_owners


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Ask all of them; an error of one (loading) is the error of the whole."""
    version = exchange.api_version
    request = decode_request(ApiKey.LIST_GROUPS, version, body)
    wiring = context.seat.wiring

    def respond(responses: list[messages.ListGroupsResponse]) -> None:
        response = messages.ListGroupsResponse(
            error_code=max(response.error_code for response in responses),
            groups=[row for response in responses for row in response.groups],
        )
        exchange.answer_bytes(encode_response(ApiKey.LIST_GROUPS, version, response))

    owners = range(wiring.network_count, wiring.network_count + wiring.partition_count)
    ask_owners(context, exchange, dict.fromkeys(owners, request), respond)

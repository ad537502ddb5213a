"""OffsetFetch (key 9), v0 to v8: the owners of the groups answer; v0 comes from ZooKeeper, by the controller process.

Source: Kafka `KafkaApis.handleOffsetFetchRequest`; KIP-709 for several groups at once.
"""

from __future__ import annotations

from typing import Final

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import (
    ask_owners,
    first_group_id,
    forward_to_group,
    owner_of_group,
)

VERSION_OF_ZOOKEEPER: Final = 0
VERSION_OF_MANY_GROUPS: Final = 8


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Hand the request on; where several workers own its groups, split it. A group named twice is answered once."""
    version = exchange.api_version
    if version == VERSION_OF_ZOOKEEPER:
        context.forward_to_controller(exchange, body)
        return
    if version < VERSION_OF_MANY_GROUPS:
        forward_to_group(context, exchange, body, first_group_id(exchange, body))
        return
    request = decode_request(ApiKey.OFFSET_FETCH, version, body)
    by_owner: dict[int, list[messages.OffsetFetchRequest.OffsetFetchRequestGroup]] = {}
    for row in request.groups:
        by_owner.setdefault(owner_of_group(context, row.group_id), []).append(row)
    if len(by_owner) == 1:
        forward_to_group(context, exchange, body, request.groups[0].group_id)
        return

    def respond(responses: list[messages.OffsetFetchResponse]) -> None:
        found = {row.group_id: row for response in responses for row in response.groups}
        rows = [found[group_id] for group_id in dict.fromkeys(row.group_id for row in request.groups)]
        response = messages.OffsetFetchResponse(groups=rows)
        exchange.answer_bytes(encode_response(ApiKey.OFFSET_FETCH, version, response))

    if by_owner:
        ask_owners(
            context, exchange, {owner: request._replace(groups=rows) for owner, rows in by_owner.items()}, respond
        )
    else:
        respond([])

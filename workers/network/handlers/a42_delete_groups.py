"""DeleteGroups (key 42), v0 to v2: the owners of the groups answer.

Source: Kafka `KafkaApis.handleDeleteGroupsRequest`.
"""

from __future__ import annotations

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import ask_owners, check_named, owner_of_group


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Ask each owner to delete its groups; one row a group."""
    version = exchange.api_version
    request = decode_request(ApiKey.DELETE_GROUPS, version, body)
    check_named(context, request.groups_names)
    by_owner: dict[int, list[str]] = {}
    for group_id in dict.fromkeys(request.groups_names):
        by_owner.setdefault(owner_of_group(context, group_id), []).append(group_id)

    def respond(responses: list[messages.DeleteGroupsResponse]) -> None:
        rows = [row for response in responses for row in response.results]
        exchange.answer_bytes(
            encode_response(ApiKey.DELETE_GROUPS, version, messages.DeleteGroupsResponse(results=rows))
        )

    if by_owner:
        parts = {owner: request._replace(groups_names=ids) for owner, ids in by_owner.items()}
        ask_owners(context, exchange, parts, respond)
    else:
        respond([])

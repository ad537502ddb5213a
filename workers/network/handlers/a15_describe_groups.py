"""DescribeGroups (key 15), v0 to v5: the owners of the groups answer.

Source: Kafka `KafkaApis.handleDescribeGroupsRequest`.
"""

from __future__ import annotations

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.group_owners import ask_owners, check_named, owner_of_group


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """Ask each owner for its groups; answer in the order of the request, a group named twice once."""
    version = exchange.api_version
    request = decode_request(ApiKey.DESCRIBE_GROUPS, version, body)
    check_named(context, request.groups)
    by_owner: dict[int, list[str]] = {}
    for group_id in dict.fromkeys(request.groups):
        by_owner.setdefault(owner_of_group(context, group_id), []).append(group_id)

    def respond(responses: list[messages.DescribeGroupsResponse]) -> None:
        found = {row.group_id: row for response in responses for row in response.groups}
        rows = [found[group_id] for group_id in dict.fromkeys(request.groups)]
        response = messages.DescribeGroupsResponse(groups=rows)
        exchange.answer_bytes(encode_response(ApiKey.DESCRIBE_GROUPS, version, response))

    if by_owner:
        ask_owners(context, exchange, {owner: request._replace(groups=ids) for owner, ids in by_owner.items()}, respond)
    else:
        respond([])

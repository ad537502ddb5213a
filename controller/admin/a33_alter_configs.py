"""AlterConfigs (key 33), v0 to v2: the configs of a topic or broker, all of them replaced; what is not named goes back to its default.

Runs in: the controller process of the node that was asked, active or not.

Source: Kafka `ZkAdminManager.alterConfigs`; KIP-339 replaced it by key 44.
"""

from __future__ import annotations

from headrace.controller.admin.altered_resources import alter_all
from headrace.controller.admin.context import AdminContext
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.topic_configs import Check, replaced
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Result = messages.AlterConfigsResponse.AlterConfigsResourceResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Answered as soon as ZooKeeper has it."""
    request = decode_request(ApiKey.ALTER_CONFIGS, version, body)
    rows = [
        _Result(int(error), message, resource.resource_type, resource.resource_name)
        for resource, error, message in await alter_all(context, request, _change)
    ]
    return PendingResponse.done(
        encode_response(ApiKey.ALTER_CONFIGS, version, messages.AlterConfigsResponse(responses=rows))
    )


def _change(
    resource: messages.AlterConfigsRequest.AlterConfigsResource, _current: dict[str, str], check: Check
) -> dict[str, str]:
    return replaced([(config.name, config.value) for config in resource.configs], check)

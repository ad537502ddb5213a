"""IncrementalAlterConfigs (key 44), v0 to v1: single configs of a topic or broker set, deleted, appended to, subtracted from.

Runs in: the controller process of the node that was asked, active or not.

Source: Kafka `ZkAdminManager.incrementalAlterConfigs`; KIP-339.
"""

from __future__ import annotations

from headrace.controller.admin.altered_resources import alter_all
from headrace.controller.admin.context import AdminContext
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.topic_configs import Check, changed
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Answered as soon as ZooKeeper has it."""
    request = decode_request(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, body)

    def change(
        resource: messages.IncrementalAlterConfigsRequest.AlterConfigsResource, current: dict[str, str], check: Check
    ) -> dict[str, str]:
        changes = [(config.name, config.config_operation, config.value) for config in resource.configs]
        return changed(current, changes, context.agent.topic_defaults(), check)

    rows = [
        _Result(int(error), message, resource.resource_type, resource.resource_name)
        for resource, error, message in await alter_all(context, request, change)
    ]
    response = messages.IncrementalAlterConfigsResponse(responses=rows)
    return PendingResponse.done(encode_response(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, response))

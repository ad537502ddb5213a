"""ControlledShutdown (key 7), v0 to v3, from a broker that is about to go: what it leads is led by others first.

Runs in: the controller process of the active node. Answered when everything is written and told; what it leads still is in the
answer, and the broker asks again. From v2 on it names its epoch. What is done: `active/leaders/controlled_shutdown.py`.

Source: Kafka `KafkaApis.handleControlledShutdownRequest`; KIP-380.
"""

from __future__ import annotations

from headrace.controller.active.leaders.controlled_shutdown import shut_down
from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Response = messages.ControlledShutdownResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Move leaders away."""
    request = decode_request(ApiKey.CONTROLLED_SHUTDOWN, version, body)
    try:
        context.agent.check_active()
        left = await shut_down(context.active.require_term(), request.broker_id, request.broker_epoch)
        response = _Response(remaining_partitions=[_Response.RemainingPartition(*place) for place in left])
    except HeadraceError as failure:
        response = _Response(error_code=int(answer_to(failure)[0]))
    return PendingResponse.done(encode_response(ApiKey.CONTROLLED_SHUTDOWN, version, response))

"""InitProducerId (key 22), v0 to v4, for idempotent producers; one with a transactional id goes to its coordinator.

Runs in: the controller process of any node, active or not. Where ZooKeeper gives no ids: COORDINATOR_LOAD_IN_PROGRESS.

Source: Kafka `TransactionCoordinator.handleInitProducerId`.
"""

from __future__ import annotations

from headrace.controller.admin.context import AdminContext
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """A fresh id with epoch 0."""
    decode_request(ApiKey.INIT_PRODUCER_ID, version, body)
    error, producer_id, epoch = ErrorCode.NONE, -1, -1
    try:
        producer_id, epoch = await context.agent.producer_ids.take(), 0
    except HeadraceError:
        # ZooKeeper is away: every client asks the same node again. At COORDINATOR_NOT_AVAILABLE kafka-python looks for
        # a coordinator by a null key, and never comes back.
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    response = messages.InitProducerIdResponse(error_code=int(error), producer_id=producer_id, producer_epoch=epoch)
    return PendingResponse.done(encode_response(ApiKey.INIT_PRODUCER_ID, version, response))

"""InitProducerId (key 22), v0 to v4, for idempotent producers.

Runs in: the controller process of any node, active or not. A transactional id is its coordinator's business;
this node hosts none, and says so as FindCoordinator does: CLUSTER_AUTHORIZATION_FAILED (docs/decisions/018). Where
ZooKeeper gives no ids: COORDINATOR_LOAD_IN_PROGRESS.

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
    request = decode_request(ApiKey.INIT_PRODUCER_ID, version, body)
    error, producer_id, epoch = ErrorCode.NONE, -1, -1
    if request.transactional_id is not None:
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    else:
        try:
            producer_id, epoch = await context.agent.producer_ids.take(), 0
        except HeadraceError:
            # ZooKeeper is away: every client asks the same node again. At COORDINATOR_NOT_AVAILABLE kafka-python looks for
            # a coordinator by a null key, and never comes back.
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    response = messages.InitProducerIdResponse(error_code=int(error), producer_id=producer_id, producer_epoch=epoch)
    return PendingResponse.done(encode_response(ApiKey.INIT_PRODUCER_ID, version, response))

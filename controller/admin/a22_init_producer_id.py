"""InitProducerId (key 22), v0 to v4, for idempotent producers. Transactional ids need a coordinator, which this node does not host yet.

Source: Kafka `TransactionCoordinator.handleInitProducerId`.
"""

from __future__ import annotations

from headrace.controller.office import Office
from headrace.controller.waiting import Waiting
from headrace.controller.zk import ZkError
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response


def handle(office: Office, version: int, body: memoryview) -> Waiting:
    """A fresh id with epoch 0."""
    request = decode_request(ApiKey.INIT_PRODUCER_ID, version, body)
    error, producer_id, epoch = ErrorCode.NONE, -1, -1
    if request.transactional_id is not None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    else:
        try:
            producer_id, epoch = office.producer_ids.take(), 0
        except ZkError:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    response = messages.InitProducerIdResponse(error_code=int(error), producer_id=producer_id, producer_epoch=epoch)
    return Waiting.done(encode_response(ApiKey.INIT_PRODUCER_ID, version, response))

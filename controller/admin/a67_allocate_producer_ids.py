"""AllocateProducerIds (key 67), v0, from a broker of IBP 3.0 or later: a block of producer ids of its own.

Runs in: the controller process of the active node. Our own nodes claim theirs in ZooKeeper (`agent/producer_ids.py`), by the same
versioned write, so that none is given twice whoever is asked.

Source: Kafka `KafkaController.allocateProducerIds`, `ZkProducerIdManager`; KIP-730.
"""

from __future__ import annotations

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.producer_ids import BLOCK
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Answered once the block is written."""
    request = decode_request(ApiKey.ALLOCATE_PRODUCER_IDS, version, body)
    try:
        first = await _claim(context, request.broker_id, request.broker_epoch)
        response = messages.AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK)
    except HeadraceError as failure:
        response = messages.AllocateProducerIdsResponse(error_code=int(answer_to(failure)[0]))
    return PendingResponse.done(encode_response(ApiKey.ALLOCATE_PRODUCER_IDS, version, response))


async def _claim(context: AdminContext, broker_id: int, broker_epoch: int) -> int:
    """raises   KafkaError, ZkError"""
    context.agent.check_active()
    broker = context.known.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker_id}")
    if broker.epoch != broker_epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} epoch {broker_epoch} is stale, expected {broker.epoch}"
        )
    return await context.agent.producer_ids.claim_block(broker_id)

"""AlterPartition (key 56), v0 to v3, from a leader: in-sync replicas as it wants them.

Runs in: the controller process of the active node; a leader of this node asks by the same call. What is accepted:
`active/leaders/isr_alterations.py`. Up to v1 topics go by name, from v2 on by id; v3 has the broker epochs of the ISR.

Source: Kafka `KafkaApis.handleAlterPartitionRequest`, `KafkaController.processAlterPartition`.
"""

from __future__ import annotations

from typing import Any

from headrace.controller.active.leaders.isr_alterations import Outcome, Partition, WantedIsr, alter
from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

VERSION_OF_IDS = 2
VERSION_OF_EPOCHS = 3

_Response = messages.AlterPartitionResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Answered when it is written; partitions that are refused say so by themselves."""
    request = decode_request(ApiKey.ALTER_PARTITION, version, body)
    try:
        response = await _alter(context, version, request)
    except HeadraceError as failure:
        response = _Response(error_code=int(answer_to(failure)[0]))
    return PendingResponse.done(encode_response(ApiKey.ALTER_PARTITION, version, response))


async def _alter(context: AdminContext, version: int, request: Any) -> Any:
    """raises   KafkaError, ZkError: of the whole request"""
    context.agent.check_active()
    term = context.active.require_term()
    broker = context.known.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"broker {request.broker_id} epoch {request.broker_epoch}, known is {broker.epoch if broker else 'none'}",
        )
    names = [_name_of(context, version, topic) for topic in request.topics]
    wanted = {
        (name, row.partition_index): _wanted(request.broker_id, version, row)
        for name, topic in zip(names, request.topics, strict=True)
        if name is not None
        for row in topic.partitions
    }
    outcomes = await alter(term, wanted)
    topics = []
    for name, topic in zip(names, request.topics, strict=True):
        rows = [_row(version, name, row.partition_index, outcomes) for row in topic.partitions]
        topics.append(_Response.TopicData(topic_name=topic.topic_name, topic_id=topic.topic_id, partitions=rows))
    return _Response(topics=topics)


def _name_of(context: AdminContext, version: int, topic: Any) -> str | None:
    """None: unknown topic id."""
    if version < VERSION_OF_IDS:
        return str(topic.topic_name)
    return context.known.name_of(topic.topic_id.hex())


def _wanted(broker_id: int, version: int, row: Any) -> WantedIsr:
    if version >= VERSION_OF_EPOCHS:
        epochs = {member.broker_id: member.broker_epoch for member in row.new_isr_with_epochs}
        isr = tuple(member.broker_id for member in row.new_isr_with_epochs)
    else:
        epochs, isr = {}, tuple(row.new_isr)
    return WantedIsr(broker_id, row.leader_epoch, isr, epochs, row.leader_recovery_state, row.partition_epoch)


def _row(version: int, name: str | None, index: int, outcomes: dict[Partition, Outcome]) -> Any:
    outcome = ErrorCode.UNKNOWN_TOPIC_ID if name is None else outcomes[name, index]
    if isinstance(outcome, ErrorCode):
        if outcome is ErrorCode.INELIGIBLE_REPLICA and version < VERSION_OF_IDS:
            outcome = ErrorCode.OPERATION_NOT_ATTEMPTED
        return _Response.PartitionData(partition_index=index, error_code=int(outcome))
    return _Response.PartitionData(
        partition_index=index,
        leader_id=outcome.leader,
        leader_epoch=outcome.leader_epoch,
        isr=list(outcome.isr),
        leader_recovery_state=outcome.recovery,
        partition_epoch=outcome.version,
    )

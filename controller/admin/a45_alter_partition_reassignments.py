"""AlterPartitionReassignments (key 45), v0: answered once ZooKeeper has what was asked; the replicas are moved after that.

Runs in: the controller process of the active node. One result a partition, the last mention counts. A refusal of the whole request is
NOT_CONTROLLER, of which clients ask again elsewhere.

Source: Kafka `KafkaController.processApiPartitionReassignment`, `KafkaApis.handleAlterPartitionReassignmentsRequest`; KIP-455.
"""

from __future__ import annotations

from headrace.controller.active.reassignment.wishes import Errors, Target
from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.zookeeper.errors import ZkError
from headrace.errors import ErrorCode, HeadraceError, KafkaError, cut
from headrace.limits import REASSIGNMENTS_IN_FLIGHT_MAX, VIEW_BYTES_PER_MOVED_REPLICA
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Response = messages.AlterPartitionReassignmentsResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Begin, replace, cancel."""
    request = decode_request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, body)
    wanted: dict[str, dict[int, Target]] = {}
    for topic in request.topics:
        rows = wanted.setdefault(topic.name, {})
        for row in topic.partitions:
            rows[row.partition_index] = None if row.replicas is None else tuple(row.replicas)
    results: dict[str, Errors] = {}
    left = iter(wanted.items())

    async def alter_some() -> None:
        """One of several tasks, that each take the next topic."""
        for name, targets in left:
            await context.tasks.pause()
            try:
                check_time()
                results[name] = await _alter(context, name, targets)
            except HeadraceError as failure:
                results[name] = dict.fromkeys(targets, KafkaError(*answer_to(failure)))

    failure: tuple[ErrorCode, str] | None = None
    check_time = context.time_limit()
    try:
        context.agent.check_active()
        await context.tasks.share(min(REASSIGNMENTS_IN_FLIGHT_MAX, len(wanted)), alter_some)
    except (KafkaError, ZkError) as refusal:
        failure = answer_to(refusal)
    refused = (error for errors in results.values() for error in errors.values() if error is not None)
    moved = [error for error in refused if error.code is ErrorCode.NOT_CONTROLLER]
    if moved and failure is None:
        failure = moved[0].code, moved[0].message
    if failure is not None:
        code, text = failure
        response = _Response(error_code=int(code), error_message=cut(text), responses=[])
    else:
        topics = [_topic(name, results[name]) for name in wanted]
        response = _Response(error_code=0, error_message=None, responses=topics)
    return PendingResponse.done(encode_response(ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, response))


async def _alter(context: AdminContext, name: str, targets: dict[int, Target]) -> Errors:
    """raises   HeadraceError"""
    context.agent.check_active()
    replicas = sum(len(target) for target in targets.values() if target is not None)
    if name in context.known.topics:
        context.agent.room.reserve_bytes(name, replicas * VIEW_BYTES_PER_MOVED_REPLICA)
    return await context.active.reassignments().alter(name, targets)


def _topic(name: str, errors: Errors) -> messages.AlterPartitionReassignmentsResponse.ReassignableTopicResponse:
    rows = [
        _Response.ReassignablePartitionResponse(
            partition_index=index,
            error_code=int(error.code if error is not None else ErrorCode.NONE),
            error_message=cut(error.message) if error is not None else None,
        )
        for index, error in errors.items()
    ]
    return _Response.ReassignableTopicResponse(name=name, partitions=rows)

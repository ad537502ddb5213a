"""ListPartitionReassignments (key 46), v0: of the partitions that are named, or of all, those whose replicas are being moved.

Runs in: the controller process of the active node; another one answers NOT_CONTROLLER.

Source: Kafka `KafkaController.processListPartitionReassignments`; KIP-455.
"""

from __future__ import annotations

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Response = messages.ListPartitionReassignmentsResponse


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Answered by what is known, at once."""
    request = decode_request(ApiKey.LIST_PARTITION_REASSIGNMENTS, version, body)
    wanted: dict[str, set[int]] | None = None
    if request.topics is not None:
        wanted = {}
        for topic in request.topics:
            wanted.setdefault(topic.name, set()).update(topic.partition_indexes)
    try:
        context.agent.check_active()
        found = context.active.reassignments().listed(wanted)
    except HeadraceError as failure:
        code, text = answer_to(failure)
        response = _Response(error_code=int(code), error_message=text, topics=[])
    else:
        topics = [
            _Response.OngoingTopicReassignment(
                name=name,
                partitions=[
                    _Response.OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(row.replicas),
                        adding_replicas=list(row.adding),
                        removing_replicas=list(row.removing),
                    )
                    for index, row in rows.items()
                ],
            )
            for name, rows in found.items()
        ]
        response = _Response(error_code=0, error_message=None, topics=topics)
    return PendingResponse.done(encode_response(ApiKey.LIST_PARTITION_REASSIGNMENTS, version, response))

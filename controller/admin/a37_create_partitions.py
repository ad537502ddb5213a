"""CreatePartitions (key 37), v0 to v3: answered when the new partitions hosted here are being served, or the timeout passed.

Runs in: the controller process. One result a topic: the topics of a request succeed or fail by themselves.

Source: Kafka `ZkAdminManager.createPartitions`, `KafkaApis.handleCreatePartitionsRequest`.
"""

from __future__ import annotations

from collections import Counter

from headrace.controller.active.topics.topic_creation import check_total
from headrace.controller.active.topics.topic_growth import placed
from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import PARTITIONS_PER_TOPIC_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Add what can be added."""
    request = decode_request(ApiKey.CREATE_PARTITIONS, version, body)
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, tuple[ErrorCode, str | None]] = {}
    grown = []
    check_time = context.time_limit()
    asked = 0
    for topic in request.topics:
        if topic.name in results:
            continue
        await context.tasks.pause()
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {topic.name} appears {counts[topic.name]} times")
            context.agent.check_active()
            check_time()
            if 0 < topic.count <= PARTITIONS_PER_TOPIC_MAX and topic.name in context.known.topics:
                check_total(asked + topic.count)
                asked += topic.count
            await _grow_one(context, topic, request.validate_only)
            results[topic.name] = (ErrorCode.NONE, None)
            if not request.validate_only:
                grown.append(topic.name)
        except HeadraceError as failure:
            results[topic.name] = answer_to(failure)

    def respond(is_done: bool) -> bytes:
        if not is_done:
            results.update(dict.fromkeys(grown, (ErrorCode.REQUEST_TIMED_OUT, "added, not yet served")))
        rows = [_Result(name, int(code), text) for name, (code, text) in results.items()]
        return encode_response(ApiKey.CREATE_PARTITIONS, version, messages.CreatePartitionsResponse(results=rows))

    return context.agent.wait_served(grown, request.timeout_ms, respond)


async def _grow_one(
    context: AdminContext, wanted: messages.CreatePartitionsRequest.CreatePartitionsTopic, is_trial: bool
) -> None:
    cluster = context.known
    await context.active.wait_free(wanted.name)
    context.agent.check_active()
    if context.active.is_deleting(wanted.name):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {wanted.name} is being deleted")
    topic = cluster.topics.get(wanted.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {wanted.name} does not exist")
    rows = None if wanted.assignments is None else [row.broker_ids for row in wanted.assignments]
    replicas = placed(topic, wanted.count, rows, cluster.racks())
    if not is_trial:
        await context.active.grow(topic, replicas)

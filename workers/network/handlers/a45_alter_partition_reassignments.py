"""AlterPartitionReassignments (key 45), v0, from the cluster view: what it asks for is checked, and nothing moves yet.

Replicas on other nodes are not fed yet, so a partition stays where it is: the replicas that it has already are a
reassignment that is done, others are refused with the reason, and there is none to cancel. Only the active controller
answers, as in Kafka.

Source: Kafka `KafkaController.processApiPartitionReassignment`; KIP-455.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import ErrorCode, cut
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange

_Topic = messages.AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_Partition = messages.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
_DONE = (ErrorCode.NONE, None)


def handle(context: Context, exchange: Exchange, body: memoryview) -> None:
    """One result a partition; the last mention counts."""
    request = decode_request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, exchange.api_version, body)
    controller = context.view.controller_id
    if controller != context.node_id:
        response = messages.AlterPartitionReassignmentsResponse(
            error_code=int(ErrorCode.NOT_CONTROLLER),
            error_message=f"the active controller is node {controller}, ask there",
            responses=[],
        )
    else:
        asked: dict[str, dict[int, Sequence[int] | None]] = {}
        for topic in request.topics:
            asked.setdefault(topic.name, {}).update((row.partition_index, row.replicas) for row in topic.partitions)
        topics = [
            _Topic(name=name, partitions=[_answer(context, name, index, rows[index]) for index in rows])
            for name, rows in asked.items()
        ]
        response = messages.AlterPartitionReassignmentsResponse(error_code=0, error_message=None, responses=topics)
    exchange.answer_bytes(encode_response(ApiKey.ALTER_PARTITION_REASSIGNMENTS, exchange.api_version, response))


def _answer(context: Context, name: str, index: int, replicas: Sequence[int] | None) -> _Partition:
    error, text = _judge(context, name, index, replicas)
    return _Partition(partition_index=index, error_code=int(error), error_message=None if text is None else cut(text))


def _judge(context: Context, name: str, index: int, replicas: Sequence[int] | None) -> tuple[ErrorCode, str | None]:
    topic = context.view.topics.get(name)
    if topic is None or (replicas is not None and not 0 <= index < len(topic.partitions)):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."
    if replicas is None:
        return ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
    invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not replicas:
        return invalid, "Empty replica list specified in partition reassignment."
    if len(set(replicas)) != len(replicas):
        return invalid, f"Duplicate replica ids in partition reassignment replica list: {replicas[:100]}"
    if min(replicas) < 0:
        return invalid, f"Invalid broker id in replica list: {replicas[:100]}"
    live = context.view.brokers
    if not live.keys() >= set(replicas):
        return invalid, (
            "Replica assignment has brokers that are not alive. "
            f"Replica list: {replicas[:100]}, live broker list: {sorted(live)}"
        )
    if tuple(replicas) == topic.partitions[index].replicas:
        return _DONE
    return invalid, f"replicas {list(topic.partitions[index].replicas)} can't move yet: nodes don't replicate so far"

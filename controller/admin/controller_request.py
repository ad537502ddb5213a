"""What LeaderAndIsr, StopReplica and UpdateMetadata have in common: who sent them, and which states they name.

Runs in: the controller process of the node that gets the request. They come from the active controller of another node through a network
worker, or from that of this node by a call.

Only controllers of ZooKeeper mode are believed: a request of a KRaft controller, or of a migration, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.controller.admin.context import AdminContext
from headrace.controller.agent.judgement import judge_request
from headrace.controller.cluster.events import ToldPartition, ToldTopic
from headrace.errors import ErrorCode
from headrace.limits import TOLD_PARTITIONS_PER_STEP
from headrace.protocol.messages import ZERO_UUID


async def judged(context: AdminContext, request: Any, request_type: int = 0) -> ErrorCode:
    """Whether a request counts; waits until this node knows what ZooKeeper has.

    After each await it is to be asked again: a later controller may have been heard, and the states of a backup read.

    raises   KafkaError, ZkLost: no answer is right, the controller sends it again
    """
    if request.is_kraft_controller or request_type:
        return ErrorCode.INVALID_REQUEST
    await context.wait_loaded()
    agent = context.agent
    error = judge_request(
        request.controller_epoch, agent.controller_epoch, request.broker_epoch, context.known.broker_epoch
    )
    if error is ErrorCode.NONE:
        agent.note_controller(request.controller_epoch)
    return error


def slices(told: Mapping[str, ToldTopic]) -> Iterator[dict[str, ToldTopic]]:
    """Some topics at a time: about as many partitions as may be taken in without a pause."""
    part: dict[str, ToldTopic] = {}
    count = 0
    for name, topic in told.items():
        part[name] = topic
        count += len(topic.partitions)
        if count >= TOLD_PARTITIONS_PER_STEP:
            yield part
            part, count = {}, 0
    if part:
        yield part


def hex_of(topic_id: bytes) -> str:
    """32 hex digits; '' of the id that says that there is none."""
    return "" if topic_id == ZERO_UUID else topic_id.hex()


def gathered(states: Iterator[tuple[str, bytes, int, ToldPartition]]) -> dict[str, ToldTopic]:
    """By topic and partition; of one that appears twice the later state."""
    told: dict[str, ToldTopic] = {}
    for name, topic_id, index, partition in states:
        topic = told.get(name)
        if topic is None:
            topic = told[name] = ToldTopic(hex_of(topic_id), {})
        topic.partitions[index] = partition
    return told

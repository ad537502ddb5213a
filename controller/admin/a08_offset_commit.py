"""OffsetCommit v0 (key 8): offsets of old consumers, which ZooKeeper keeps. Answered when they are written.

Runs in: the controller process of any node, active or not.

    /consumers/[group]/offsets/[topic]/[partition]     the offset, as text

Source: Kafka `KafkaApis.handleOffsetCommitRequest`, version 0.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.controller.admin.context import AdminContext
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict, ZkError
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_log = logging.getLogger(__name__)
_Topic = messages.OffsetCommitResponse.OffsetCommitResponseTopic
_Partition = messages.OffsetCommitResponse.OffsetCommitResponsePartition


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Write each partition's offset, the last that is named; one error each."""
    request = decode_request(ApiKey.OFFSET_COMMIT, version, body)
    rows = {(topic.name, row.partition_index): row for topic in request.topics for row in topic.partitions}
    check_time = context.time_limit()
    errors = {
        (topic, index): int(await _commit(context, request.group_id, topic, row, check_time))
        for (topic, index), row in rows.items()
    }
    topics = [
        _Topic(
            name=topic.name,
            partitions=[
                _Partition(partition_index=row.partition_index, error_code=errors[topic.name, row.partition_index])
                for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return PendingResponse.done(
        encode_response(ApiKey.OFFSET_COMMIT, version, messages.OffsetCommitResponse(topics=topics))
    )


async def _commit(
    context: AdminContext,
    group_id: str,
    topic: str,
    row: messages.OffsetCommitRequest.OffsetCommitRequestPartition,
    check_time: Callable[[], None],
) -> ErrorCode:
    await context.tasks.pause()
    if not znodes.is_path_part(group_id):
        return ErrorCode.INVALID_GROUP_ID
    known = context.known.topics.get(topic)
    if known is None or not 0 <= row.partition_index < len(known.replicas):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len((row.committed_metadata or "").encode("utf-16-le")) // 2 > context.settings["offset.metadata.max.bytes"]:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    path = znodes.consumer_offset_path(group_id, topic, row.partition_index)
    data = str(row.committed_offset).encode()
    try:
        check_time()
        try:
            await context.zk.set(path, data)
        except ZkConflict:
            await context.zk.create(path, data)
    except (ZkError, KafkaError) as failure:
        _log.warning("offset not written path=%s reason=%s", path, failure)
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NONE

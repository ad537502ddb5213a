"""OffsetFetch v0 (key 9): offsets that ZooKeeper keeps for old consumers.

Runs in: the controller process of any node, active or not. Where there is none: -1 and UNKNOWN_TOPIC_OR_PARTITION, as
Kafka has it; consumers of that age take the error for "no offset".

Source: Kafka `KafkaApis.handleOffsetFetchRequest`, version 0.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.controller.admin.context import AdminContext
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkError
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

NO_OFFSET = -1

_log = logging.getLogger(__name__)
_Topic = messages.OffsetFetchResponse.OffsetFetchResponseTopic
_Partition = messages.OffsetFetchResponse.OffsetFetchResponsePartition


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Read each partition's offset, once however often it is named."""
    request = decode_request(ApiKey.OFFSET_FETCH, version, body)
    check_time = context.time_limit()
    found: dict[tuple[str, int], tuple[int, ErrorCode]] = {}
    topics = []
    for topic in request.topics or ():
        rows = []
        for index in topic.partition_indexes:
            place = (topic.name, index)
            if place not in found:
                found[place] = await _fetch(context, request.group_id, *place, check_time)
            offset, error = found[place]
            rows.append(_Partition(partition_index=index, committed_offset=offset, metadata="", error_code=int(error)))
        topics.append(_Topic(name=topic.name, partitions=rows))
    return PendingResponse.done(
        encode_response(ApiKey.OFFSET_FETCH, version, messages.OffsetFetchResponse(topics=topics))
    )


async def _fetch(
    context: AdminContext, group_id: str, topic: str, partition: int, check_time: Callable[[], None]
) -> tuple[int, ErrorCode]:
    await context.tasks.pause()
    known = context.known.topics.get(topic)
    if known is None or not 0 <= partition < len(known.replicas):
        return NO_OFFSET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not znodes.is_path_part(group_id):
        return NO_OFFSET, ErrorCode.INVALID_GROUP_ID
    path = znodes.consumer_offset_path(group_id, topic, partition)
    try:
        check_time()
        node = await context.zk.get(path)
        if node is None:
            return NO_OFFSET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return znodes.decode_consumer_offset(path, node.data), ErrorCode.NONE
    except (ZkError, KafkaError, znodes.BadZnode) as failure:
        _log.warning("offset not read path=%s reason=%s", path, failure)
        return NO_OFFSET, ErrorCode.UNKNOWN_SERVER_ERROR

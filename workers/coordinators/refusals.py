"""The response to a group request that meets no group: the same error wherever the message has a place for it.

Source: Kafka `AbstractRequest.getErrorResponse` of each request.
"""

from __future__ import annotations

from typing import Any

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.workers.coordinators.rebalance import join_refusal

VERSION_OF_LEFT_MEMBERS = 3


def refusal_of(api_key: int, request: Any, error: ErrorCode) -> Any:
    """A response message for a request that concerns one group. (`CommitRequest` has its own.)"""
    code = int(error)
    if api_key == ApiKey.JOIN_GROUP:
        return join_refusal(request.member_id, error)
    if api_key == ApiKey.SYNC_GROUP:
        return messages.SyncGroupResponse(error_code=code)
    if api_key == ApiKey.HEARTBEAT:
        return messages.HeartbeatResponse(error_code=code)
    if api_key == ApiKey.LEAVE_GROUP:
        return messages.LeaveGroupResponse(error_code=code, members=[])
    if api_key == ApiKey.OFFSET_DELETE:
        return messages.OffsetDeleteResponse(error_code=code, topics=[])
    assert api_key == ApiKey.TXN_OFFSET_COMMIT, api_key
    return _transactional_refusal(request, code)


def _transactional_refusal(request: Any, code: int) -> Any:
    topic_row = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    row = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition
    return messages.TxnOffsetCommitResponse(
        topics=[
            topic_row(
                name=topic.name,
                partitions=[
                    row(partition_index=partition.partition_index, error_code=code) for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )

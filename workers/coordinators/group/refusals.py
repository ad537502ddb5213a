"""The answer to a group request that is refused: the same error wherever the message has a place for it.

Source: Kafka `AbstractRequest.getErrorResponse` of each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import ErrorCode
from headrace.ids import NO_GENERATION
from headrace.protocol import messages
from headrace.workers.coordinators.group.events import (
    Commit,
    CommitTransactional,
    DeleteGroup,
    DeleteOffsets,
    Heartbeat,
    Join,
    Leave,
    Sync,
)

_TxnTopic = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_TxnPartition = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


def refusal_of(event: Any, error: ErrorCode) -> Any:
    """What the Answer to a request has for its message."""
    return _REFUSALS[type(event)](event, error)


def join_refusal(member_id: str, error: ErrorCode) -> Any:
    """A JoinGroup response without a generation."""
    return messages.JoinGroupResponse(
        error_code=int(error), generation_id=NO_GENERATION, protocol_name="", leader="", member_id=member_id
    )


def sync_refusal(error: ErrorCode) -> Any:
    return messages.SyncGroupResponse(error_code=int(error))


def _refuse_transactional(event: CommitTransactional, error: ErrorCode) -> Any:
    code = int(error)
    return messages.TxnOffsetCommitResponse(
        topics=[
            _TxnTopic(
                name=topic.name,
                partitions=[
                    _TxnPartition(partition_index=row.partition_index, error_code=code) for row in topic.partitions
                ],
            )
            for topic in event.request.topics
        ]
    )


_REFUSALS: dict[type, Callable[[Any, ErrorCode], Any]] = {
    Join: lambda event, error: join_refusal(event.request.member_id, error),
    Sync: lambda event, error: sync_refusal(error),
    Heartbeat: lambda event, error: messages.HeartbeatResponse(error_code=int(error)),
    Leave: lambda event, error: messages.LeaveGroupResponse(error_code=int(error), members=[]),
    Commit: lambda event, error: event.request.response(error),
    CommitTransactional: _refuse_transactional,
    DeleteOffsets: lambda event, error: messages.OffsetDeleteResponse(error_code=int(error), topics=[]),
    DeleteGroup: lambda event, error: error,
}

"""OffsetCommitRequest, v0 to v9.

Made by `make codec` from protocol/schema/08_offset_commit.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.offset_commit_response import OffsetCommitResponse


class OffsetCommitRequestPartition(NamedTuple):
    partition_index: int = 0  # v0+
    committed_offset: int = 0  # v0+
    committed_leader_epoch: int = -1  # v6+
    commit_timestamp: int = -1  # v1
    committed_metadata: str | None = ""  # v0+, null v0+


class OffsetCommitRequestTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[OffsetCommitRequestPartition] = ()  # v0+


class _OffsetCommitRequest(NamedTuple):
    group_id: str = ""  # v0+
    generation_id_or_member_epoch: int = -1  # v1+
    member_id: str = ""  # v1+
    group_instance_id: str | None = None  # v7+, null v7+
    retention_time_ms: int = -1  # v2-4
    topics: Sequence[OffsetCommitRequestTopic] = ()  # v0+


class OffsetCommitRequest(_OffsetCommitRequest):
    __slots__ = ()
    OffsetCommitRequestPartition: TypeAlias = OffsetCommitRequestPartition
    OffsetCommitRequestTopic: TypeAlias = OffsetCommitRequestTopic
    if TYPE_CHECKING:

        def _answer_(self) -> OffsetCommitResponse: ...

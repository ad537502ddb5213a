"""OffsetForLeaderEpochRequest, v0 to v4.

Made by `make codec` from protocol/schema/23_offset_for_leader_epoch.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse


class OffsetForLeaderPartition(NamedTuple):
    partition: int = 0  # v0+
    current_leader_epoch: int = -1  # v2+
    leader_epoch: int = 0  # v0+


class OffsetForLeaderTopic(NamedTuple):
    topic: str = ""  # v0+
    partitions: Sequence[OffsetForLeaderPartition] = ()  # v0+


class _OffsetForLeaderEpochRequest(NamedTuple):
    replica_id: int = -2  # v3+
    topics: Sequence[OffsetForLeaderTopic] = ()  # v0+


class OffsetForLeaderEpochRequest(_OffsetForLeaderEpochRequest):
    __slots__ = ()
    OffsetForLeaderPartition: TypeAlias = OffsetForLeaderPartition
    OffsetForLeaderTopic: TypeAlias = OffsetForLeaderTopic
    if TYPE_CHECKING:

        def _answer_(self) -> OffsetForLeaderEpochResponse: ...

"""OffsetForLeaderEpochResponse, v0 to v4.

Made by `make codec` from protocol/schema/23_offset_for_leader_epoch.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class EpochEndOffset(NamedTuple):
    error_code: int = 0  # v0+
    partition: int = 0  # v0+
    leader_epoch: int = -1  # v1+
    end_offset: int = -1  # v0+


class OffsetForLeaderTopicResult(NamedTuple):
    topic: str = ""  # v0+
    partitions: Sequence[EpochEndOffset] = ()  # v0+


class _OffsetForLeaderEpochResponse(NamedTuple):
    throttle_time_ms: int = 0  # v2+
    topics: Sequence[OffsetForLeaderTopicResult] = ()  # v0+


class OffsetForLeaderEpochResponse(_OffsetForLeaderEpochResponse):
    __slots__ = ()
    EpochEndOffset: TypeAlias = EpochEndOffset
    OffsetForLeaderTopicResult: TypeAlias = OffsetForLeaderTopicResult

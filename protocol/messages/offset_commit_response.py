"""OffsetCommitResponse, v0 to v9.

Made by `make codec` from protocol/schema/08_offset_commit.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class OffsetCommitResponsePartition(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class OffsetCommitResponseTopic(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[OffsetCommitResponsePartition] = ()  # v0+


class _OffsetCommitResponse(NamedTuple):
    throttle_time_ms: int = 0  # v3+
    topics: Sequence[OffsetCommitResponseTopic] = ()  # v0+


class OffsetCommitResponse(_OffsetCommitResponse):
    __slots__ = ()
    OffsetCommitResponsePartition: TypeAlias = OffsetCommitResponsePartition
    OffsetCommitResponseTopic: TypeAlias = OffsetCommitResponseTopic

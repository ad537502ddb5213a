"""OffsetFetchResponse, v0 to v9.

Made by `make codec` from protocol/schema/09_offset_fetch.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class OffsetFetchResponsePartition(NamedTuple):
    partition_index: int = 0  # v0-7
    committed_offset: int = 0  # v0-7
    committed_leader_epoch: int = -1  # v5-7
    metadata: str | None = ""  # v0-7, null v0-7
    error_code: int = 0  # v0-7


class OffsetFetchResponseTopic(NamedTuple):
    name: str = ""  # v0-7
    partitions: Sequence[OffsetFetchResponsePartition] = ()  # v0-7


class OffsetFetchResponsePartitions(NamedTuple):
    partition_index: int = 0  # v8+
    committed_offset: int = 0  # v8+
    committed_leader_epoch: int = -1  # v8+
    metadata: str | None = ""  # v8+, null v8+
    error_code: int = 0  # v8+


class OffsetFetchResponseTopics(NamedTuple):
    name: str = ""  # v8+
    partitions: Sequence[OffsetFetchResponsePartitions] = ()  # v8+


class OffsetFetchResponseGroup(NamedTuple):
    group_id: str = ""  # v8+
    topics: Sequence[OffsetFetchResponseTopics] = ()  # v8+
    error_code: int = 0  # v8+


class _OffsetFetchResponse(NamedTuple):
    throttle_time_ms: int = 0  # v3+
    topics: Sequence[OffsetFetchResponseTopic] = ()  # v0-7
    error_code: int = 0  # v2-7
    groups: Sequence[OffsetFetchResponseGroup] = ()  # v8+


class OffsetFetchResponse(_OffsetFetchResponse):
    __slots__ = ()
    OffsetFetchResponsePartition: TypeAlias = OffsetFetchResponsePartition
    OffsetFetchResponseTopic: TypeAlias = OffsetFetchResponseTopic
    OffsetFetchResponsePartitions: TypeAlias = OffsetFetchResponsePartitions
    OffsetFetchResponseTopics: TypeAlias = OffsetFetchResponseTopics
    OffsetFetchResponseGroup: TypeAlias = OffsetFetchResponseGroup

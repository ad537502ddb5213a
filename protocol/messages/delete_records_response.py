"""DeleteRecordsResponse, v0 to v2.

Made by `make codec` from protocol/schema/21_delete_records.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class DeleteRecordsPartitionResult(NamedTuple):
    partition_index: int = 0  # v0+
    low_watermark: int = 0  # v0+
    error_code: int = 0  # v0+


class DeleteRecordsTopicResult(NamedTuple):
    name: str = ""  # v0+
    partitions: Sequence[DeleteRecordsPartitionResult] = ()  # v0+


class _DeleteRecordsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    topics: Sequence[DeleteRecordsTopicResult] = ()  # v0+


class DeleteRecordsResponse(_DeleteRecordsResponse):
    __slots__ = ()
    DeleteRecordsPartitionResult: TypeAlias = DeleteRecordsPartitionResult
    DeleteRecordsTopicResult: TypeAlias = DeleteRecordsTopicResult

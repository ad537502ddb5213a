"""AlterReplicaLogDirsResponse, v0 to v2.

Made by `make codec` from protocol/schema/34_alter_replica_log_dirs.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class AlterReplicaLogDirPartitionResult(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class AlterReplicaLogDirTopicResult(NamedTuple):
    topic_name: str = ""  # v0+
    partitions: Sequence[AlterReplicaLogDirPartitionResult] = ()  # v0+


class _AlterReplicaLogDirsResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    results: Sequence[AlterReplicaLogDirTopicResult] = ()  # v0+


class AlterReplicaLogDirsResponse(_AlterReplicaLogDirsResponse):
    __slots__ = ()
    AlterReplicaLogDirPartitionResult: TypeAlias = AlterReplicaLogDirPartitionResult
    AlterReplicaLogDirTopicResult: TypeAlias = AlterReplicaLogDirTopicResult

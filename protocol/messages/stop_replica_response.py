"""StopReplicaResponse, v0 to v4.

Made by `make codec` from protocol/schema/05_stop_replica.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class StopReplicaPartitionError(NamedTuple):
    topic_name: str = ""  # v0+
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+


class _StopReplicaResponse(NamedTuple):
    error_code: int = 0  # v0+
    partition_errors: Sequence[StopReplicaPartitionError] = ()  # v0+


class StopReplicaResponse(_StopReplicaResponse):
    __slots__ = ()
    StopReplicaPartitionError: TypeAlias = StopReplicaPartitionError

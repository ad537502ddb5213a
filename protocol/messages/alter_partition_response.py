"""AlterPartitionResponse, v0 to v3.

Made by `make codec` from protocol/schema/56_alter_partition.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID


class PartitionData(NamedTuple):
    partition_index: int = 0  # v0+
    error_code: int = 0  # v0+
    leader_id: int = 0  # v0+
    leader_epoch: int = 0  # v0+
    isr: Sequence[int] = ()  # v0+
    leader_recovery_state: int = 0  # v1+
    partition_epoch: int = 0  # v0+


class TopicData(NamedTuple):
    topic_name: str = ""  # v0-1
    topic_id: bytes = ZERO_UUID  # v2+
    partitions: Sequence[PartitionData] = ()  # v0+


class _AlterPartitionResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    topics: Sequence[TopicData] = ()  # v0+


class AlterPartitionResponse(_AlterPartitionResponse):
    __slots__ = ()
    PartitionData: TypeAlias = PartitionData
    TopicData: TypeAlias = TopicData

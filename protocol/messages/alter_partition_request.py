"""AlterPartitionRequest, v0 to v3.

Made by `make codec` from protocol/schema/56_alter_partition.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.alter_partition_response import AlterPartitionResponse


class BrokerState(NamedTuple):
    broker_id: int = 0  # v3+
    broker_epoch: int = -1  # v3+


class PartitionData(NamedTuple):
    partition_index: int = 0  # v0+
    leader_epoch: int = 0  # v0+
    new_isr: Sequence[int] = ()  # v0-2
    new_isr_with_epochs: Sequence[BrokerState] = ()  # v3+
    leader_recovery_state: int = 0  # v1+
    partition_epoch: int = 0  # v0+


class TopicData(NamedTuple):
    topic_name: str = ""  # v0-1
    topic_id: bytes = ZERO_UUID  # v2+
    partitions: Sequence[PartitionData] = ()  # v0+


class _AlterPartitionRequest(NamedTuple):
    broker_id: int = 0  # v0+
    broker_epoch: int = -1  # v0+
    topics: Sequence[TopicData] = ()  # v0+


class AlterPartitionRequest(_AlterPartitionRequest):
    __slots__ = ()
    BrokerState: TypeAlias = BrokerState
    PartitionData: TypeAlias = PartitionData
    TopicData: TypeAlias = TopicData
    if TYPE_CHECKING:

        def _answer_(self) -> AlterPartitionResponse: ...

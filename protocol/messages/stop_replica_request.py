"""StopReplicaRequest, v0 to v4.

Made by `make codec` from protocol/schema/05_stop_replica.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.stop_replica_response import StopReplicaResponse


class StopReplicaPartitionV0(NamedTuple):
    topic_name: str = ""  # v0
    partition_index: int = 0  # v0


class StopReplicaTopicV1(NamedTuple):
    name: str = ""  # v1-2
    partition_indexes: Sequence[int] = ()  # v1-2


class StopReplicaPartitionState(NamedTuple):
    partition_index: int = 0  # v3+
    leader_epoch: int = -1  # v3+
    delete_partition: bool = False  # v3+


class StopReplicaTopicState(NamedTuple):
    topic_name: str = ""  # v3+
    partition_states: Sequence[StopReplicaPartitionState] = ()  # v3+


class _StopReplicaRequest(NamedTuple):
    controller_id: int = 0  # v0+
    is_kraft_controller: bool = False  # v4+
    controller_epoch: int = 0  # v0+
    broker_epoch: int = -1  # v1+
    delete_partitions: bool = False  # v0-2
    ungrouped_partitions: Sequence[StopReplicaPartitionV0] = ()  # v0
    topics: Sequence[StopReplicaTopicV1] = ()  # v1-2
    topic_states: Sequence[StopReplicaTopicState] = ()  # v3+


class StopReplicaRequest(_StopReplicaRequest):
    __slots__ = ()
    StopReplicaPartitionV0: TypeAlias = StopReplicaPartitionV0
    StopReplicaTopicV1: TypeAlias = StopReplicaTopicV1
    StopReplicaPartitionState: TypeAlias = StopReplicaPartitionState
    StopReplicaTopicState: TypeAlias = StopReplicaTopicState
    if TYPE_CHECKING:

        def _answer_(self) -> StopReplicaResponse: ...

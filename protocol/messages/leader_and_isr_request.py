"""LeaderAndIsrRequest, v0 to v7.

Made by `make codec` from protocol/schema/04_leader_and_isr.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.protocol.messages import ZERO_UUID

if TYPE_CHECKING:
    from headrace.protocol.messages.leader_and_isr_response import LeaderAndIsrResponse


class LeaderAndIsrPartitionState(NamedTuple):
    topic_name: str = ""  # v0-1
    partition_index: int = 0  # v0+
    controller_epoch: int = 0  # v0+
    leader: int = 0  # v0+
    leader_epoch: int = 0  # v0+
    isr: Sequence[int] = ()  # v0+
    partition_epoch: int = 0  # v0+
    replicas: Sequence[int] = ()  # v0+
    adding_replicas: Sequence[int] = ()  # v3+
    removing_replicas: Sequence[int] = ()  # v3+
    is_new: bool = False  # v1+
    leader_recovery_state: int = 0  # v6+


class LeaderAndIsrTopicState(NamedTuple):
    topic_name: str = ""  # v2+
    topic_id: bytes = ZERO_UUID  # v5+
    partition_states: Sequence[LeaderAndIsrPartitionState] = ()  # v2+


class LeaderAndIsrLiveLeader(NamedTuple):
    broker_id: int = 0  # v0+
    host_name: str = ""  # v0+
    port: int = 0  # v0+


class _LeaderAndIsrRequest(NamedTuple):
    controller_id: int = 0  # v0+
    is_kraft_controller: bool = False  # v7+
    controller_epoch: int = 0  # v0+
    broker_epoch: int = -1  # v2+
    type: int = 0  # v5+
    ungrouped_partition_states: Sequence[LeaderAndIsrPartitionState] = ()  # v0-1
    topic_states: Sequence[LeaderAndIsrTopicState] = ()  # v2+
    live_leaders: Sequence[LeaderAndIsrLiveLeader] = ()  # v0+


class LeaderAndIsrRequest(_LeaderAndIsrRequest):
    __slots__ = ()
    LeaderAndIsrPartitionState: TypeAlias = LeaderAndIsrPartitionState
    LeaderAndIsrTopicState: TypeAlias = LeaderAndIsrTopicState
    LeaderAndIsrLiveLeader: TypeAlias = LeaderAndIsrLiveLeader
    if TYPE_CHECKING:

        def _answer_(self) -> LeaderAndIsrResponse: ...

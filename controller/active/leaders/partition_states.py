"""The states of a partition, and what each step from one to the next does: a table, pure.

Runs in: the controller process of the active node. A row is the state that is wanted, a cell the one that a partition has: a function
that says what is to be done (`effects.py`), or NEVER, where Kafka has no such step. `state_changes.py` carries the effects out.

    NonExistent -> New -> Online <-> Offline -> NonExistent

What a partition is follows from what is known of it (`status_of`): only that its topic is being deleted has to be remembered.
An election that finds nobody leaves a partition as it is.

Source: Kafka `PartitionState.validPreviousStates`, `ZkPartitionStateMachine.doHandleStateChanges`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import NamedTuple

from headrace.controller.active.effects import NEVER, NOBODY, NOTHING, Effects, Refusal, TellLeaders
from headrace.controller.active.topics.assignment import initial_state
from headrace.controller.zookeeper.znodes import PartitionState


class PartitionStatus(Enum):
    """Kafka's names."""

    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


class PartitionFacts(NamedTuple):
    """What a step of a partition is decided by."""

    replicas: tuple[int, ...]  # assigned, in order
    state: PartitionState | None  # None: it has none yet
    online: Sequence[int]  # of its replicas, in order
    epoch: int  # of the controller


Elect = Callable[[PartitionFacts], PartitionState | None]
Step = Callable[[PartitionFacts, Elect], Effects | Refusal]


def status_of(state: PartitionState | None, online: Collection[int], is_deleted: bool = False) -> PartitionStatus:
    """What a partition is, by its state and by which brokers are online; one that nobody knows is NON_EXISTENT."""
    if is_deleted:
        return PartitionStatus.NON_EXISTENT
    if state is None:
        return PartitionStatus.NEW
    return PartitionStatus.ONLINE if state.leader in online else PartitionStatus.OFFLINE


def _initialize(facts: PartitionFacts, _how: Elect) -> Effects | Refusal:
    """The first replica that is online leads, all that are online are in sync."""
    if not facts.online:
        return NOBODY
    state = initial_state(facts.replicas, facts.online, facts.epoch)
    return Effects(state, (TellLeaders(is_new=True),))


def _elect(facts: PartitionFacts, elect: Elect) -> Effects | Refusal:
    state = elect(facts)
    return NOBODY if state is None else Effects(state, (TellLeaders(),))


def _note(_facts: PartitionFacts, _how: Elect) -> Effects:
    """Only the state changes."""
    return NOTHING


_P = PartitionStatus
#  wanted           New          Online Offline NonExistent
_TABLE: dict[PartitionStatus, tuple[Step | Refusal, ...]] = {
    _P.NEW:          (NEVER, NEVER, NEVER, _note),
    _P.ONLINE:       (_initialize, _elect, _elect, NEVER),
    _P.OFFLINE:      (_note, _note, _note, NEVER),
    _P.NON_EXISTENT: (NEVER, NEVER, _note, NEVER),
}  # fmt: skip
PARTITION_STEPS = {
    (status, wanted): cell for wanted, row in _TABLE.items() for status, cell in zip(PartitionStatus, row, strict=True)
}


def step_partition(
    status: PartitionStatus, wanted: PartitionStatus, facts: PartitionFacts, elect: Elect
) -> Effects | Refusal:
    """What moving a partition does; NEVER: it stays as it is."""
    cell = PARTITION_STEPS[status, wanted]
    return cell if isinstance(cell, Refusal) else cell(facts, elect)

"""The states of a replica, and what each step from one to the next does: a table, pure.

Runs in: the controller process of the active node. A row is the state that is wanted, a cell the one that a replica has: a function
that says what is to be done (`effects.py`), or NEVER, where Kafka has no such step. `state_changes.py` carries the effects out.

    NonExistent -> New -> Online <-> Offline -> DeletionStarted -> DeletionSuccessful -> NonExistent
                                        ^            v
                                        +--- DeletionIneligible     its broker, or its directory, is away; again when it is back

Source: Kafka `ReplicaState.validPreviousStates`, `ZkReplicaStateMachine.doHandleStateChanges`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from headrace.controller.active.effects import NEVER, NOTHING, Effects, Refusal, StopReplica, TellLeaders, TellMetadata
from headrace.controller.active.leaders.elections import without
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_EPOCH

EPOCH_DURING_DELETE = -2  # in the place of a leader epoch, in StopReplica


class ReplicaStatus(Enum):
    """Kafka's names."""

    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


class ReplicaFacts(NamedTuple):
    """What a step of a replica is decided by."""

    broker: int
    replicas: tuple[int, ...]  # of the partition
    state: PartitionState | None  # None: it has none yet
    epoch: int  # of the controller
    offline: tuple[int, ...] = ()  # other replicas that are offline: they leave the ISR with it
    is_deleted: bool = False  # its topic is being deleted

    @property
    def leader_epoch(self) -> int:
        """For a StopReplica."""
        if self.is_deleted:
            return EPOCH_DURING_DELETE
        return NO_EPOCH if self.state is None else self.state.leader_epoch


Step = Callable[[ReplicaFacts], Effects | Refusal]


def _begin(facts: ReplicaFacts) -> Effects | Refusal:
    """A replica that a reassignment adds: it follows the current leader."""
    if facts.state is None:
        return NOTHING  # it is told with the first state
    if facts.state.leader == facts.broker:
        return NEVER
    return Effects(notices=(TellLeaders((facts.broker,), is_new=True),))


def _adopt(_facts: ReplicaFacts) -> Effects:
    """A new one was told already, with its first state or as it began."""
    return NOTHING


def _tell(facts: ReplicaFacts) -> Effects:
    if facts.state is None:
        return NOTHING  # it never led nor followed
    return Effects(notices=(TellLeaders((facts.broker,)),))


def _stop(facts: ReplicaFacts) -> Effects:
    """It follows no leader any more, and is out of the ISR where others remain; they are notified."""
    stop = StopReplica(facts.broker, facts.leader_epoch, is_deleted=False)
    if facts.is_deleted:
        return Effects(notices=(stop,))
    if facts.state is None:
        return Effects(notices=(stop, TellMetadata()))
    state = without(facts.state, (facts.broker, *facts.offline), facts.epoch)
    if state is None:
        return Effects(notices=(stop, TellMetadata()))  # which brokers are offline
    others = tuple(replica for replica in facts.replicas if replica != facts.broker)
    return Effects(state, (stop, TellLeaders(others)))


def _delete(facts: ReplicaFacts) -> Effects:
    return Effects(notices=(StopReplica(facts.broker, facts.leader_epoch, is_deleted=True),))


def _note(_facts: ReplicaFacts) -> Effects:
    """Only the state changes."""
    return NOTHING


_R = ReplicaStatus
#  wanted                 New     Online  Offline Started Success Inelig. NonExistent
_TABLE: dict[ReplicaStatus, tuple[Step | Refusal, ...]] = {
    _R.NEW:                 (NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, _begin),
    _R.ONLINE:              (_adopt, _tell, _tell, NEVER, NEVER, _tell, NEVER),
    _R.OFFLINE:             (_stop, _stop, _stop, NEVER, NEVER, _stop, NEVER),
    _R.DELETION_STARTED:    (NEVER, NEVER, _delete, NEVER, NEVER, NEVER, NEVER),
    _R.DELETION_SUCCESSFUL: (NEVER, NEVER, NEVER, _note, NEVER, NEVER, NEVER),
    _R.DELETION_INELIGIBLE: (NEVER, NEVER, _note, _note, NEVER, NEVER, NEVER),
    _R.NON_EXISTENT:        (NEVER, NEVER, NEVER, NEVER, _note, NEVER, NEVER),
}  # fmt: skip
REPLICA_STEPS = {
    (status, wanted): cell for wanted, row in _TABLE.items() for status, cell in zip(ReplicaStatus, row, strict=True)
}


def step_replica(status: ReplicaStatus, wanted: ReplicaStatus, facts: ReplicaFacts) -> Effects | Refusal:
    """What moving a replica does; NEVER: it stays as it is."""
    cell = REPLICA_STEPS[status, wanted]
    return cell if isinstance(cell, Refusal) else cell(facts)

"""Who leads a partition, and which replicas are in sync: pure, a state in, the state that is to be written out.

Runs in: the controller process of the active node. Each answer has a later leader epoch, and the version of the node that it was
made from, which its write expects. `online` are brokers that live, are not shutting down, and have this replica's directory.

    offline      the leader is gone: the first replica of the ISR that is online, in the order of the assignment; else, where it
                 is allowed, the first that is online (it starts alone, RECOVERING, in a leader epoch of the next era); else nobody
    reassigned   a reassignment is about to end: the first of its target that is in sync and online
    preferred    the first of the assignment, where it is in sync and online
    shutdown     a broker asks to go: the first in sync and online that is not going either; the ISR without those that go

Nobody means: the state stays. Where all of an ISR go, the leader is -1, and the last members stay in it (`without`).

Source: Kafka `Election`, `PartitionLeaderElectionAlgorithms`, `ZkReplicaStateMachine.doRemoveReplicasFromIsr`; KIP-704 for RECOVERING.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER
from headrace.leader_eras import first_of_history

RECOVERED = 0
RECOVERING = 1  # leader_recovery_state: the leader was out of sync, records may be lost


def elect_offline(
    state: PartitionState,
    replicas: Sequence[int],
    online: Collection[int],
    epoch: int,
    *,
    is_unclean: bool = False,
    is_recovery_told: bool = True,
) -> PartitionState | None:
    """A leader for a partition whose leader is gone; None where no replica may lead.

    epoch              of the controller
    is_unclean         whether a replica out of the ISR may lead
    is_recovery_told   whether the state may say RECOVERING (IBP 3.2 and later)
    """
    leader = _first(replicas, online, state.isr)
    if leader is not None:
        return _led_by(state, leader, _within(state.isr, online), epoch)
    leader = _first(replicas, online) if is_unclean else None
    if leader is None:
        return None
    recovery = RECOVERING if is_recovery_told else state.recovery
    elected = _led_by(state, leader, (leader,), epoch)
    return elected._replace(recovery=recovery, leader_epoch=first_of_history(state.leader_epoch))


def elect_reassigned(
    state: PartitionState, target: Sequence[int], online: Collection[int], epoch: int
) -> PartitionState | None:
    """A leader among the target of a reassignment, the ISR as it is; None where none of them may lead.

    It may be the one that leads already: then only the leader epoch rises.
    """
    leader = _first(target, online, state.isr)
    return _led_by(state, leader, state.isr, epoch) if leader is not None else None


def elect_preferred(
    state: PartitionState, replicas: Sequence[int], online: Collection[int], epoch: int
) -> PartitionState | None:
    """The first replica of the assignment leads, the ISR as it is; None where it may not."""
    leader = _first(replicas[:1], online, state.isr)
    return _led_by(state, leader, state.isr, epoch) if leader is not None else None


def elect_for_shutdown(
    state: PartitionState,
    replicas: Sequence[int],
    online: Collection[int],
    shutting_down: Collection[int],
    epoch: int,
) -> PartitionState | None:
    """A leader in the place of a broker that is about to go; None where there is none in sync: it leads until it is gone.

    shutting_down   it, and others that asked; none of them may lead, nor stays in the ISR
    """
    staying = [replica for replica in online if replica not in shutting_down]
    leader = _first(replicas, staying, state.isr)
    if leader is None:
        return None
    return _led_by(state, leader, tuple(replica for replica in state.isr if replica not in shutting_down), epoch)


def without(state: PartitionState, gone: Collection[int], epoch: int) -> PartitionState | None:
    """The state once replicas are offline; None where it says so already.

    The last members stay in the ISR, for only they have all records; a leader that goes leaves none.
    """
    isr = tuple(replica for replica in state.isr if replica not in gone) or state.isr
    leader = NO_LEADER if state.leader in gone else state.leader
    if (leader, isr) == (state.leader, state.isr):
        return None
    return _led_by(state, leader, isr, epoch)


def _led_by(state: PartitionState, leader: int, isr: tuple[int, ...], epoch: int) -> PartitionState:
    return state._replace(leader=leader, leader_epoch=state.leader_epoch + 1, isr=isr, controller_epoch=epoch)


def _first(replicas: Sequence[int], online: Collection[int], isr: Collection[int] | None = None) -> int | None:
    """The first of these replicas that is online, and in sync where that is asked."""
    for replica in replicas:
        if replica in online and (isr is None or replica in isr):
            return replica
    return None


def _within(isr: Sequence[int], online: Collection[int]) -> tuple[int, ...]:
    return tuple(replica for replica in isr if replica in online)

"""A partition's way to other replicas (KIP-455): pure. What is known of it and what happened, in; what is to be done, out.

Runs in: the controller process of the active node; `reassignments.py` carries plans out.

Its phase is never stored: it follows from the topic's node and the partition's state, so that any controller that finds them
goes on from there, of Kafka's kind too.

    STILL     nothing is added or removed
    SYNCING   replicas of the target are not in sync yet (Kafka's phase A)
    SYNCED    all of them are (phase B)

    requested ->  SYNCING   topic's node: target + origin, adding, removing (U1); state: epoch raised (A1), in one transaction
                            LeaderAndIsr to the origin, and to the added ones as new replicas (A1, A2)
                            where it takes another one's place: those that it does not want leave the ISR, stopped, deleted (U3)
    ISR grows ->  SYNCED    one of the target has answered in this term that its replica serves, else it waits
                            state: a leader of the target, ISR = target, epoch raised (B3, B4)
                            LeaderAndIsr to the target, which is all that brokers are sent from now on (B2)
                            once its leader has answered in this epoch: StopReplica to the removed ones, deleted (B5)
              ->  STILL     topic's node: the target alone; the entry in /admin/reassign_partitions goes (B6, B7)
                            UpdateMetadata to all (B8)

A cancelled one is one whose target is the origin. What was done is done again after each election of a controller, as no one
knows which requests its predecessor sent. The topic's node is written last: until then it says what is to be deleted.

The last in-sync replica is never deleted: a reassignment that would is refused (Kafka does delete it).

Source: Kafka `KafkaController.onPartitionReassignment`, `Election.leaderForReassign`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import Any, NamedTuple

from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.cluster.partition_assignment import PartitionAssignment, without
from headrace.controller.cluster.unwanted_replicas import FIELD
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_LEADER


class Phase(Enum):
    """How far a partition is."""

    STILL = "still"
    SYNCING = "syncing"
    SYNCED = "synced"


class Moving(NamedTuple):
    """What is known of a partition.

    live    brokers that its replicas are online on
    ready   of these, the ones that have answered for the partition in this term: that their replica serves
    """

    assignment: PartitionAssignment
    state: PartitionState
    live: Collection[int]
    controller_epoch: int
    ready: Collection[int]

    @property
    def phase(self) -> Phase:
        if not self.assignment.is_moving:
            return Phase.STILL
        return Phase.SYNCED if set(self.assignment.target) <= set(self.state.isr) else Phase.SYNCING

    @property
    def is_awaiting(self) -> bool:
        """Whether it is almost over, and some of the target are alive that have not answered in this term."""
        alive = set(self.assignment.target).intersection(self.live)
        return self.phase is Phase.SYNCED and not alive <= set(self.ready)


class Plan(NamedTuple):
    """What is done, from top to bottom; what is None or empty is left out.

    assignment  written together with the state
    told        get LeaderAndIsr
    told_new    the same, as new replicas
    stopped     are stopped and deleted
    settled     written when that is done: the end of it
    """

    assignment: PartitionAssignment | None = None
    state: PartitionState | None = None
    told: tuple[int, ...] = ()
    told_new: tuple[int, ...] = ()
    stopped: tuple[int, ...] = ()
    settled: PartitionAssignment | None = None


NOTHING = Plan()


class Requested(NamedTuple):
    """An operator wants these replicas; None: those that there were before."""

    target: tuple[int, ...] | None


class IsrChanged(NamedTuple):
    """The state was written, by any writer."""


class BrokersChanged(NamedTuple):
    """Brokers came or went."""

    brokers: frozenset[int]


class Elected(NamedTuple):
    """This controller was."""


Event = Requested | IsrChanged | BrokersChanged | Elected


def plan(known: Moving, event: Event) -> Plan:
    """What an event asks for.

    raises   KafkaError NO_REASSIGNMENT_IN_PROGRESS, INVALID_REPLICA_ASSIGNMENT
    """
    return _TABLE[type(event)][known.phase](known, event)


def check_target(assignment: PartitionAssignment, target: Sequence[int], live: Collection[int]) -> None:
    """Whether these replicas may be requested; raises KafkaError INVALID_REPLICA_ASSIGNMENT

    source   Kafka `KafkaController.validateReplicas`
    """
    reason = None
    if not target:
        reason = "Empty replica list specified in partition reassignment."
    elif len(set(target)) != len(target):
        reason = f"Duplicate replica ids in partition reassignment replica list: {list(target[:100])}"
    elif min(target) < 0:
        reason = f"Invalid broker id in replica list: {list(target[:100])}"
    elif not set(adding := assignment.to(target).adding) <= set(live):
        reason = (
            f"Replica assignment has brokers that are not alive. Replica list: {list(adding[:100])}, live broker list:"
            f" {sorted(live)}"
        )
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)


# What the cells do


def _begin(known: Moving, event: Requested) -> Plan:
    """Phase U, then A. The same one again changes nothing (RP-8697)."""
    target = known.assignment.origin if event.target is None else event.target
    wanted = known.assignment.to(target)
    if wanted == known.assignment:
        return NOTHING
    unwanted = without(known.assignment.replicas, wanted.replicas)
    isr = tuple(replica for replica in known.state.isr if replica in wanted.replicas)  # KAFKA-9672: others never were
    if not isr:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"replicas {list(known.state.isr)} are the only ones in sync and would be deleted: wait until one of"
            f" {list(wanted.replicas)} is in sync",
        )
    state = known.state._replace(isr=isr)
    after = known._replace(assignment=wanted, state=state)
    if after.phase is Phase.SYNCED and (done := _finish(after, event)) is not NOTHING:
        return done._replace(assignment=wanted, stopped=(*unwanted, *done.stopped))
    if state.leader not in wanted.replicas:
        state = state._replace(leader=_first_live(known, wanted.replicas, isr))
    return _raised(known, state, wanted)._replace(assignment=wanted, stopped=unwanted)


def _refuse_or_begin(known: Moving, event: Requested) -> Plan:
    if event.target is None:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    return _begin(known, event)


def _again(known: Moving, _event: Event) -> Plan:
    """Phase A, for brokers that may not know of it."""
    replicas, state = known.assignment.replicas, known.state
    isr = tuple(replica for replica in state.isr if replica in replicas) or state.isr
    leader = state.leader if state.leader in replicas else _first_live(known, replicas, isr)
    return _raised(known, state._replace(leader=leader, isr=isr), known.assignment)


def _again_for(known: Moving, event: BrokersChanged) -> Plan:
    """A broker that starts has to make its new replica (KAFKA-10314), and the leader to be notified again."""
    if event.brokers & set(known.assignment.target) & set(known.live):
        return _again(known, event)
    return NOTHING


def _finish(known: Moving, _event: Event) -> Plan:
    """Phase B; nothing before the one of the target that leads then has answered in this term.

    Its directory may have failed, which only the controller before knew, and it stays in the ISR for a while.
    """
    assignment, state = known.assignment, known.state
    target = assignment.target
    leader = state.leader
    if leader not in target or leader not in known.live:
        leader = next((replica for replica in target if replica in known.ready and replica in state.isr), NO_LEADER)
    if leader not in known.ready:
        return NOTHING
    isr = tuple(replica for replica in state.isr if replica in target)
    changed = _raised(known, state._replace(leader=leader, isr=isr), assignment)
    return changed._replace(told=target, told_new=(), stopped=assignment.removing, settled=PartitionAssignment(target))


def _nothing(_known: Moving, _event: Event) -> Plan:
    return NOTHING


def _raised(known: Moving, state: PartitionState, assignment: PartitionAssignment) -> Plan:
    """The state with a higher epoch, sent to all: only so a leader takes another list of replicas."""
    state = state._replace(leader_epoch=state.leader_epoch + 1, controller_epoch=known.controller_epoch)
    return Plan(state=state, told=assignment.origin, told_new=assignment.adding)


def _first_live(known: Moving, replicas: Sequence[int], isr: Collection[int]) -> int:
    return next((replica for replica in replicas if replica in known.live and replica in isr), NO_LEADER)


_TABLE: dict[type, dict[Phase, Callable[[Moving, Any], Plan]]] = {
    Requested: {Phase.STILL: _refuse_or_begin, Phase.SYNCING: _begin, Phase.SYNCED: _begin},
    IsrChanged: {Phase.STILL: _nothing, Phase.SYNCING: _nothing, Phase.SYNCED: _finish},
    BrokersChanged: {Phase.STILL: _nothing, Phase.SYNCING: _again_for, Phase.SYNCED: _finish},
    Elected: {Phase.STILL: _nothing, Phase.SYNCING: _again, Phase.SYNCED: _finish},
}


def is_unanswered(known: Moving, made: Plan) -> bool:
    """Whether a plan leaves a broker alone in the ISR which has not answered in this term: it waits."""
    if made.state is None or len(made.state.isr) != 1 or set(made.state.isr) == set(known.state.isr):
        return False
    return made.state.isr[0] not in known.ready


def is_moving(topic: Topic) -> bool:
    """Whether some of its replicas are on their way."""
    return bool(topic.adding or topic.removing)


def is_left_over(topic: Topic) -> bool:
    """Whether a controller has something to do about its replicas: some move, or are to be deleted yet."""
    return is_moving(topic) or FIELD in topic.others


def moving_partitions(topic: Topic) -> set[int]:
    """Of a topic, those whose replicas are."""
    return {*topic.adding, *topic.removing}

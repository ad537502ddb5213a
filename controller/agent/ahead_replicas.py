"""Replicas whose logs are ahead of their partition's state: noted as owners tell of them, and settled (decision 015).

Runs in: the controller process of the node that holds them; a part of `holds.py`, which keeps and stores them and reads states and ends.

    noted     ERROR: which state is of the past
    settled   each check: `old_state_decision.py`. RAISE writes the state by the version that was read, and a note as of a leader that
              changed its ISR: the controller reads it, and elects
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from headrace.controller.agent.hold_reports import choices_of, ends_of, report_loss, said_choices
from headrace.controller.agent.noted_states import StateWrite, write_noted
from headrace.controller.agent.old_state_decision import OldAct, OldVerdict, Others, decide_old, raised
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER, partition_key
from headrace.shm.messages import AHEAD_LOG, LOG_HAS_NO_ID

Place = tuple[str, int]  # topic and partition

NOTHING_HELD = HeldReplica("")
CONFLICT = (
    "these brokers have records of another history: headrace cluster accept-loss makes this replica follow"
    " the first of them and lose its own records from parted_at on; to choose another leader: headrace cluster accept-loss --keep BROKER"
)

HAS_MORE = (
    "the first of these brokers has the best log, which may lack records of another one: it compares the logs itself"
)
NAMELESS = (
    "its directory had no topic id and may belong to an earlier topic of this name: headrace cluster"
    " accept-loss makes that broker the leader, and this replica loses its records; to make this one the leader:"
    " headrace cluster accept-loss --keep BROKER"
)

_log = logging.getLogger(__name__)


class Facts(NamedTuple):
    """Of a replica here.

    high_watermark   -1: not known
    is_compacted     its topic is
    """

    high_watermark: int
    is_compacted: bool


class _Ended(NamedTuple):
    """A log whose hold is over, and what was decided: under one leader it may be truncated, and not below one offset."""

    topic_id: str
    end_offset: int
    end_epoch: int
    parted_at: int
    leader: int
    leader_epoch: int

    def counts_for(self, other: _Ended) -> bool:
        """Whether that was decided of this log, leader and parting as they are reported now."""
        return other._replace(parted_at=self.parted_at) == self and other.parted_at >= self.parted_at


class AheadReplicas:
    """Those of one node."""

    def __init__(self, known: KnownCluster, zk: ZkSession) -> None:
        self._known = known
        self._zk = zk
        self._unassigned: set[Place] = set()
        self._ended: dict[Place, _Ended] = {}

    def end(self, place: Place, held: HeldReplica) -> None:
        """A hold is over, since another log was raised: our owner may ask again before it has truncated ours."""
        state = self._state_of(place)
        self._ended = {one: ended for one, ended in self._ended.items() if one[0] in self._known.topics}
        if state is not None and held.is_over(state.leader_epoch):
            # Of one that `headrace cluster restored` has held it is not known where it has parted, if at all.
            self._remember(place, held, state, held.end_offset if held.is_of_restore else held.parted_at)

    def _remember(self, place: Place, held: HeldReplica, state: PartitionState, parted_at: int) -> None:
        """Note what was decided by this state: only its leader counts, or the one that is elected next, in that leader epoch.

        What was settled here counts before what is only seen to be over.
        """
        leader, leader_epoch = state.leader, state.leader_epoch
        if leader == NO_LEADER:
            leader, leader_epoch = state.isr[0] if len(state.isr) == 1 else NO_LEADER, leader_epoch + 1
        before = self._ended.get(place)
        is_settled = before is not None and (before.leader, before.leader_epoch) == (leader, leader_epoch)
        if leader != NO_LEADER and self._known.node_id not in state.isr and not is_settled:
            self._ended[place] = _Ended(held.topic_id, held.end_offset, held.end_epoch, parted_at, leader, leader_epoch)

    def follow(self) -> None:
        """A decision is no longer remembered once a state has this node in the ISR: its log was compared and has joined."""
        for place in list(self._ended):
            state = self._state_of(place)
            if state is not None and self._known.node_id in state.isr:
                del self._ended[place]

    def _state_of(self, place: Place) -> PartitionState | None:
        topic = self._known.topics.get(place[0])
        return topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None

    def _is_decided(self, place: Place, reported: _Ended) -> bool:
        """Whether a hold of this log has ended, and its owner only has not truncated it yet. Else nothing is remembered of it any more."""
        self.follow()
        ended = self._ended.get(place)
        if ended is not None and ended.counts_for(reported):
            return True
        self._ended.pop(place, None)
        return False

    def take(self, body: bytes) -> set[str]:
        """Hold what owners report; returns the topics. raises struct.error

        A partition worker that was restarted before it truncated its log does not know that this was decided, and asks again. The decision
        counts while the log ends as it did and is out of the ISR, for the same leader and leader epoch, and for no lower parting: it is
        not held then, and truncates.
        """
        known = self._known
        names = set()
        for slot, key, end_offset, parted_at, epoch, latest_epoch, leader, leader_epoch, flags in AHEAD_LOG.iter_unpack(
            body
        ):
            place = known.slots.holder(slot)
            topic = known.topics.get(place[0]) if place is not None else None
            if place is None or topic is None or key != partition_key(*place, topic.topic_id):
                continue
            if self._is_decided(place, _Ended(topic.topic_id, end_offset, epoch, parted_at, leader, leader_epoch)):
                _log.warning(
                    "replica no longer held, another history was chosen partition=%s-%d log_end=%d log_epoch=%d"
                    " parted_at=%d leader=%d leader_epoch=%d",
                    *place, end_offset, epoch, parted_at, leader, leader_epoch,
                )  # fmt: skip
                continue
            before = known.held.get(place, NOTHING_HELD)
            known.held[place] = HeldReplica(
                topic.topic_id, is_proven=True, end_offset=end_offset, end_epoch=epoch,
                high_watermark=before.high_watermark,
                parted_at=min(parted_at, before.parted_at) if before.is_ahead else parted_at,
                parted_from=before.parted_from if leader == NO_LEADER else leader,
                parted_in=min(leader_epoch, before.parted_in) if before.is_ahead else leader_epoch,
                is_nameless=before.is_nameless if before.is_ahead else bool(flags & LOG_HAS_NO_ID),
                is_conflict=before.is_conflict,
                log_epoch=latest_epoch,
            )  # fmt: skip
            _log.error(
                "replica held, its log is ahead of its partition's state: ZooKeeper has an old state partition=%s-%d"
                " log_end=%d log_epoch=%d state_leader=%d state_leader_epoch=%d parted_at=%d; it is compared with the other"
                " replicas, see headrace cluster describe --held",
                *place, end_offset, epoch, leader, leader_epoch, parted_at,
            )  # fmt: skip
            known.note_held(*place)
            names.add(topic.name)
        return names

    def note_unassigned(self, place: Place) -> None:
        """No assignment has the replica any more: its log stays held, and its files here, until an operator has decided.

        A reassignment has taken it off this node. Or its topic has no such partition: ZooKeeper was put back to before it was added.
        """
        if place in self._unassigned:
            return
        self._unassigned.add(place)
        held, topic = self._known.held[place], self._known.topics.get(place[0])
        is_there = topic is not None and place[1] < len(topic.states)
        _log.error(
            "replica still held, %s: its log may contain acknowledged records and is kept partition=%s-%d"
            " log_end=%d parted_at=%d; to use it, %s; to discard it: headrace cluster accept-loss %s:%d",
            "its partition was reassigned to other brokers" if is_there else "its topic no longer has this partition",
            *place, held.end_offset, held.parted_at,
            "reassign the partition to this broker again" if is_there else "add the partition again, with a replica on this broker",
            *place,
        )  # fmt: skip

    def let_go(self, place: Place) -> None:
        """An operator has accepted the loss of a log that no assignment names: the controller may have it deleted."""
        self._unassigned.discard(place)
        held = self._known.held[place]
        _log.error(
            "acknowledged records may be lost partition=%s-%d first_offset=%d reason=an operator accepted the loss"
            " of this log, whose broker is not in the assignment; its files are kept until the controller deletes them",
            *place, held.parted_at,
        )  # fmt: skip

    async def settle(
        self,
        place: Place,
        topic: Topic,
        state: PartitionState,
        compared: HeldReplica,
        others: Others,
        accepted: int | None,
        facts: Facts,
    ) -> bool:
        """Whether ZooKeeper names the leader to be; False: it is still held, and says what it waits for. raises ZkError

        compared   our hold; one whose log can't be opened as missing
        accepted   None: no operator accepts the loss; else the broker whose log is to lead, NO_LEADER: that was not said
        """
        known = self._known
        held = known.held[place]
        verdict = decide_old(
            known.node_id, compared, others, topic.replicas[place[1]], state,
            is_accepted=accepted is not None, keep=NO_LEADER if accepted is None else accepted,
            high_watermark=facts.high_watermark, is_compacted=facts.is_compacted,
        )  # fmt: skip
        if verdict.best == known.node_id and compared is not held and verdict.act is OldAct.RAISE:
            return False  # nothing else is known, and we can't serve it
        if verdict.act is OldAct.WAIT:
            changed_hold = _waiting(held, verdict)
            if changed_hold != held:
                held = known.held[place] = changed_hold
                why = "other replicas may have more records, and are unknown"
                if (
                    verdict.best != known.node_id
                    and not verdict.is_conflict
                    and others.ends.get(verdict.best) is not None
                ):
                    why = HAS_MORE
                if others.conflicts and not verdict.is_conflict:
                    why = "these brokers' logs have another history, an operator must choose one: headrace cluster accept-loss"
                elif verdict.is_conflict:
                    why = NAMELESS if held.is_nameless else CONFLICT
                    brokers = (known.node_id, *verdict.waits_for)
                    parted = dict.fromkeys(brokers, verdict.parted_at)
                    choices = choices_of(known.node_id, compared, others.ends, parted, brokers)
                    why = f"{why}: {said_choices(place, choices)}"
                _log.log(
                    logging.ERROR if verdict.is_conflict else logging.WARNING,
                    "replica held partition=%s-%d log_end=%d log_epoch=%d parted_at=%d waits_for=%s reason=%s",
                    *place, held.end_offset, held.end_epoch, held.parted_at, list(verdict.waits_for), why,
                )  # fmt: skip
            return False
        if verdict.first_offset >= 0:  # first, for a process that is killed
            why = f"broker {verdict.best} will lead, the state was old; other replicas: {ends_of(others.ends)}"
            report_loss(place, verdict.first_offset, held, why)
        epochs = [
            held.known_epoch,
            others.latest_epoch,
            *(end.epoch for end in others.ends.values() if end is not None),
        ]
        changed = raised(state, verdict.best, epochs)
        if not await write_state(self._zk, known, place, topic, state, changed):
            return False
        decided_at = [at for at in (verdict.first_offset, verdict.parted_at) if at >= 0]
        self._remember(place, held, changed, min(decided_at, default=held.end_offset))
        _log.warning(
            "old state resolved, one replica will lead in a new leader epoch partition=%s-%d leader_to_be=%d leader_epoch=%d"
            " log_end=%d log_epoch=%d state_leader=%d state_leader_epoch=%d others=%s",
            *place, verdict.best, changed.leader_epoch, held.end_offset, held.end_epoch, state.leader, state.leader_epoch,
            {broker: tuple(end) if end is not None else None for broker, end in others.ends.items()},
        )  # fmt: skip
        return True


def _waiting(held: HeldReplica, verdict: OldVerdict) -> HeldReplica:
    """The hold as it is to be remembered."""
    if held.is_nameless or not verdict.is_conflict:
        return held._replace(waits_for=verdict.waits_for)
    parted_at = held.parted_at if verdict.parted_at < 0 else min(held.parted_at, verdict.parted_at)
    if held.is_of_restore and verdict.parted_at >= 0:
        parted_at = verdict.parted_at
    return held._replace(waits_for=verdict.waits_for, is_conflict=True, parted_at=parted_at)


async def write_state(
    zk: ZkSession, known: KnownCluster, place: Place, topic: Topic, state: PartitionState, changed: PartitionState
) -> bool:
    """Write a state by the version that was read, and the note as of a leader that changed its ISR, or neither.

    False: another client wrote it, and it is read again. raises ZkError
    """
    try:
        await write_noted(zk, [StateWrite(place, znodes.encode_state(changed), state.version)])
    except ZkConflict:
        return False
    topic.revision += 1
    known.set_states(topic, {place[1]: changed._replace(version=state.version + 1)})
    return True

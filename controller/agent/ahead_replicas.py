"""Replicas whose logs are ahead of their partition's state: noted as owners tell of them, and settled (decision 071).

Runs in: the controller process of the node that holds them; a part of `holds.py`, which keeps and stores them and reads states and ends.

    noted     ERROR: which state is of the past
    settled   each check: `old_state_decision.py`. RAISE writes the state by the version that was read, and a note as of a leader that
              changed its ISR: whoever is the controller reads it, and elects
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.agent.hold_reports import ends_of, report_loss
from headrace.controller.agent.old_state_decision import OldAct, decide_old, raised
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import ZkConflict
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.transaction import Transaction
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_LEADER, partition_key
from headrace.shm.messages import AHEAD_LOG, LOG_HAS_NO_ID

Place = tuple[str, int]  # topic and partition
Ends = Mapping[int, LogEnd | None]  # of other replicas' logs, None: not known

NOTHING_HELD = HeldReplica("")
CONFLICT = (
    "the partition's leader has records of another history: headrace cluster accept-loss has this replica follow it, and lose its"
    " own from parted_at on; to have this one lead, stop that broker, then accept-loss"
)

NAMELESS = (
    "its directory had no topic id, it may be of an earlier topic of this name: headrace cluster accept-loss has that broker lead, and"
    " this replica lose what it has; to have this one lead, stop the brokers of the others, then accept-loss"
)

_log = logging.getLogger(__name__)


class AheadReplicas:
    """Those of one node."""

    def __init__(self, known: KnownCluster, zk: ZkSession) -> None:
        self._known = known
        self._zk = zk

    def take(self, body: bytes) -> set[str]:
        """Hold what owners tell of; returns the topics. raises struct.error"""
        known = self._known
        names = set()
        for slot, key, end_offset, parted_at, epoch, leader, leader_epoch, flags in AHEAD_LOG.iter_unpack(body):
            place = known.slots.holder(slot)
            topic = known.topics.get(place[0]) if place is not None else None
            if place is None or topic is None or key != partition_key(*place, topic.topic_id):
                continue
            before = known.held.get(place, NOTHING_HELD)
            known.held[place] = HeldReplica(
                topic.topic_id, is_proven=True, end_offset=end_offset, end_epoch=epoch,
                high_watermark=before.high_watermark,
                parted_at=min(parted_at, before.parted_at) if before.is_ahead else parted_at,
                parted_from=before.parted_from if leader == NO_LEADER else leader,
                parted_in=min(leader_epoch, before.parted_in) if before.is_ahead else leader_epoch,
                is_nameless=before.is_nameless if before.is_ahead else bool(flags & LOG_HAS_NO_ID),
            )  # fmt: skip
            _log.error(
                "replica held, its log is ahead of its partition's state: ZooKeeper has a state of the past partition=%s-%d"
                " log_end=%d log_epoch=%d state_leader=%d state_leader_epoch=%d parted_at=%d; it is compared with the other"
                " replicas, see headrace cluster describe --held",
                *place, end_offset, epoch, leader, leader_epoch, parted_at,
            )  # fmt: skip
            known.note_held(*place)
            names.add(topic.name)
        return names

    async def settle(
        self, place: Place, topic: Topic, state: PartitionState, others: Ends, *, is_accepted: bool
    ) -> bool:
        """Whether ZooKeeper says who is to lead; False: it is held on, and says for whom. raises ZkError"""
        known = self._known
        held = known.held[place]
        verdict = decide_old(known.node_id, held, others, topic.replicas[place[1]], state, is_accepted=is_accepted)
        if verdict.act is OldAct.WAIT:
            if held.waits_for != verdict.waits_for:
                known.held[place] = held._replace(waits_for=verdict.waits_for)
                why = "other replicas may have more, and are not known"
                if verdict.is_conflict:
                    why = NAMELESS if held.is_nameless else CONFLICT
                _log.log(
                    logging.ERROR if verdict.is_conflict else logging.WARNING,
                    "replica held partition=%s-%d log_end=%d log_epoch=%d parted_at=%d waits_for=%s reason=%s",
                    *place, held.end_offset, held.end_epoch, held.parted_at, list(verdict.waits_for), why,
                )  # fmt: skip
            return False
        if verdict.first_offset >= 0:  # first, for a process that is killed
            why = f"broker {verdict.best} is to lead, the state was of the past, of other replicas: {ends_of(others)}"
            report_loss(place, verdict.first_offset, held, why)
        epochs = [held.end_epoch, *(end.epoch for end in others.values() if end is not None)]
        changed = raised(state, verdict.best, epochs)
        if not await write_state(self._zk, known, place, topic, state, changed):
            return False
        _log.warning(
            "state of the past is over, one replica is to lead in an epoch above all partition=%s-%d leader_to_be=%d leader_epoch=%d"
            " log_end=%d log_epoch=%d state_leader=%d state_leader_epoch=%d others=%s",
            *place, verdict.best, changed.leader_epoch, held.end_offset, held.end_epoch, state.leader, state.leader_epoch,
            {broker: tuple(end) if end is not None else None for broker, end in others.items()},
        )  # fmt: skip
        return True


async def write_state(
    zk: ZkSession, known: KnownCluster, place: Place, topic: Topic, state: PartitionState, changed: PartitionState
) -> bool:
    """Write a state by the version that was read, and the note as of a leader that changed its ISR, or neither.

    False: somebody else wrote it, and it is read again. raises ZkError
    """
    transaction = Transaction()
    transaction.set(znodes.state_path(*place), znodes.encode_state(changed), state.version)
    transaction.create(znodes.ISR_CHANGE_PREFIX, znodes.encode_isr_change([place]), is_sequential=True)
    try:
        await zk.commit(transaction)
    except ZkConflict:
        return False
    topic.revision += 1
    known.set_states(topic, {place[1]: changed._replace(version=state.version + 1)})
    return True

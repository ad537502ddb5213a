"""Leader epochs that brokers have in their logs, and states don't know of: ZooKeeper was put back to the past (decision 015).

Runs in: the controller process of the active node, one object a term. What a broker of ours finds so it holds, and says so in its
nodes (`zookeeper/held_znodes.py`) before it answers a LeaderAndIsr. They are read before any election, and any step of a reassignment:

    a live broker has a log ahead of the state     no leader is elected, who leads goes on: it compares all logs, and raises the leader
                                                   epoch itself, by now or once an operator has said which history counts
    any election                                   its leader epoch is above all that was heard of for this partition
    a live broker holds its replica, in sync       the replica is offline, as if it had answered so: all that are held at once,
                                                   else the last of an ISR that answers is left alone in it. So is a conflict, which
                                                   disputes nothing: a new term knows no earlier answers, and would elect it
    a broker registered since they were read       it is not elected, nor left alone in an ISR, by what is planned now
"""

from __future__ import annotations

import logging

from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_reader import read_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.ids import NO_EPOCH, NO_LEADER

Place = tuple[str, int]  # topic and partition
UNREAD = HeldReplica("")  # of a znode that can't be read: it can't serve where it is in sync, and disputes nothing

_log = logging.getLogger(__name__)


class HeardEpochs:
    """Those of one term."""

    def __init__(self, zk: ZkSession, known: KnownCluster) -> None:
        self._zk = zk
        self._known = known
        self.held: dict[int, list[Place]] = {}  # by live broker: what is in sync, and can't serve
        self._ahead: dict[Place, list[HeldReplica]] = {}  # of live brokers
        self._latest: dict[Place, int] = {}
        self._found: dict[int, dict[Place, HeldReplica]] = {}  # by broker, as they were read last
        self._begun = self._kept = 0  # number of the reading that began last, and of the one that counts
        self._heard: dict[int, int] = {}  # broker epochs of those that were registered when the holds were read last

    def is_heard(self, broker: int) -> bool:
        """Whether what a broker holds was read under its present registration: it stores that before it registers.

        One that came since is as one that did not come yet. What follows of its coming hears it.
        """
        registration = self._known.brokers.get(broker)
        return registration is not None and self._heard.get(broker) == registration.epoch

    async def refresh(self) -> None:
        """Read what brokers hold; one call, where none holds anything. raises ZkError

        Several may read at once. Of two the one that began later counts, whichever ends first.
        """
        self._begun += 1
        number = self._begun
        ahead: dict[Place, list[HeldReplica]] = {}
        waiting: dict[int, list[Place]] = {}
        heard = {broker: registration.epoch for broker, registration in self._known.brokers.items()}
        for name in await self._zk.children(held_znodes.HELD):
            if not name.isdecimal() or int(name) not in self._known.brokers:
                continue
            for place, held in (await self._read(int(name))).items():
                if held.is_ahead:
                    ahead.setdefault(place, []).append(held)
                    self.note(place, held.known_epoch)
                if not held.is_sole and self._counts(int(name), place, held):
                    waiting.setdefault(int(name), []).append(place)
        if number > self._kept:
            self._kept = number
            self._ahead, self.held, self._heard = ahead, waiting, heard

    async def _read(self, broker: int) -> dict[Place, HeldReplica]:
        """What a broker holds; of a node that can't be read what it said before. raises ZkError"""
        found, failures = await read_znodes(self._zk, broker)
        for name, failure in failures.items():
            if failure is None:
                continue
            _log.error("held replicas not read, in-sync replicas of the topic count as held reason=%s", failure)
            topic = held_znodes.topic_of_held(name)
            before = self._found.get(broker, {}).items()
            found.update((place, held) for place, held in before if place[0] == topic and place not in found)
            known = self._known.topics.get(topic)
            for index in range(len(known.states) if known is not None else 0):
                found.setdefault((topic, index), UNREAD)
        self._found[broker] = found
        return found

    def _counts(self, broker: int, place: Place, held: HeldReplica) -> bool:
        """Whether a hold is of the topic that is known, and of a replica in its ISR; else it is over, and its broker reads so soon."""
        topic = self._known.topics.get(place[0])
        state = topic.states[place[1]] if topic is not None and place[1] < len(topic.states) else None
        return (
            topic is not None
            and state is not None
            and broker in state.isr
            and not is_another(held.topic_id, topic.topic_id)
            and not (held.is_ahead and held.is_over(state.leader_epoch))
        )

    def note(self, place: Place, leader_epoch: int) -> None:
        """A replica has this leader epoch."""
        if leader_epoch > self._latest.get(place, NO_EPOCH):
            self._latest[place] = leader_epoch

    def is_disputed(self, place: Place, state: PartitionState) -> bool:
        """Whether a live broker's log is ahead of what this state came from: it decides who leads."""
        return any(disputes(held, state) for held in self._ahead.get(place, ()))

    def above(self, place: Place, state: PartitionState) -> PartitionState:
        """The same state, as one of the latest leader epoch that was heard of."""
        latest = self._latest.get(place, NO_EPOCH)
        return state if state.leader_epoch >= latest else state._replace(leader_epoch=latest)


def disputes(held: HeldReplica, state: PartitionState) -> bool:
    """Whether this log is ahead of what a state came from.

    One that parted from a leader in one epoch is not: that one's followers may lead.
    """
    is_later = held.parted_in < held.known_epoch or held.parted_from == NO_LEADER
    return held.is_ahead and is_later and not held.is_over(state.leader_epoch)

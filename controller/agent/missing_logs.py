"""Replicas that count as in sync and have no log here: which of them never had one, and which are held.

Runs in: the controller process of every node (`holds.py`). Owners report them before they make a log.

    the partition's state was made after this life of the node registered    NEW: it never had a log
    other replicas                                                           HELD: the log is a proof of loss until the others are known
    no other replica, and a log directory is new                             HELD: its disk may not be mounted
    no other replica, and all directories are those of before                LOST: nothing can bring it back by itself
    the same, and its place had another topic's log                          REPLACED: the same, which its owner has reported

What is LOST or REPLACED stays reported until its leader epoch is raised (`take`), and no owner is answered before that: else an
error of ZooKeeper in between would create an empty log unnoticed.

Absence is not emptiness (decision 014).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from headrace.controller.cluster.known_cluster import KnownCluster
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.session import ZkSession
from headrace.ids import NO_EPOCH

Place = tuple[str, int]  # topic and partition


class Absence(Enum):
    """What is made of a log that is not found."""

    NEW = "new"
    HELD = "held"
    LOST = "lost"
    REPLACED = "replaced"


class MissingLogs:
    """Those of one node that were reported, and not judged yet.

    has_new_directory   whether a log directory is new, or not mounted
    """

    def __init__(self, known: KnownCluster, zk: ZkSession, has_new_directory: bool) -> None:
        self._known = known
        self._zk = zk
        self._has_new_directory = has_new_directory
        self._reported: dict[Place, str] = {}  # and their topics' ids
        self._replaced: set[Place] = set()
        self._lost: dict[Place, str] = {}  # judged so, and not taken; their topics' ids
        self._life_epoch = (
            NO_EPOCH  # the first broker epoch that was seen: what was made after it was made in this life
        )

    def __bool__(self) -> bool:
        return bool(self._reported)

    def report(self, place: Place, topic_id: str, was_another: bool) -> None:
        self._reported[place] = topic_id
        if was_another:
            self._replaced.add(place)

    @property
    def topics(self) -> set[str]:
        """Names of those whose logs are not settled yet."""
        return {name for name, _index in self._reported}

    async def judge(self) -> dict[Place, Absence]:
        """All that were reported, but for those whose topic has gone since.

        Those that are LOST or REPLACED stay reported until they are taken. raises ZkError: they are judged later
        """
        known = self._known
        self._life_epoch = self._life_epoch if self._life_epoch > NO_EPOCH else known.broker_epoch
        reported = dict(self._reported)
        nodes = await self._zk.get_many([znodes.state_path(*place) for place in reported])
        found = {}
        for (place, topic_id), node in zip(reported.items(), nodes, strict=True):
            if self._reported.get(place) != topic_id:
                continue  # another topic's since, judged next
            topic = known.topics.get(place[0])
            made = node.created_zxid if node is not None else NO_EPOCH  # unknown is not new
            if topic is None or topic.topic_id != topic_id or place[1] >= len(topic.states):
                self._forget(place)
            elif NO_EPOCH < self._life_epoch < made:
                found[place] = Absence.NEW
                self._forget(place)
            elif len(topic.replicas[place[1]]) > 1 or self._has_new_directory:
                found[place] = Absence.HELD
                self._forget(place)
            else:
                found[place] = Absence.REPLACED if place in self._replaced else Absence.LOST
                self._lost[place] = topic_id
        return found

    def take(self, places: Iterable[Place]) -> list[Place]:
        """Have those be settled that were judged LOST or REPLACED; returns them, but for those whose topic has gone since."""
        there = []
        for place in places:
            topic, topic_id = self._known.topics.get(place[0]), self._lost.pop(place, None)
            if self._reported.get(place) == topic_id:
                self._forget(place)
                if topic is not None and topic.topic_id == topic_id and place[1] < len(topic.states):
                    there.append(place)
        return there

    def _forget(self, place: Place) -> None:
        self._reported.pop(place, None)
        self._replaced.discard(place)

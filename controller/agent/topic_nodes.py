"""The nodes of topics in ZooKeeper, followed: assignments and states that changed, and topics that are not watched yet.

Runs in: the controller process of every node, as the task of an area (`area.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.controller.agent.cluster_reader import ClusterReader
from headrace.controller.agent.departures import Departures
from headrace.controller.agent.election import Election
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import KnownCluster, Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.session import ZkSession
from headrace.limits import READS_IN_FLIGHT_MAX


class TopicNodes:
    """Those of all topics that this node knows.

    tell   takes what the active controller has to know
    note   says that these nodes are to be read again
    """

    def __init__(
        self,
        zk: ZkSession,
        known: KnownCluster,
        reader: ClusterReader,
        election: Election,
        departures: Departures,
        tell: Callable[[events.ToActive], None],
        note: Callable[[list[str]], None],
    ) -> None:
        self._zk = zk
        self._known = known
        self._reader = reader
        self._election = election
        self._departures = departures
        self._tell = tell
        self._note = note
        self._watched: set[str] = set()  # topics of which a missing state is watched

    @property
    def has_new(self) -> bool:
        """Whether nodes of topics are to be watched that are not."""
        known = self._known
        return bool(known.unwatched) or (known.is_missing_new and not self._election.is_active)

    def forget(self) -> None:
        """Everything was read: no missing state is watched."""
        self._watched.clear()

    async def follow(self, paths: list[str]) -> None:
        """Read topics again whose nodes changed, and watch those that we made ourselves."""
        names = dict.fromkeys(path.removeprefix(f"{znodes.TOPICS}/").partition("/")[0] for path in paths)
        self._watched -= names.keys()
        self._known.is_missing_new = self._known.is_missing_new or bool(names.keys() & self._known.missing.keys())
        own = [name for name in self._known.unwatched if name not in names][:READS_IN_FLIGHT_MAX]
        changed = await self._read_assignments([*names, *own])
        topics = [
            self._known.topics[name]
            for name in (*names, *changed)
            if name in self._known.topics and name not in self._known.reserved
        ]
        topics += [topic for topic in await self._watch_missing() if topic not in topics]
        if topics:
            await self._reader.load_states(list(dict.fromkeys(topics)))
            self._tell(events.TopicsRead(tuple(topic.name for topic in topics)))

    async def _read_assignments(self, names: list[str]) -> list[str]:
        """Read topics' nodes, and watch them: partitions may have been added. Returns those that say something else."""
        known = self._known
        asked = [(topic, topic.revision) for name in names if (topic := known.topics.get(name)) is not None]
        nodes = await self._zk.get_many([znodes.topic_path(topic.name) for topic, _revision in asked], watch=True)
        changed, others = [], []
        for (topic, revision), node in zip(asked, nodes, strict=True):
            if not known.is_current(topic):
                continue
            topic.is_watched = node is not None
            known.unwatched.pop(topic.name, None)
            if node is None or topic.name in self._known.reserved:
                continue  # whoever reads the names follows that, or NameReleased comes
            if topic.revision != revision:
                self._note([znodes.topic_path(topic.name)])
            elif node.data != znodes.encode_topic(topic.assignment):
                if self._reader.take_assignment(topic, node):
                    changed.append(topic.name)
                else:
                    others.append(topic.name)
        if others:
            as_of = known.additions
            found = await self._reader.read_topics(others)
            if not known.adopt(known.topics.keys(), found, frozenset(), self._departures.marked, as_of):
                self._note([znodes.TOPICS])
            changed += others
        return changed

    async def _watch_missing(self) -> list[Topic]:
        """A follower hears of a new topic before the active controller has written its states. Returns those that are there."""
        come: list[Topic] = []
        if self._election.is_active:
            return come
        self._known.is_missing_new = False
        for name in [name for name in self._known.missing if name not in self._watched]:
            topic = self._known.topics.get(name)
            index = topic.missing[-1] if topic is not None and topic.missing else None
            if topic is None or index is None:
                continue
            self._watched.add(name)
            if await self._zk.get(znodes.state_path(name, index), watch=True) is not None:
                come.append(topic)
        return [topic for topic in dict.fromkeys(come) if self._known.is_current(topic)]

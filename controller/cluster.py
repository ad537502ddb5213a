"""The cluster as this controller process knows it: what ZooKeeper has, and the view made of it.

Runs in: the controller process. `load_*` read (pipelined); changes update this state and are published as a
new ClusterView. The view is the only way in which other processes learn of the cluster.

What is absent in ZooKeeper is unknown, not deleted. A topic of the last view leaves it

    with a mark in /admin/delete_topics     doomed: its files are renamed, its committed offsets forgotten
    without one                             released: its logs are closed, its files and offsets stay
    another one has taken its name          released, its offsets forgotten; a replica of the new one puts the files aside

A topic is not in the view while `deleted` names one of its name: everybody here has to act on that first.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from headrace.controller import znodes
from headrace.controller.slots import NO_SLOT, Slots
from headrace.controller.zk import ZkSession
from headrace.controller.znodes import BadZnode, PartitionState, Registration, TopicAssignment
from headrace.errors import ConfigError
from headrace.ids import INTERNAL_TOPICS, NO_KEY, NO_LEADER, partition_key
from headrace.limits import ASSIGNMENT_TOLD_MAX, CONFIG_VALUE_LENGTH_MAX, RELEASED_TOPICS_MAX, RELEASES_TOLD_MAX
from headrace.settings import DYNAMIC_KEYS, TOPIC_SETTINGS, check_dynamic_value, check_topic_value
from headrace.shm.cluster_table import ROW_IDS_MAX
from headrace.shm.cluster_view import (
    BrokerView,
    ClusterView,
    DeletedTopic,
    DoomedReplica,
    PartitionView,
    ReleasedTopic,
    TopicView,
)
from headrace.shm.view_writer import DELETED_REPLICA_BYTES, ClusterViewWriter

VIEW_MARGIN_BYTES = 512 * 1024  # for what grows by itself: epochs, lists of offline brokers
JSON_BYTES_PER_CHARACTER_MAX = 6
ID_BYTES_MAX = 5  # of a broker or a row in the view
PARTITION_BYTES_MAX = DELETED_REPLICA_BYTES + 2 * ID_BYTES_MAX
NO_STATE = PartitionState(NO_LEADER, 0, (), 0)

# Changed settings grow by themselves as well: those of all brokers and of this one, each as long as it may be
assert 2 * len(DYNAMIC_KEYS) * JSON_BYTES_PER_CHARACTER_MAX * (CONFIG_VALUE_LENGTH_MAX + 100) < VIEW_MARGIN_BYTES

_log = logging.getLogger(__name__)


class Topic:
    """One topic: assignment, overrides, partition states (None: not there); whether its node is watched.

    past   states that were there once: what is written in their place goes on from them
    """

    __slots__ = ("configs", "is_watched", "name", "past", "replicas", "states", "topic_id")

    def __init__(
        self,
        name: str,
        topic_id: str,
        replicas: tuple[tuple[int, ...], ...],
        configs: dict[str, str],
        states: list[PartitionState | None],
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.replicas = replicas
        self.configs = configs
        self.states = states
        self.past: dict[int, PartitionState] = {}
        self.is_watched = False

    @property
    def missing(self) -> list[int]:
        """Partitions without a state."""
        return [index for index, state in enumerate(self.states) if state is None]


class Cluster:
    """Brokers, topics, controller; and this node's slots. A restarted process begins with its predecessor's view.

    deleted    topics that everybody here has to forget -> the version of the view that says so first, 0: none does yet
    released   topics of earlier views that ZooKeeper does not have and nobody deleted
    releases   how many there have been
    """

    def __init__(self, node_id: int, writer: ClusterViewWriter, partitions_max: int) -> None:
        self.node_id = node_id
        self.cluster_id = ""
        self.controller_id = -1
        self.brokers: dict[int, Registration] = {}
        self.topics: dict[str, Topic] = {}
        self.cluster_settings: dict[str, str] = {}  # of all brokers, changed while they run
        self.node_settings: dict[str, str] = {}  # of this one
        self.doomed: list[DoomedReplica] = []
        self.deleted: dict[DeletedTopic, int] = {}
        self.released: dict[str, Topic] = {}
        self.releases = 0
        self.slots = Slots(partitions_max)
        self._writer = writer
        self._published = writer.read()
        self._closing: dict[str, tuple[list[int], int]] = {}  # released topic -> partitions with a slot, version
        self._reserved_bytes = 0  # of the view, for what was written since it was published
        self._reserved_rows = 0  # the same, of the cluster table
        self._made: dict[str, tuple[Any, TopicView]] = {}  # by topic: what its last view was made of, that view
        self._unhosted = 0  # replicas without a slot in the last view
        self._restore(self._published)

    @property
    def rows(self) -> int:
        """How many partitions of all brokers the view takes."""
        return self._writer.rows

    @property
    def is_waiting(self) -> bool:
        """Whether there is something that all workers have yet to act on."""
        return bool(self.deleted or self.doomed or self._closing)

    def live(self) -> list[int]:
        """Ids of live brokers, in order."""
        return sorted(self.brokers)

    def read_brokers(self, zk: ZkSession) -> dict[int, Registration]:
        """What /brokers/ids has, and a watch on it. A broker whose node can't be read is alive: it stays as it was known."""
        ids = [int(name) for name in zk.children(znodes.BROKER_IDS, watch=True) if name.isdecimal()]
        brokers = {}
        for node_id, node in zip(ids, zk.get_many([znodes.broker_path(node_id) for node_id in ids]), strict=True):
            if node is None:
                continue
            try:
                brokers[node_id] = znodes.decode_broker(node_id, node.data)
            except BadZnode as failure:
                known = self.brokers.get(node_id)
                _log.warning("broker %s reason=%s", "ignored" if known is None else "kept as it was", failure)
                if known is not None:
                    brokers[node_id] = known
        return brokers

    def read_topics(self, zk: ZkSession, names: Iterable[str]) -> dict[str, Topic]:
        """Topics with their overrides and states; without those that are gone meanwhile.

        Of what can't be read holds what was known; a topic of which nothing is known is left out.
        """
        names = list(names)
        nodes = zk.get_many([znodes.topic_path(name) for name in names], watch=True)
        configs = zk.get_many([znodes.topic_config_path(name) for name in names])
        found = {}
        for name, node, config in zip(names, nodes, configs, strict=True):
            if node is None:
                continue
            try:
                topic = self._read_topic(name, node.data, config.data if config else None)
            except BadZnode as failure:
                _log.error("topic not served, its files stay reason=%s", failure)
                continue
            topic.is_watched = True
            self.load_states(zk, topic)
            found[name] = topic
        return found

    def watch_topics(self, zk: ZkSession) -> list[str]:
        """Watch the topics that we made ourselves; returns those whose node says something else by now."""
        topics = [topic for topic in self.topics.values() if not topic.is_watched]
        nodes = zk.get_many([znodes.topic_path(topic.name) for topic in topics], watch=True)
        changed = []
        for topic, node in zip(topics, nodes, strict=True):
            topic.is_watched = node is not None
            data = znodes.encode_topic(TopicAssignment(topic.topic_id, topic.replicas))
            if node is not None and node.data != data:
                changed.append(topic.name)
        return changed

    def _read_topic(self, name: str, data: bytes, config: bytes | None) -> Topic:
        """raises   BadZnode, where we don't know better"""
        known = self.topics.get(name) or self.released.get(name)
        try:
            topic_id, replicas = znodes.decode_topic(name, data)
        except BadZnode as failure:
            if known is None:
                raise
            _log.error("topic kept as it was reason=%s", failure)
            topic_id, replicas = known.topic_id, known.replicas
        if known is not None and _is_another(known.topic_id, topic_id):
            known = None
        path = znodes.topic_config_path(name)
        overrides = _overrides(name, path, config, known.configs if known is not None else None)
        states = list(known.states[: len(replicas)]) if known is not None else []
        return Topic(name, topic_id, replicas, overrides, states + [None] * (len(replicas) - len(states)))

    def adopt(self, names: Iterable[str], found: dict[str, Topic], marked: Set[str], marked_before: Set[str]) -> None:
        """Make `found` our topics: the only place where topics leave.

        names           of all topics in ZooKeeper; of those, what is not in `found` stays as it was
        marked          names in /admin/delete_topics, read before `names`
        marked_before   the same at an earlier look
        """
        names = set(names)
        vanished = []
        for name, known in list(self.topics.items()):
            topic = found.get(name)
            if name not in names and name not in found:
                if name in marked or name in marked_before:
                    self.doom(name)
                else:
                    vanished.append(self.topics.pop(name))
            elif topic is not None and _is_another(known.topic_id, topic.topic_id):
                if name in marked_before:
                    self.doom(name)
                else:
                    self._let_go(self.topics.pop(name), DeletedTopic(name, known.topic_id))
                    _log.error(
                        "another topic has taken a name, the old one's files are kept as *-stray topic=%s topic_id=%s"
                        " now=%s",
                        name, known.topic_id, topic.topic_id,
                    )  # fmt: skip
        self._release(vanished)
        for topic in found.values():
            self.add(topic)

    def add(self, topic: Topic) -> None:
        """A topic that is new to us, or one that comes back."""
        known = self.released.pop(topic.name, None)
        if known is not None:
            if _is_another(known.topic_id, topic.topic_id):
                self.deleted.setdefault(DeletedTopic(topic.name, known.topic_id), 0)
            else:
                _log.warning("released topic is back topic=%s topic_id=%s", topic.name, topic.topic_id)
                self._closing.pop(topic.name, None)
        self.topics[topic.name] = topic

    def load_assignment(self, zk: ZkSession, name: str, marked_before: Set[str]) -> bool:
        """Read a topic's assignment again and watch it: partitions may have been added. Their states come with `load_states`.

        returns   False, where the topic has gone: whoever looks at the list of topics follows that
        """
        topic = self.topics.get(name)
        node = zk.get(znodes.topic_path(name), watch=True) if topic is not None else None
        if topic is None or node is None:
            return False
        try:
            topic_id, replicas = znodes.decode_topic(name, node.data)
        except BadZnode as failure:
            _log.warning("assignment kept as it was reason=%s", failure)
            return True
        if _is_another(topic.topic_id, topic_id):  # deleted and made again between two looks
            self.adopt(self.topics.keys(), self.read_topics(zk, [name]), frozenset(), marked_before)
        elif topic_id == topic.topic_id and len(replicas) >= len(topic.replicas):
            topic.states.extend([None] * (len(replicas) - len(topic.replicas)))
            topic.replicas = replicas
        return True

    def load_states(self, zk: ZkSession, topic: Topic) -> None:
        """Read all partition states of a topic again."""
        paths = [znodes.state_path(topic.name, index) for index in range(len(topic.replicas))]
        for index, node in enumerate(zk.get_many(paths)):
            known = topic.states[index]
            if node is None and known is not None:
                topic.past[index] = known
            try:
                state = znodes.decode_state(paths[index], node.data, node.version) if node else None
            except BadZnode as failure:
                assert node is not None
                state = (known or NO_STATE)._replace(version=node.version)
                _log.error("partition state kept as it was leader=%d reason=%s", state.leader, failure)
            topic.states[index] = state

    def load_configs(self, zk: ZkSession) -> None:
        """Read the overrides of all topics again."""
        names = list(self.topics)
        paths = [znodes.topic_config_path(name) for name in names]
        for name, path, node in zip(names, paths, zk.get_many(paths), strict=True):
            topic = self.topics[name]
            topic.configs = _overrides(name, path, node.data if node else None, topic.configs)

    def load_settings(self, zk: ZkSession) -> None:
        """Read the settings that were changed while brokers run; of these, the ones that this node can change."""
        paths = [znodes.broker_config_path(broker) for broker in (znodes.ALL_BROKERS, str(self.node_id))]
        cluster, node = zk.get_many(paths)
        try:
            self.cluster_settings = usable_settings(znodes.decode_config(paths[0], cluster.data) if cluster else {})
            self.node_settings = usable_settings(znodes.decode_config(paths[1], node.data) if node else {})
        except BadZnode as failure:
            _log.warning("changed settings kept as they were reason=%s", failure)

    def has(self, name: str) -> bool:
        """Whether we know a topic of this name, served or released."""
        return name in self.topics or name in self.released

    def doom(self, name: str) -> None:
        """Take a topic out of the view that is deleted: its replicas on this node are to go, and its committed offsets."""
        topic = self.topics.pop(name, None) or self.released.pop(name)
        self._closing.pop(name, None)
        doomed = []
        for index, replicas in enumerate(topic.replicas):
            slot = self.slots.take(name, index) if self.node_id in replicas else NO_SLOT
            if slot != NO_SLOT:
                doomed.append(DoomedReplica(name, index, slot, partition_key(name, index, topic.topic_id)))
        self.doomed = list(dict.fromkeys((*self.doomed, *doomed)))
        self.deleted.setdefault(DeletedTopic(name, topic.topic_id), 0)

    def forget(self, names: Iterable[str]) -> None:
        """Everybody has acted on the deletion of these topics: their slots and their names are free."""
        gone = set(names)
        for replica in self.doomed:
            if replica.topic in gone:
                self.slots.release(replica.topic, replica.partition)
        self.doomed = [replica for replica in self.doomed if replica.topic not in gone]
        self.deleted = {topic: version for topic, version in self.deleted.items() if topic.name not in gone}

    def free_released(self, followed: int, is_left: Callable[[str, int, int], bool]) -> None:
        """Slots of released replicas are free once every worker has followed the view without them: nobody writes the rows.

        is_left   whether a killed owner left the row (topic, partition, slot): no successor has opened the log since, and
                  nothing else says how far it is synced, so that the slot is kept for its return
        """
        for name, (partitions, version) in list(self._closing.items()):
            if 0 < version <= followed:
                del self._closing[name]
                for index in partitions:
                    if not is_left(name, index, self.slots.get(name, index)):
                        self.slots.release(name, index)

    def _release(self, topics: list[Topic]) -> None:
        for topic in topics[:RELEASES_TOLD_MAX]:
            path = znodes.topic_path(topic.name)
            _log.error(
                "topic released, its files and offsets stay topic=%s topic_id=%s replicas_here=%d reason=%s is gone and"
                " /admin/delete_topics has no mark for it: create it again with %s to have the topic back; DeleteTopics"
                " removes it for good",
                topic.name, topic.topic_id, sum(self.node_id in row for row in topic.replicas), path,
                znodes.encode_topic(TopicAssignment(topic.topic_id, topic.replicas))[:ASSIGNMENT_TOLD_MAX].decode(),
            )  # fmt: skip
        if len(topics) > RELEASES_TOLD_MAX:
            _log.error("topics released, their files and offsets stay more=%d", len(topics) - RELEASES_TOLD_MAX)
        for topic in topics:
            self._let_go(topic, None)
            self.released[topic.name] = topic
        while len(self.released) > RELEASED_TOPICS_MAX:
            del self.released[next(iter(self.released))]

    def _let_go(self, topic: Topic, deleted: DeletedTopic | None) -> None:
        """Host a topic no longer; its files stay."""
        held = [index for index in range(len(topic.replicas)) if self.slots.get(topic.name, index) != NO_SLOT]
        self._closing[topic.name] = (held, 0)
        self.releases += 1
        if deleted is not None:
            self.deleted.setdefault(deleted, 0)

    def reserve(self, size_bytes: int, partitions: int = 0) -> bool:
        """Room in the view for what is about to be written to ZooKeeper; False where there is none.

        A view that does not fit is not published, and a node that starts then serves nothing at all.
        """
        if self._reserved_bytes + size_bytes > self._writer.room_bytes() - VIEW_MARGIN_BYTES:
            return False
        if self._reserved_rows + partitions > self._writer.room_rows():
            return False
        self._reserved_bytes += size_bytes
        self._reserved_rows += partitions
        return True

    def publish(self) -> bool:
        """Make the view of what is known now; False where the last one says the same.

        raises   ViewError, where it does not fit (the last one stands then)
        """
        held_back = {topic.name for topic in self.deleted}
        live = frozenset(self.brokers)
        made = {
            name: self._made_of(topic, live) for name, topic in sorted(self.topics.items()) if name not in held_back
        }
        self._made = made
        view = ClusterView(
            self._published.version,
            self.cluster_id,
            self.controller_id,
            {
                node_id: BrokerView(node_id, broker.host, broker.port, broker.rack)
                for node_id, broker in sorted(self.brokers.items())
            },
            {name: topic_view for name, (_what, topic_view) in made.items()},
            tuple(self.doomed),
            self.cluster_settings,
            self.node_settings,
            tuple(self.deleted),
            tuple(self._released_view(topic) for topic in self.released.values()),
        )
        self._report_unhosted(view)
        has_changed = view != self._published
        if has_changed:
            self._published = self._writer.publish(view)
        self._reserved_bytes = self._reserved_rows = 0
        version = self._published.version
        self.deleted = {topic: since or version for topic, since in self.deleted.items()}
        self._closing = {name: (held, since or version) for name, (held, since) in self._closing.items()}
        return has_changed

    def _made_of(self, topic: Topic, live: frozenset[int]) -> tuple[Any, TopicView]:
        """(what it is made of, a topic's view): the last one, where nothing changed."""
        what = (topic.topic_id, topic.replicas, topic.configs, tuple(topic.states), live)
        known = self._made.get(topic.name)
        if known is not None and known[0] == what and self._unhosted == 0:
            return known
        kept: list[PartitionView | None] = [None] * len(topic.states)
        if known is not None and self._unhosted == 0 and (known[0][0], known[0][4]) == (topic.topic_id, live):
            _id, replicas, _configs, states, _live = known[0]
            for index, state in enumerate(states[: len(kept)]):
                if state is topic.states[index] and replicas[index] == topic.replicas[index]:
                    kept[index] = known[1].partitions[index]
        partitions = tuple(one or self._partition_view(topic, index) for index, one in enumerate(kept))
        return what, TopicView(topic.name, topic.topic_id, topic.name in INTERNAL_TOPICS, topic.configs, partitions)

    def _partition_view(self, topic: Topic, index: int) -> PartitionView:
        replicas, state = topic.replicas[index], topic.states[index]
        slot = NO_SLOT
        if self.node_id in replicas and state is not None:
            slot = self.slots.take(topic.name, index)
        leader, leader_epoch, isr, *_ = state or NO_STATE
        return PartitionView(
            index,
            leader if leader in self.brokers else NO_LEADER,
            leader_epoch,
            isr,
            replicas,
            tuple(replica for replica in replicas if replica not in self.brokers),
            slot,
            partition_key(topic.name, index, topic.topic_id) if slot != NO_SLOT else NO_KEY,
        )

    def _released_view(self, topic: Topic) -> ReleasedTopic:
        slots = tuple(self.slots.get(topic.name, index) for index in range(len(topic.replicas)))
        return ReleasedTopic(topic.name, topic.topic_id, topic.replicas, slots)

    def _report_unhosted(self, view: ClusterView) -> None:
        """Another controller may give us more replicas than we have rows for."""
        if self.slots.has_room(1):
            unhosted = 0
        else:
            unhosted = sum(
                partition.slot == NO_SLOT and self.node_id in partition.replicas
                for topic in view.topics.values()
                for partition in topic.partitions
            )
        if unhosted != self._unhosted:
            _log.error("replicas not hosted count=%d headrace.partitions.max=%d", unhosted, self.slots.count)
        self._unhosted = unhosted

    def _restore(self, view: ClusterView) -> None:
        """A predecessor's knowledge and slots stand in its last view."""
        self.cluster_id, self.controller_id = view.cluster_id, view.controller_id
        self.brokers = {node_id: Registration(*broker) for node_id, broker in view.brokers.items()}
        self.topics = {name: _topic_of(topic) for name, topic in view.topics.items()}
        taken = {
            (topic.name, partition.index): partition.slot
            for topic in view.topics.values()
            for partition in topic.partitions
            if partition.slot != NO_SLOT
        }
        taken.update({(replica.topic, replica.partition): replica.slot for replica in view.doomed})
        for name, _topic_id, _replicas, slots in view.released:
            held = [index for index, slot in enumerate(slots) if slot != NO_SLOT]
            taken.update({(name, index): slots[index] for index in held})
            if held:
                self._closing[name] = (held, view.version)
        self.slots.restore(taken)
        self.doomed = list(view.doomed)
        self.cluster_settings, self.node_settings = view.cluster_settings, view.node_settings
        self.deleted = dict.fromkeys(view.deleted, view.version)
        for name, topic_id, replicas, _slots in view.released:
            self.released[name] = Topic(name, topic_id, replicas, {}, [None] * len(replicas))


def view_bytes_of(name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str]) -> int:
    """What a topic, or new partitions of it, will take in the view; rather more than less."""
    if not replicas:
        return 0
    factor = len(replicas[0])
    ids = (
        ID_BYTES_MAX * factor * (1 if 2 * factor <= ROW_IDS_MAX else 3)
    )  # those that a row can't hold stand there again
    of_configs = len(json.dumps(dict(configs)))
    return 80 + len(name) + of_configs + len(replicas) * (PARTITION_BYTES_MAX + ids)


def usable_settings(changed: dict[str, str]) -> dict[str, str]:
    """What this node takes of the settings in ZooKeeper; Kafka's brokers keep others there."""
    kept = {}
    for key in sorted(DYNAMIC_KEYS & changed.keys()):
        try:
            check_dynamic_value(key, changed[key])
            kept[key] = changed[key]
        except ConfigError as failure:
            _log.warning("changed setting ignored reason=%s", failure)
    return kept


def _is_another(known_id: str, topic_id: str) -> bool:
    """Whether two topics of one name are two; one from before ids may have been given one."""
    return bool(known_id and topic_id) and known_id != topic_id


def _topic_of(view: TopicView) -> Topic:
    """A topic as the view has it, but for the versions of its nodes."""
    states: list[PartitionState | None] = [
        PartitionState(partition.leader, partition.leader_epoch, partition.isr, 0) if partition.isr else None
        for partition in view.partitions
    ]
    replicas = tuple(partition.replicas for partition in view.partitions)
    return Topic(view.name, view.topic_id, replicas, dict(view.configs), states)


def _overrides(name: str, path: str, data: bytes | None, known: dict[str, str] | None) -> dict[str, str]:
    """A topic's overrides; of a node that is gone or can't be read, those that were known.

    raises   BadZnode, where nothing is known: served by the defaults, the topic might lose records that its overrides keep
    """
    if data is None:
        if known:  # the node goes with its topic; without overrides it stays
            _log.error("overrides kept as they were reason=%s is gone", path)
        return known or {}
    try:
        return _usable(name, znodes.decode_config(path, data), known or {})
    except BadZnode as failure:
        if known is None:
            raise
        _log.error("overrides kept as they were reason=%s", failure)
        return known


def _usable(name: str, overrides: dict[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Overrides; what this node can't read of them is as it was known, or left out: somebody with a shell may have written it."""
    kept = {}
    for key, text in overrides.items():
        try:
            if key in TOPIC_SETTINGS:
                check_topic_value(key, text)
            kept[key] = text
        except ConfigError as failure:
            _log.warning("override %s topic=%s reason=%s", "kept" if key in known else "ignored", name, failure)
            if key in known:
                kept[key] = known[key]
    return kept

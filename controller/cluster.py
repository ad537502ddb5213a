"""The cluster as this controller process knows it: what ZooKeeper has, and the view made of it.

Runs in: the controller process. `load_*` read (pipelined); changes update this state and are published as a
new ClusterView. The view is the only way in which other processes learn of the cluster.

A replica that is doomed is not hosted, not even for a new topic of the same name: its files have to be out of
the way first.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.controller import znodes
from headrace.controller.slots import NO_SLOT, Slots
from headrace.controller.zk import ZkSession
from headrace.controller.znodes import BadZnode, PartitionState, Registration
from headrace.errors import ConfigError
from headrace.ids import INTERNAL_TOPICS, partition_key
from headrace.limits import CONFIG_VALUE_LENGTH_MAX
from headrace.settings import DYNAMIC_KEYS, TOPIC_SETTINGS, check_dynamic_value, check_topic_value
from headrace.shm.cluster_view import (
    BrokerView,
    ClusterView,
    ClusterViewWriter,
    DoomedReplica,
    PartitionView,
    TopicView,
)

NO_LEADER = -1
VIEW_MARGIN_BYTES = 512 * 1024  # for what grows by itself: epochs, lists of offline brokers
JSON_BYTES_PER_CHARACTER_MAX = 6
NO_STATE = PartitionState(NO_LEADER, 0, (), 0)

# Changed settings grow by themselves as well: those of all brokers and of this one, each as long as it may be
assert 2 * len(DYNAMIC_KEYS) * JSON_BYTES_PER_CHARACTER_MAX * (CONFIG_VALUE_LENGTH_MAX + 100) < VIEW_MARGIN_BYTES

_log = logging.getLogger(__name__)


class Topic:
    """One topic: assignment, overrides, partition states (None: not written yet)."""

    __slots__ = ("configs", "name", "replicas", "states", "topic_id")

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

    @property
    def missing(self) -> list[int]:
        """Partitions without a state."""
        return [index for index, state in enumerate(self.states) if state is None]


class Cluster:
    """Brokers, topics, controller; and this node's slots."""

    def __init__(self, node_id: int, writer: ClusterViewWriter, partitions_max: int) -> None:
        self.node_id = node_id
        self.cluster_id = ""
        self.controller_id = -1
        self.brokers: dict[int, Registration] = {}
        self.topics: dict[str, Topic] = {}
        self.cluster_settings: dict[str, str] = {}  # of all brokers, changed while they run
        self.node_settings: dict[str, str] = {}  # of this one
        self.doomed: list[DoomedReplica] = []
        self.slots = Slots(partitions_max)
        self._writer = writer
        self._published = writer.read()
        self._reserved_bytes = 0  # of the view, for what was written since it was published
        self._made: dict[str, tuple[Any, TopicView]] = {}  # by topic: what its last view was made of, that view
        self._unhosted = 0  # replicas without a slot in the last view
        self._restore(self._published)

    def live(self) -> list[int]:
        """Ids of live brokers, in order."""
        return sorted(self.brokers)

    def load_brokers(self, zk: ZkSession) -> None:
        """Read /brokers/ids and watch it."""
        ids = [int(name) for name in zk.children(znodes.BROKER_IDS, watch=True) if name.isdecimal()]
        brokers = {}
        for node_id, node in zip(ids, zk.get_many([znodes.broker_path(node_id) for node_id in ids]), strict=True):
            if node is None:
                continue
            try:
                brokers[node_id] = znodes.decode_broker(node_id, node.data)
            except BadZnode as failure:
                _log.warning("broker ignored reason=%s", failure)
        self.brokers = brokers

    def load_topics(self, zk: ZkSession, names: Iterable[str]) -> None:
        """Read topics with their overrides and states; those that are gone meanwhile or broken are left out."""
        names = list(names)
        nodes = zk.get_many([znodes.topic_path(name) for name in names], watch=True)
        configs = zk.get_many([znodes.topic_config_path(name) for name in names])
        for name, node, config in zip(names, nodes, configs, strict=True):
            if node is None:
                continue
            try:
                topic_id, replicas = znodes.decode_topic(name, node.data)
                path = znodes.topic_config_path(name)
                overrides = _usable(name, znodes.decode_config(path, config.data)) if config else {}
            except BadZnode as failure:
                _log.warning("topic ignored reason=%s", failure)
                continue
            topic = Topic(name, topic_id, replicas, overrides, [None] * len(replicas))
            self.load_states(zk, topic)
            self.topics[name] = topic

    def load_assignment(self, zk: ZkSession, name: str) -> bool:
        """Read a topic's assignment again and watch it: partitions may have been added. Their states come with `load_states`.

        returns   False, where the topic has gone: whoever looks at the list of topics dooms its replicas
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
        if topic_id == topic.topic_id and len(replicas) >= len(topic.replicas):
            topic.states.extend([None] * (len(replicas) - len(topic.replicas)))
            topic.replicas = replicas
        return True

    def load_states(self, zk: ZkSession, topic: Topic) -> None:
        """Read all partition states of a topic again."""
        paths = [znodes.state_path(topic.name, index) for index in range(len(topic.replicas))]
        for index, node in enumerate(zk.get_many(paths)):
            try:
                state = znodes.decode_state(paths[index], node.data, node.version) if node else None
            except BadZnode as failure:
                _log.warning("partition has no leader reason=%s", failure)
                state = NO_STATE
            topic.states[index] = state

    def load_configs(self, zk: ZkSession) -> None:
        """Read the overrides of all topics again."""
        names = list(self.topics)
        paths = [znodes.topic_config_path(name) for name in names]
        for name, path, node in zip(names, paths, zk.get_many(paths), strict=True):
            try:
                self.topics[name].configs = _usable(name, znodes.decode_config(path, node.data)) if node else {}
            except BadZnode as failure:
                _log.warning("overrides kept as they were reason=%s", failure)

    def load_settings(self, zk: ZkSession) -> None:
        """Read the settings that were changed while brokers run; of these, the ones that this node can change."""
        paths = [znodes.broker_config_path(broker) for broker in (znodes.ALL_BROKERS, str(self.node_id))]
        cluster, node = zk.get_many(paths)
        try:
            self.cluster_settings = usable_settings(znodes.decode_config(paths[0], cluster.data) if cluster else {})
            self.node_settings = usable_settings(znodes.decode_config(paths[1], node.data) if node else {})
        except BadZnode as failure:
            _log.warning("changed settings kept as they were reason=%s", failure)

    def doom(self, name: str) -> list[DoomedReplica]:
        """Take a topic out of the view; its replicas on this node are to be deleted.

        returns   those replicas
        """
        topic = self.topics.pop(name)
        doomed = []
        for index, replicas in enumerate(topic.replicas):
            slot = self.slots.take(name, index) if self.node_id in replicas else NO_SLOT
            if slot != NO_SLOT:
                doomed.append(DoomedReplica(name, index, slot, partition_key(name, index, topic.topic_id)))
        self._add_doomed(doomed)
        return doomed

    def doom_vanished(self, names: Iterable[str]) -> None:
        """Replicas of the last view whose topic was deleted by another controller are to be deleted here.

        names   of all topics in ZooKeeper
        """
        names = set(names)
        for view in self._published.topics.values():
            topic = self.topics.get(view.name)
            is_same = topic is None or topic.topic_id == view.topic_id  # None: there, but it can't be read
            if view.name in names and is_same:
                continue
            if view.name not in names:
                self.topics.pop(view.name, None)
            self._add_doomed(
                DoomedReplica(view.name, partition.index, partition.slot, partition.key)
                for partition in view.partitions
                if partition.slot != NO_SLOT
            )

    def forget(self, doomed: Iterable[DoomedReplica]) -> None:
        """The files of doomed replicas are gone: their slots are free."""
        gone = set(doomed)
        for replica in gone:
            self.slots.release(replica.topic, replica.partition)
        self.doomed = [replica for replica in self.doomed if replica not in gone]

    def reserve(self, size_bytes: int) -> bool:
        """Room in the view for what is about to be written to ZooKeeper; False where there is none.

        A view that does not fit is not published, and a node that starts then serves nothing at all.
        """
        if self._reserved_bytes + size_bytes > self._writer.room_bytes() - VIEW_MARGIN_BYTES:
            return False
        self._reserved_bytes += size_bytes
        return True

    def publish(self) -> bool:
        """Make the view of what is known now; False where the last one says the same.

        raises   ViewError, where it does not fit (the last one stands then)
        """
        doomed: dict[str, set[int]] = {}
        for replica in self.doomed:
            doomed.setdefault(replica.topic, set()).add(replica.partition)
        live = frozenset(self.brokers)
        made = {
            name: self._made_of(topic, live, doomed.get(name, set())) for name, topic in sorted(self.topics.items())
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
        )
        self._report_unhosted(view)
        if view != self._published:
            self._published = self._writer.publish(view)
            self._reserved_bytes = 0
            return True
        self._reserved_bytes = 0
        return False

    def _add_doomed(self, doomed: Iterable[DoomedReplica]) -> None:
        self.doomed = list(dict.fromkeys((*self.doomed, *doomed)))

    def _made_of(self, topic: Topic, live: frozenset[int], doomed: set[int]) -> tuple[Any, TopicView]:
        """(what it is made of, a topic's view): the last one, where nothing changed."""
        what = (topic.topic_id, topic.replicas, topic.configs, tuple(topic.states), live, doomed)
        known = self._made.get(topic.name)
        if known is not None and known[0] == what and self._unhosted == 0:
            return known
        return what, self._topic_view(topic, doomed)

    def _topic_view(self, topic: Topic, doomed: set[int]) -> TopicView:
        partitions = []
        for index, (replicas, state) in enumerate(zip(topic.replicas, topic.states, strict=True)):
            slot = NO_SLOT
            if self.node_id in replicas and state is not None and index not in doomed:
                slot = self.slots.take(topic.name, index)
            leader, leader_epoch, isr, *_ = state or NO_STATE
            partitions.append(
                PartitionView(
                    index,
                    leader if leader in self.brokers else NO_LEADER,
                    leader_epoch,
                    isr,
                    replicas,
                    tuple(replica for replica in replicas if replica not in self.brokers),
                    slot,
                    partition_key(topic.name, index, topic.topic_id) if slot != NO_SLOT else 0,
                )
            )
        return TopicView(topic.name, topic.topic_id, topic.name in INTERNAL_TOPICS, topic.configs, tuple(partitions))

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
        """A predecessor's slots stand in its last view."""
        taken = {
            (topic.name, partition.index): partition.slot
            for topic in view.topics.values()
            for partition in topic.partitions
            if partition.slot != NO_SLOT
        }
        taken.update({(replica.topic, replica.partition): replica.slot for replica in view.doomed})
        self.slots.restore(taken)
        self.doomed = list(view.doomed)


def view_bytes_of(name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str]) -> int:
    """What a topic, or new partitions of it, will take in the view; rather more than less."""
    if not replicas:
        return 0
    ids = len(replicas[0]) * (1 + max(len(str(node_id)) for node_id in replicas[0]))
    of_configs = len(json.dumps(dict(configs)))
    return 80 + len(name) + of_configs + len(replicas) * (60 + 2 * ids)


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


def _usable(name: str, overrides: dict[str, str]) -> dict[str, str]:
    """Overrides without those that this node can't read: somebody with a shell may have written them."""
    kept = {}
    for key, text in overrides.items():
        try:
            if key in TOPIC_SETTINGS:
                check_topic_value(key, text)
            kept[key] = text
        except ConfigError as failure:
            _log.warning("override ignored topic=%s reason=%s", name, failure)
    return kept

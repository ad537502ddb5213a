"""What ZooKeeper has of the cluster, read for the agent.

Runs in: the controller process, in tasks: over each await the known cluster may have changed. So nothing here changes it but
what `load_states`, `load_configs` and `take_assignment` put into topics that are still the known ones. Loops that may be long pause.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from headrace.controller.agent.view_publisher import NO_STATE
from headrace.controller.cluster.known_cluster import KnownCluster, Topic, is_another
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.errors import Node
from headrace.controller.zookeeper.session import ZkSession
from headrace.controller.zookeeper.znodes import BadZnode, PartitionState, Registration
from headrace.errors import ConfigError
from headrace.limits import READS_IN_FLIGHT_MAX
from headrace.runtime.tasks import Tasks
from headrace.settings import DYNAMIC_KEYS, TOPIC_SETTINGS, check_dynamic_value, check_topic_value

# Of a topic with an override of one of these that can't be read. Its policy stays, if that can be read: one that is compacted and says
# "delete" takes records without keys, and its replicas take what the cleaner took for another history
KEEP_ALL = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "-1"}
_RETENTIONS = ("retention.bytes", "retention.ms")

_log = logging.getLogger(__name__)


class ClusterReader:
    """Reads, and decodes what others wrote."""

    def __init__(self, zk: ZkSession, tasks: Tasks, known: KnownCluster) -> None:
        self._zk = zk
        self._tasks = tasks
        self._known = known

    async def read_broker_ids(self) -> list[int]:
        """Who is alive, and a watch on that."""
        names = await self._zk.children(znodes.BROKER_IDS, watch=True)
        return [int(name) for name in names if name.isdecimal()]

    async def read_brokers(self, ids: list[int]) -> dict[int, Registration]:
        """What /brokers/ids has of them. A broker whose node can't be read is alive: it stays as it was known."""
        nodes = await self._zk.get_many([znodes.broker_path(node_id) for node_id in ids], watch=True)
        brokers = {}
        for node_id, node in zip(ids, nodes, strict=True):
            if node is None:
                continue
            try:
                brokers[node_id] = znodes.decode_broker(node_id, node.data, node.created_zxid)
            except BadZnode as failure:
                known = self._known.brokers.get(node_id)
                _log.warning("broker %s reason=%s", "ignored" if known is None else "kept as it was", failure)
                if known is not None:
                    brokers[node_id] = known
        return brokers

    async def read_topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """Topics with their overrides and states, their nodes watched; without those that are gone meanwhile.

        Of what can't be read holds what was known; a topic of which nothing is known is left out.
        """
        names = list(names)
        found: dict[str, Topic] = {}
        for first in range(0, len(names), READS_IN_FLIGHT_MAX):
            found.update(await self._read_some(names[first : first + READS_IN_FLIGHT_MAX]))
        return found

    async def present(self, names: list[str]) -> list[str]:
        """Of these topics, those that ZooKeeper may have: of many, those that it lists among all, instead of one read for each."""
        if len(names) <= READS_IN_FLIGHT_MAX:
            return names
        listed = set(await self._zk.children(znodes.TOPICS))
        return [name for name in names if name in listed]

    async def _read_some(self, names: Sequence[str]) -> dict[str, Topic]:
        nodes = await self._zk.get_many([znodes.topic_path(name) for name in names], watch=True)
        configs = await self._zk.get_many([znodes.topic_config_path(name) for name in names])
        found = {}
        for name, node, config in zip(names, nodes, configs, strict=True):
            if node is None:
                continue
            try:
                topic = self._topic_of(name, node.data, config.data if config else None)
            except BadZnode as failure:
                _log.error("topic not served, its files are kept reason=%s", failure)
                continue
            topic.is_watched = True
            found[name] = topic
        await self._read_states(list(found.values()))
        return found

    def _topic_of(self, name: str, data: bytes, config: bytes | None) -> Topic:
        """raises   BadZnode, where we don't know better"""
        known = self._known.topics.get(name) or self._known.released.get(name)
        try:
            assignment = znodes.decode_topic(name, data)
        except BadZnode as failure:
            if known is None:
                raise
            _log.error("topic left unchanged reason=%s", failure)
            assignment = known.assignment
        topic_id, replicas, adding, removing, others = assignment
        if known is not None and is_another(known.topic_id, topic_id):
            known = None
        path = znodes.topic_config_path(name)
        overrides = _overrides(name, path, config, known.configs if known is not None else None)
        states = list(known.states[: len(replicas)]) if known is not None else []
        states += [None] * (len(replicas) - len(states))
        return Topic(name, topic_id, replicas, overrides, states, adding, removing, others)

    async def _read_states(self, topics: Sequence[Topic]) -> None:
        """Of topics that no other process has yet."""
        for topic, states in (await self._states_of(topics)).items():
            for index, state in states.items():
                known = topic.states[index]
                if state is None and known is not None:
                    topic.past[index] = known
                topic.states[index] = state

    async def load_states(self, topics: Sequence[Topic]) -> None:
        """Read all partition states of known topics again. What we wrote meanwhile is newer: those are read once more."""
        left = list(topics)
        while left:
            revisions = [(topic, topic.revision) for topic in left]
            found = await self._states_of(left)
            left = []
            for topic, revision in revisions:
                if not self._known.is_current(topic):
                    continue
                if topic.revision != revision or len(found[topic]) != len(topic.states):
                    left.append(topic)
                else:
                    self._known.set_states(topic, found[topic])

    async def _states_of(self, topics: Sequence[Topic]) -> dict[Topic, dict[int, PartitionState | None]]:
        wanted = [
            (topic, index, znodes.state_path(topic.name, index))
            for topic in topics
            for index in range(len(topic.replicas))
        ]
        found: dict[Topic, dict[int, PartitionState | None]] = {topic: {} for topic in topics}
        for first in range(0, len(wanted), READS_IN_FLIGHT_MAX):
            part = wanted[first : first + READS_IN_FLIGHT_MAX]
            nodes = await self._zk.get_many([path for _topic, _index, path in part])
            for (topic, index, path), node in zip(part, nodes, strict=True):
                try:
                    state = znodes.decode_state(path, node.data, node.version) if node else None
                except BadZnode as failure:
                    assert node is not None
                    known = topic.states[index] if index < len(topic.states) else None
                    state = (known or NO_STATE)._replace(version=node.version)
                    _log.error("partition state left unchanged leader=%d reason=%s", state.leader, failure)
                found[topic][index] = state
            await self._tasks.pause()
        return found

    def take_assignment(self, topic: Topic, node: Node) -> bool:
        """What a topic's node has of its assignment, into the known topic.

        returns   False, where another topic has the name: it was deleted and made again between two reads
        """
        try:
            topic_id, replicas, adding, removing, others = znodes.decode_topic(topic.name, node.data)
        except BadZnode as failure:
            _log.warning("assignment left unchanged reason=%s", failure)
            return True
        if topic_id and topic_id != topic.topic_id:  # or it was given one
            return False
        if topic_id == topic.topic_id:
            topic.adding, topic.removing, topic.others = adding, removing, others
        is_more = topic_id == topic.topic_id and len(replicas) >= len(topic.replicas)
        if is_more and replicas != topic.replicas:
            self._known.grow(topic, replicas, {})
        return True

    async def load_configs(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Read the overrides of topics again; returns those of them that are known."""
        names = tuple(name for name in topics if name in self._known.topics)
        for first in range(0, len(names), READS_IN_FLIGHT_MAX):
            part = names[first : first + READS_IN_FLIGHT_MAX]
            paths = [znodes.topic_config_path(name) for name in part]
            for name, path, node in zip(part, paths, await self._zk.get_many(paths), strict=True):
                topic = self._known.topics.get(name)
                if topic is not None:
                    self._known.set_configs(topic, _overrides(name, path, node.data if node else None, topic.configs))
        return names

    async def load_settings(self) -> None:
        """Read the settings that were changed while brokers run; of these, the ones that this node can change."""
        known = self._known
        paths = [znodes.broker_config_path(broker) for broker in (znodes.ALL_BROKERS, str(known.node_id))]
        cluster, node = await self._zk.get_many(paths)
        try:
            known.set_settings(
                usable_settings(znodes.decode_config(paths[0], cluster.data) if cluster else {}),
                usable_settings(znodes.decode_config(paths[1], node.data) if node else {}),
            )
        except BadZnode as failure:
            _log.warning("changed settings not applied reason=%s", failure)


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


def _overrides(name: str, path: str, data: bytes | None, known: dict[str, str] | None) -> dict[str, str]:
    """A topic's overrides; of a node that is gone or can't be read, those that were known.

    raises   BadZnode, where nothing is known: served by the defaults, the topic might lose records that its overrides keep
    """
    if data is None:
        if known:  # the node goes with its topic; without overrides it stays
            _log.warning("overrides left unchanged reason=%s does not exist", path)
        return known or {}
    try:
        return _usable(name, znodes.decode_config(path, data), known or {})
    except BadZnode as failure:
        if known is None:
            raise
        _log.error("overrides left unchanged reason=%s", failure)
        return known


def _usable(name: str, overrides: dict[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Overrides; what this node can't read of them is as it was known, or left out: an operator with a shell may have written it.

    Left out, one that says what is deleted might have kept what the defaults don't: nothing is deleted then.
    """
    kept = {}
    keep_all: dict[str, str] = {}
    for key, text in overrides.items():
        try:
            if key in TOPIC_SETTINGS:
                check_topic_value(key, text)
            kept[key] = text
        except ConfigError as failure:
            _log.warning("override %s topic=%s reason=%s", "kept" if key in known else "ignored", name, failure)
            if key in known:
                kept[key] = known[key]
            elif key in KEEP_ALL:
                _log.error(
                    "retention is off for the topic, an override can't be read topic=%s key=%s",
                    name,
                    key,
                )
                keep_all |= {one: value for one, value in KEEP_ALL.items() if one in (key, *_RETENTIONS)}
    return kept | keep_all

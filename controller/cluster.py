"""The cluster as this controller process knows it: what ZooKeeper has, and the view made of it.

Runs in: the controller process. `load` reads everything (pipelined, once a session); changes update this
state and are published as a new ClusterView. The view is the only way in which other processes learn of the
cluster.
"""

from __future__ import annotations

from headrace.controller import znodes
from headrace.controller.slots import Slots
from headrace.controller.zk import ZkSession
from headrace.controller.znodes import PartitionState, Registration
from headrace.ids import partition_key
from headrace.shm.cluster_view import (
    BrokerView,
    ClusterView,
    ClusterViewWriter,
    DoomedReplica,
    PartitionView,
    TopicView,
)

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state"})


class Topic:
    """One topic: assignment, overrides, partition states."""

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


class Cluster:
    """Brokers, topics, controller; and this node's slots."""

    def __init__(self, node_id: int, writer: ClusterViewWriter, partitions_max: int) -> None:
        self.node_id = node_id
        self.cluster_id = ""
        self.controller_id = -1
        self.brokers: dict[int, Registration] = {}
        self.topics: dict[str, Topic] = {}
        self.doomed: list[DoomedReplica] = []
        self.slots = Slots(partitions_max)
        self._writer = writer
        self._restore_slots()

    def live(self) -> list[int]:
        """Ids of live brokers, in order."""
        return sorted(self.brokers)

    def load_brokers(self, zk: ZkSession) -> None:
        """Read /brokers/ids and watch it."""
        ids = [int(name) for name in zk.children(znodes.BROKER_IDS, watch=True)]
        nodes = zk.get_many([znodes.broker_path(node_id) for node_id in ids])
        self.brokers = {
            node_id: znodes.decode_broker(node_id, node.data)
            for node_id, node in zip(ids, nodes, strict=True)
            if node is not None
        }

    def load_topics(self, zk: ZkSession, names: list[str]) -> None:
        """Read topics with their overrides and partition states; those that are gone meanwhile are left out."""
        assignments = zk.get_many([znodes.topic_path(name) for name in names])
        configs = zk.get_many([znodes.topic_config_path(name) for name in names])
        for name, node, config in zip(names, assignments, configs, strict=True):
            if node is None:
                continue
            assignment = znodes.decode_topic(node.data)
            count = len(assignment.replicas)
            states = zk.get_many([znodes.state_path(name, index) for index in range(count)])
            self.topics[name] = Topic(
                name,
                assignment.topic_id,
                assignment.replicas,
                znodes.decode_config(config.data) if config is not None else {},
                [znodes.decode_state(state.data) if state is not None else None for state in states],
            )

    def doom(self, name: str) -> list[DoomedReplica]:
        """Take a topic out of the view; its replicas on this node are to be deleted.

        returns   those replicas
        """
        topic = self.topics.pop(name)
        doomed = [
            DoomedReplica(name, index, self.slots.slot_of(name, index), partition_key(name, index, topic.topic_id))
            for index, replicas in enumerate(topic.replicas)
            if self.node_id in replicas
        ]
        self.doomed.extend(doomed)
        return doomed

    def forget(self, doomed: list[DoomedReplica]) -> None:
        """The files of doomed replicas are gone: their slots are free."""
        for replica in doomed:
            self.slots.release(replica.topic, replica.partition)
        self.doomed = [replica for replica in self.doomed if replica not in doomed]

    def publish(self) -> ClusterView:
        """Make the view of what is known now."""
        brokers = {
            node_id: BrokerView(node_id, broker.host, broker.port, broker.rack)
            for node_id, broker in self.brokers.items()
        }
        topics = {name: self._topic_view(topic) for name, topic in sorted(self.topics.items())}
        return self._writer.publish(
            ClusterView(0, self.cluster_id, self.controller_id, brokers, topics, tuple(self.doomed))
        )

    def _topic_view(self, topic: Topic) -> TopicView:
        partitions = []
        for index, replicas in enumerate(topic.replicas):
            state = topic.states[index] or PartitionState(-1, 0, (), 0)
            is_here = self.node_id in replicas and topic.states[index] is not None
            slot = self.slots.slot_of(topic.name, index) if is_here else -1
            key = partition_key(topic.name, index, topic.topic_id) if is_here else 0
            offline = tuple(replica for replica in replicas if replica not in self.brokers)
            leader = state.leader if state.leader in self.brokers else -1
            partitions.append(PartitionView(index, leader, state.leader_epoch, state.isr, replicas, offline, slot, key))
        is_internal = topic.name in INTERNAL_TOPICS
        return TopicView(topic.name, topic.topic_id, is_internal, topic.configs, tuple(partitions))

    def _restore_slots(self) -> None:
        """A predecessor's slots stand in its last view."""
        view = self._writer.read()
        taken = {
            (topic.name, partition.index): partition.slot
            for topic in view.topics.values()
            for partition in topic.partitions
            if partition.slot >= 0
        }
        taken.update({(replica.topic, replica.partition): replica.slot for replica in view.doomed})
        self.slots.restore(taken)
        self.doomed = list(view.doomed)

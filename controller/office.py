"""What the controller process does with what it knows: publish, create, delete, elect, and wait for the rows.

Runs in: the controller process, one per session. Methods that write to ZooKeeper belong to the active
controller; a node whose controller process is not the active one follows by its watches, and answers
NOT_CONTROLLER.

A deletion, each step of which can be run again:

    /admin/delete_topics/T  ->  topic out of the view, replicas doomed  ->  owners rename, rows DELETED  ->
    znodes removed  ->  slots free
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from headrace.controller import znodes
from headrace.controller.assignment import elect
from headrace.controller.cluster import Cluster
from headrace.controller.election import Election
from headrace.controller.producer_ids import ProducerIds
from headrace.controller.topic_creation import write_states
from headrace.controller.waiting import Row, Waiting
from headrace.controller.zk import ZkConflict, ZkError, ZkSession
from headrace.errors import ErrorCode, KafkaError
from headrace.settings import Settings
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.partition_table import RowState
from headrace.shm.seat import Seat

_log = logging.getLogger(__name__)

_SERVING = (RowState.LEADER, RowState.FOLLOWER, RowState.OFFLINE)


class Office:
    """The state and the deeds of one controller process."""

    def __init__(self, seat: Seat, zk: ZkSession, cluster: Cluster, now_ms: Callable[[], int]) -> None:
        self.zk = zk
        self.cluster = cluster
        self.settings: Settings = seat.wiring.settings
        self.election = Election(zk, cluster.node_id)
        self.producer_ids = ProducerIds(zk, cluster.node_id)
        self.chance = random.Random()
        self.now_ms = now_ms
        self._seat = seat
        self._deleting: dict[str, list[DoomedReplica]] = {}

    def check_active(self) -> None:
        """raises   KafkaError NOT_CONTROLLER"""
        if not self.election.is_active:
            raise KafkaError(
                ErrorCode.NOT_CONTROLLER, f"the controller is node {self.cluster.controller_id}, not this one"
            )

    def load(self) -> None:
        """Read the whole cluster, run the election, put right what is ours to put right, publish."""
        cluster, zk = self.cluster, self.zk
        cluster.load_brokers(zk)
        self._elect_controller()
        zk.children(znodes.DELETE_TOPICS, watch=True)
        zk.children(znodes.CONFIG_CHANGES, watch=True)
        cluster.topics.clear()
        cluster.load_topics(zk, zk.children(znodes.TOPICS, watch=True))
        self._put_right()
        self.publish()

    def publish(self) -> None:
        """Publish the view and wake everyone."""
        view = self.cluster.publish()
        for process_id in range(self._seat.wiring.process_count):
            if process_id != self._seat.process_id:
                self._seat.ring(process_id)
        _log.debug("view published version=%d topics=%d", view.version, len(view.topics))

    def react(self, path: str) -> None:
        """A watched node changed: read it again, watch it again."""
        cluster, zk = self.cluster, self.zk
        if path == znodes.CONTROLLER:
            self._elect_controller()
            self._put_right()
        elif path == znodes.BROKER_IDS:
            cluster.load_brokers(zk)
            self._put_right()
        elif path == znodes.TOPICS:
            names = zk.children(znodes.TOPICS, watch=True)
            new = [name for name in names if name not in cluster.topics and name not in self._deleting]
            cluster.load_topics(zk, new)
            for name in cluster.topics.keys() - set(names):
                cluster.doom(name)  # deleted by another controller
            self._put_right()
        elif path == znodes.DELETE_TOPICS:
            names = zk.children(znodes.DELETE_TOPICS, watch=True)
            self.begin_deletions([name for name in names if name in cluster.topics])
            return
        elif path == znodes.CONFIG_CHANGES:
            zk.children(znodes.CONFIG_CHANGES, watch=True)
            names = list(cluster.topics)
            for name, node in zip(names, zk.get_many([znodes.topic_config_path(name) for name in names]), strict=True):
                cluster.topics[name].configs = znodes.decode_config(node.data) if node is not None else {}
        self.publish()

    def begin_deletions(self, names: list[str]) -> None:
        """Doom the replicas of topics that are marked in /admin/delete_topics."""
        if not self.election.is_active:
            return
        for name in names:
            if name in self.cluster.topics and name not in self._deleting:
                self._deleting[name] = self.cluster.doom(name)
                _log.info("topic deletion begun topic=%s replicas_here=%d", name, len(self._deleting[name]))
        if names:
            self.publish()

    def work_on_deletions(self) -> int:
        """Finish the deletions whose replicas are gone; returns how many."""
        finished = 0
        for name, doomed in list(self._deleting.items()):
            if not all(self._is_deleted(replica) for replica in doomed):
                continue
            self.zk.delete_tree(znodes.topic_path(name))
            self.zk.delete(znodes.topic_config_path(name))
            self.zk.delete(znodes.delete_topic_path(name))
            del self._deleting[name]
            self.cluster.forget(doomed)
            _log.info("topic deleted topic=%s", name)
            finished += 1
        orphans = [
            replica
            for replica in self.cluster.doomed
            if replica.topic not in self._deleting and self._is_deleted(replica)
        ]
        if orphans:
            self.cluster.forget(orphans)
        if finished or orphans:
            self.publish()
        return finished

    @property
    def has_deletions(self) -> bool:
        return bool(self._deleting or self.cluster.doomed)

    def wait_served(self, names: list[str], timeout_ms: int, respond: Callable[[bool], bytes]) -> Waiting:
        """Answer when the owners of the topics' replicas here have taken their roles."""
        view = self._seat.view.read()
        rows = [
            (partition.slot, partition.key, partition.leader_epoch)
            for name in names
            if name in view.topics
            for partition in view.topics[name].partitions
            if partition.slot >= 0
        ]
        return Waiting(rows, self.now_ms() + max(0, timeout_ms), self._is_served, respond)

    def wait_deleted(self, names: list[str], timeout_ms: int, respond: Callable[[bool], bytes]) -> Waiting:
        """Answer when the topics are gone from this node and from ZooKeeper."""
        wanted = [(hash(name), 0, 0) for name in names]
        by_hash = {hash(name): name for name in names}
        return Waiting(
            wanted,
            self.now_ms() + max(0, timeout_ms),
            lambda row: by_hash[row[0]] not in self._deleting,
            respond,
        )

    def _is_served(self, wanted: Row) -> bool:
        slot, key, leader_epoch = wanted
        row = self._seat.partitions.read(slot)
        return row is not None and row.key == key and row.state in _SERVING and row.leader_epoch >= leader_epoch

    def _is_deleted(self, replica: DoomedReplica) -> bool:
        row = self._seat.partitions.read(replica.slot)
        return row is not None and row.key == replica.key and row.state == RowState.DELETED

    def _elect_controller(self) -> None:
        was_active = self.election.is_active
        controller_id = -1
        for _ in range(10):
            controller_id = self.election.run(self.now_ms())
            if controller_id >= 0:
                break
        self.cluster.controller_id = controller_id
        if self.election.is_active and not was_active:
            _log.info("elected controller node=%d epoch=%d", self.cluster.node_id, self.election.epoch)

    def _put_right(self) -> None:
        """The active controller's duties after any change: states for new topics, leaders, pending deletions."""
        if not self.election.is_active:
            return
        live = self.cluster.live()
        for topic in list(self.cluster.topics.values()):
            try:
                if any(state is None for state in topic.states):
                    write_states(self.zk, self.election, self.cluster, topic)
                for index, state in enumerate(topic.states):
                    changed = elect(state, topic.replicas[index], live, self.election.epoch) if state else None
                    if changed is not None:
                        transaction = self.election.guarded()
                        transaction.set_data(znodes.state_path(topic.name, index), znodes.encode_state(changed))
                        self.election.commit(transaction)
                        topic.states[index] = changed
            except ZkConflict as failure:
                _log.warning("topic not put right topic=%s reason=%s", topic.name, failure)
        marked = self.zk.children(znodes.DELETE_TOPICS)
        self.begin_deletions([name for name in marked if name in self.cluster.topics])
        for name in marked:
            if name not in self.cluster.topics and name not in self._deleting:
                self._forget_mark(name)

    def _forget_mark(self, name: str) -> None:
        """A mark for a topic that is not there (a deletion that was finished all but this)."""
        try:
            self.zk.delete_tree(znodes.topic_path(name))
            self.zk.delete(znodes.delete_topic_path(name))
        except ZkError as failure:
            _log.warning("deletion mark kept topic=%s reason=%s", name, failure)

"""What the controller process does with what it knows: follow ZooKeeper, put right, publish, wait for the rows.

Runs in: the controller process, over all its sessions. Only the active controller writes what the cluster
shares, and each of its writes is guarded by the controller epoch; a node whose controller process is not the
active one follows by its watches, and answers NOT_CONTROLLER.

Nothing here remembers that it was interrupted: after a lost reply or a lost session the same step runs again,
on what ZooKeeper has then.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from functools import partial

from headrace.controller import znodes
from headrace.controller.assignment import elect
from headrace.controller.cluster import Cluster, Topic
from headrace.controller.deletions import Deletions
from headrace.controller.election import Election, OfficeLost
from headrace.controller.producer_ids import ProducerIds
from headrace.controller.registration import Unregistered
from headrace.controller.topic_configs import purge
from headrace.controller.topic_creation import complete
from headrace.controller.waiting import Waiting
from headrace.controller.zk import ZkConflict, ZkSession
from headrace.controller.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import owner_of, partition_key
from headrace.limits import REQUEST_WORK_MS_MAX
from headrace.settings import Settings
from headrace.shm.cluster_view import DoomedReplica, ViewError
from headrace.shm.counters import TOPICS_RELEASED
from headrace.shm.partition_table import RowState
from headrace.shm.seat import Seat

CHANGES_PER_COMMIT = 400
StateChange = tuple[Topic, int, PartitionState]  # of one partition
_SERVING = (RowState.LEADER, RowState.FOLLOWER, RowState.OFFLINE)

_log = logging.getLogger(__name__)


class Office:
    """The state and the deeds of one controller process."""

    def __init__(
        self,
        seat: Seat,
        zk: ZkSession,
        cluster: Cluster,
        now_ms: Callable[[], int],
        monotonic_ms: Callable[[], int] | None = None,
    ) -> None:
        self.zk = zk
        self.cluster = cluster
        self.settings: Settings = seat.wiring.settings
        self.election = Election(zk, cluster.node_id)
        self.deletions = Deletions(zk, self.election, cluster, is_enabled=self.settings["delete.topic.enable"])
        self.producer_ids = ProducerIds(zk, cluster.node_id)
        self.chance = random.Random()
        self._now_ms = now_ms  # the date
        self._monotonic_ms = monotonic_ms or now_ms  # for deadlines
        self._seat = seat
        self.is_loaded = False  # in this session everything was read once, under this controller epoch:
        self._loaded_version = -1
        self._marked: frozenset[str] = frozenset()  # names in /admin/delete_topics at the last look

    @property
    def has_deletions(self) -> bool:
        return bool(self.deletions or self.cluster.is_waiting)

    def check_loaded(self) -> None:
        """raises   KafkaError NOT_CONTROLLER, which clients try again: what we know of the cluster may be of another session"""
        if not self.is_loaded:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "the cluster's state is being read from ZooKeeper, ask again")

    def check_active(self) -> None:
        """raises   KafkaError NOT_CONTROLLER"""
        self.check_loaded()
        if not self.election.is_active:
            holder = self.cluster.controller_id
            raise KafkaError(ErrorCode.NOT_CONTROLLER, f"the active controller is node {holder}, ask there")

    def load(self) -> None:
        """Run the election, read the whole cluster, put right what is ours to put right, publish.

        Until everything was read, what was known stands, and nothing is published.
        """
        cluster, zk = self.cluster, self.zk
        self.is_loaded = False
        self._run_election()
        self.deletions.abandon()  # the marks say what is to be deleted
        brokers = cluster.read_brokers(zk)
        zk.children(znodes.CONFIG_CHANGES, watch=True)
        cluster.load_settings(zk)
        marked, names = self._look_at_topics()
        found = cluster.read_topics(zk, names)
        cluster.brokers = brokers
        self._adopt(marked, names, found)
        self._loaded_version = self.election.epoch_version
        self.is_loaded = True
        try:
            self._put_right()
        finally:
            self.publish()

    def resign(self) -> None:
        """The session is gone, and all that hung on it."""
        self.is_loaded = False
        self.election.resign()
        self.deletions.abandon()

    def react(self, path: str) -> None:
        """A watched node changed: read it again, watch it again.

        raises   ZkError, where that did not work; the same call makes up for it later
        """
        cluster, zk = self.cluster, self.zk
        if not self.is_loaded:
            self.load()
            return
        if path == znodes.CONTROLLER:
            self._run_election()
            if self.election.is_active and self.election.epoch_version != self._loaded_version:
                self.load()  # as a follower we did not see everything
                return
        elif path == znodes.BROKER_IDS:
            brokers = cluster.read_brokers(zk)
            if cluster.node_id not in brokers:
                raise Unregistered(f"{znodes.broker_path(cluster.node_id)} is gone, this node lives")
            cluster.brokers = brokers
        elif path in (znodes.TOPICS, znodes.DELETE_TOPICS):
            marked, names = self._look_at_topics()
            new = [name for name in names if name not in cluster.topics and name not in self.deletions]
            self._adopt(marked, names, cluster.read_topics(zk, new))
            for name in cluster.watch_topics(zk):
                cluster.load_assignment(zk, name, marked)
                self._reload_states(name)
        elif path == znodes.CONFIG_CHANGES:
            zk.children(znodes.CONFIG_CHANGES, watch=True)
            cluster.load_settings(zk)
            cluster.load_configs(zk)
        elif path.startswith(f"{znodes.TOPICS}/"):
            name = path.removeprefix(f"{znodes.TOPICS}/").partition("/")[0]
            if path == znodes.topic_path(name) and not cluster.load_assignment(zk, name, self._marked):
                return
            self._reload_states(name)
        try:
            self._put_right()
        finally:
            self.publish()  # one topic that can't be put right holds up no other

    def publish(self) -> None:
        """Publish the view, where it says something new, and wake everyone; nothing, while not everything is known."""
        if not self.is_loaded:
            return
        try:
            if not self.cluster.publish():
                return
        except ViewError as failure:
            _log.error("cluster view not published, the last one stands reason=%s", failure)
            return
        finally:
            counters = self._seat.counters
            counters.add(TOPICS_RELEASED, self.cluster.releases - counters.get(TOPICS_RELEASED))
        for process_id in range(self._seat.wiring.process_count):
            if process_id != self._seat.process_id:
                self._seat.ring(process_id)

    def work_on_deletions(self) -> int:
        """Finish deletions, and free what everybody here has let go of; returns how many. raises ZkError"""
        cluster = self.cluster
        unsettled = self._unsettled()
        finished = self.deletions.work(unsettled) if self.election.is_active and self.is_loaded else 0
        settled = {topic.name for topic in cluster.deleted} - unsettled
        settled -= {name for name in settled if name in self.deletions}
        cluster.forget(settled)
        cluster.free_released(self._seat.followed_by_all(), self._is_left)
        if finished or settled:
            self.publish()
        return finished + len(settled)

    def _unsettled(self) -> set[str]:
        """Deleted topics that a worker of this node has yet to act on, or that are still there to be deleted."""
        cluster = self.cluster
        followed = self._seat.followed_by_all()
        names = {topic.name for topic, version in cluster.deleted.items() if not 0 < version <= followed}
        names.update(replica.topic for replica in cluster.doomed if not self._is_deleted(replica))
        for topic in cluster.deleted:
            now = cluster.topics.get(topic.name)
            if now is not None and now.topic_id == topic.topic_id and topic.name in self._marked:
                names.add(topic.name)  # the next controller goes on
        return names

    def overrides_written(self) -> None:
        """We changed overrides in ZooKeeper: publish them, and clear away old notifications of such changes."""
        self.publish()
        purge(self.zk, self._now_ms())

    def time_limit(self) -> Callable[[], None]:
        """To be called before each item of a request; raises KafkaError REQUEST_TIMED_OUT, once the request took too long."""
        end_ms = self._monotonic_ms() + REQUEST_WORK_MS_MAX

        def check() -> None:
            if self._monotonic_ms() >= end_ms:
                raise KafkaError(
                    ErrorCode.REQUEST_TIMED_OUT,
                    f"not begun: what stands before it in the request took {REQUEST_WORK_MS_MAX} ms",
                )

        return check

    def topic_defaults(self) -> Settings:
        """The broker settings that topics inherit from, with what was changed while the node runs."""
        return self.settings.with_dynamic(self.cluster.cluster_settings, self.cluster.node_settings)

    def wait_served(self, names: list[str], timeout_ms: int, respond: Callable[[bool], bytes]) -> Waiting:
        """Answer when the owners of these topics' replicas here have taken their roles."""
        node_id = self.cluster.node_id
        replicas = [
            (self.cluster.topics[name], index)
            for name in names
            for index, row in enumerate(self.cluster.topics[name].replicas)
            if node_id in row
        ]
        return Waiting(replicas, self._monotonic_ms() + max(0, timeout_ms), self._is_served, respond)

    def wait_deleted(self, names: list[str], timeout_ms: int, respond: Callable[[bool], bytes]) -> Waiting:
        """Answer when the topics are gone from this node and from ZooKeeper."""
        return Waiting(names, self._monotonic_ms() + max(0, timeout_ms), self._is_gone, respond)

    def _is_gone(self, name: str) -> bool:
        return name not in self.deletions and name not in self.cluster.topics

    def _is_served(self, replica: tuple[Topic, int]) -> bool:
        topic, index = replica
        now = self.cluster.topics.get(topic.name)
        if now is None or now.topic_id != topic.topic_id:
            return True  # deleted meanwhile: nobody will serve it
        state, slot = now.states[index], self.cluster.slots.get(topic.name, index)
        row = self._seat.partitions.read(slot) if state is not None and slot >= 0 else None
        return (
            row is not None
            and state is not None
            and row.key == partition_key(topic.name, index, topic.topic_id)
            and row.state in _SERVING
            and row.leader_epoch >= state.leader_epoch
        )

    def _is_deleted(self, replica: DoomedReplica) -> bool:
        row = self._seat.partitions.read(replica.slot)
        return row is not None and row.key == replica.key and row.state == RowState.DELETED

    def _is_left(self, topic: str, partition: int, slot: int) -> bool:
        """Whether a row in service is that of an owner that was killed."""
        row = self._seat.partitions.read(slot) if slot >= 0 else None
        if row is None or row.state not in (RowState.LEADER, RowState.FOLLOWER):
            return False
        wiring = self._seat.wiring
        owner = wiring.network_count + owner_of(topic, partition, wiring.partition_count)
        return row.generation != self._seat.processes.generation(owner)

    def _look_at_marks(self) -> frozenset[str]:
        return frozenset(self.zk.children(znodes.DELETE_TOPICS, watch=True))

    def _look_at_topics(self) -> tuple[frozenset[str], list[str]]:
        """The marks, then the names of all topics: whoever deletes a topic removes its mark last."""
        marked = self._look_at_marks()
        return marked, self.zk.children(znodes.TOPICS, watch=True)

    def _adopt(self, marked: frozenset[str], names: list[str], found: dict[str, Topic]) -> None:
        self.cluster.adopt(names, found, marked, self._marked)
        self._marked = marked

    def _run_election(self) -> None:
        """Take the office or follow whoever has it."""
        epoch_before = self.election.epoch_version
        self.cluster.controller_id = self.election.run(self._now_ms())
        if not self.election.is_active:
            self.deletions.abandon()
        elif self.election.epoch_version != epoch_before:
            _log.info("active controller node=%d epoch=%d", self.cluster.node_id, self.election.epoch)

    def _put_right(self) -> None:
        """The active controller's duties after any change: pending deletions, states of new topics, leaders.

        raises   ZkError, after everything else was tried
        """
        if not self.election.is_active:
            self._watch_missing()
            return
        conflict = None
        try:
            self.deletions.begin(self._look_at_marks())
            live = self.cluster.live()
            for duty in (*self._completions(live), *self._leader_changes(live)):
                try:
                    duty()
                except OfficeLost:
                    raise
                except ZkConflict as failure:
                    conflict = failure
        except OfficeLost as failure:
            self.deletions.abandon()
            _log.warning("not the active controller any more reason=%s", failure)
            return
        if conflict is not None:
            raise conflict

    def _completions(self, live: list[int]) -> Iterator[Callable[[], None]]:
        for topic in list(self.cluster.topics.values()):
            if topic.missing:
                yield partial(self._complete, topic, live)

    def _complete(self, topic: Topic, live: list[int]) -> None:
        try:
            complete(self.zk, self.election, topic, live)
        except ZkConflict:
            self.cluster.load_states(self.zk, topic)
            raise

    def _leader_changes(self, live: list[int]) -> Iterator[Callable[[], None]]:
        """Other leaders for partitions whose leader is not alive."""
        changes: list[StateChange] = []
        for topic in self.cluster.topics.values():
            for index, state in enumerate(topic.states):
                changed = elect(state, topic.replicas[index], live, self.election.epoch) if state else None
                if changed is not None:
                    changes.append((topic, index, changed))
        for first in range(0, len(changes), CHANGES_PER_COMMIT):
            yield partial(self._write_states, changes[first : first + CHANGES_PER_COMMIT])

    def _write_states(self, changes: list[StateChange]) -> None:
        """A change expects the node as it was read (KAFKA-2729: after a conflict it is read again)."""
        transaction = self.election.guarded()
        for topic, index, state in changes:
            transaction.set(znodes.state_path(topic.name, index), znodes.encode_state(state), state.version)
        try:
            self.election.commit(transaction)
        except OfficeLost:
            raise
        except ZkConflict:
            for topic in {topic.name: topic for topic, _index, _state in changes}.values():
                self.cluster.load_states(self.zk, topic)
            raise
        for topic, index, state in changes:
            topic.states[index] = state._replace(version=state.version + 1)
        _log.info("leaders changed partitions=%d epoch=%d", len(changes), self.election.epoch)

    def _reload_states(self, name: str) -> None:
        topic = self.cluster.topics.get(name)
        if topic is not None:
            self.cluster.load_states(self.zk, topic)

    def _watch_missing(self) -> None:
        """A follower hears of a new topic before the active controller has written its states."""
        for topic in self.cluster.topics.values():
            for index in topic.missing[-1:]:
                if self.zk.get(znodes.state_path(topic.name, index), watch=True) is not None:
                    self.cluster.load_states(self.zk, topic)

"""What the active controller tells this node by requests, taken into the known cluster.

Runs in: the controller process of every node. The handlers (`controller/admin/a04_`, `a05_`, `a06_`) judge (`judgement.py`) and make
events; here they are carried out, without a look into ZooKeeper:

    LeadersTold       states that are newer than what is known; a LeaderAndIsr has replicas take their roles
    ReplicasStopped   a replica that is kept follows no leader; one that is deleted goes by itself; with the leader epoch -2 its whole
                      topic does

A topic that is not known is read first (`learn`): its overrides are in ZooKeeper alone. Brokers and the controller are not taken
from requests: /brokers/ids and /controller are followed, they have the epochs, and a request may be older than they are. Where
a request names others than are known, they are read again.

Only a mark deletes, or a stop of the current controller that ZooKeeper bears out (decision 009). A topic that is stopped so counts as
marked. An UpdateMetadata deletes nothing.
A leader that is stopped and kept leads on, as in Kafka: who leads is said by LeaderAndIsr.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from headrace.controller.agent.cluster_reader import ClusterReader
from headrace.controller.agent.hosted_rows import HostedRows
from headrace.controller.agent.judgement import EPOCH_DURING_DELETE
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import KnownCluster, is_another
from headrace.controller.zookeeper import znodes
from headrace.limits import LEARN_TRIES_MAX, REQUEST_WORK_MS_MAX
from headrace.runtime.tasks import Tasks
from headrace.shm.cluster_view import DoomedReplica

LEARN_PAUSE_MS = 50  # ours may be a server of ZooKeeper that is behind the controller's


class Orders:
    """One node's.

    note      has nodes of ZooKeeper read again
    is_free   whether a topic of that name may be read: nobody here writes it
    marked    names that are marked for deletion
    """

    def __init__(
        self,
        known: KnownCluster,
        reader: ClusterReader,
        rows: HostedRows,
        tasks: Tasks,
        note: Callable[[list[str]], None],
        is_free: Callable[[str], bool],
        marked: Callable[[], frozenset[str]],
    ) -> None:
        self._known = known
        self._reader = reader
        self._rows = rows
        self._tasks = tasks
        self._note = note
        self._is_free = is_free
        self._marked = marked

    async def learn(self, told: Mapping[str, events.ToldTopic]) -> None:
        """Read topics that are not known as they were sent: new ones, grown ones, others of the same name. raises ZkError

        With all their states: a LeaderAndIsr names those of this node alone, and clients want to know the other leaders, too.
        What a request of very many names takes longer for is read when the names of all are followed.
        """
        known = self._known
        end_ms = self._tasks.now_ms() + REQUEST_WORK_MS_MAX
        names = list(told)
        for tried in range(LEARN_TRIES_MAX):
            names = [name for name in names if self._is_new(name, told[name]) and self._is_free(name)]
            if not names:
                return
            if self._tasks.now_ms() >= end_ms:
                break
            if tried:
                await self._tasks.sleep(LEARN_PAUSE_MS)
            as_of = known.additions
            found = await self._reader.read_topics(await self._reader.present(names))
            found = {name: topic for name, topic in found.items() if self._is_free(name)}
            known.adopt(known.topics.keys(), found, frozenset(), self._marked(), as_of)
            if all(name in found and found[name].topic_id == told[name].topic_id for name in names):
                return
        self._note([znodes.TOPICS])

    def note_brokers(self, ids: Iterable[int]) -> None:
        """A request names these: those that are not known are read."""
        if not self._known.brokers.keys() >= set(ids):
            self._note([znodes.BROKER_IDS])

    def take_leaders(self, event: events.LeadersTold) -> None:
        known = self._known
        for name, told in event.topics.items():
            topic = known.topics.get(name)
            if topic is None or is_another(topic.topic_id, told.topic_id):
                continue
            count = len(topic.states)
            partitions = {index: one for index, one in told.partitions.items() if index < count}
            known.tell(topic, partitions, event.has_roles)
            if len(partitions) < len(told.partitions):
                self._note([znodes.topic_path(name)])

    def take_stops(self, event: events.ReplicasStopped) -> None:
        known = self._known
        for (name, index), stopped in event.replicas.items():
            topic = known.topics.get(name)
            if topic is None or index >= len(topic.states) or index in topic.stopped:
                continue  # it is gone, or its topic is
            if not stopped.is_deleted:
                known.halt(topic, index)
            elif stopped.leader_epoch != EPOCH_DURING_DELETE:
                known.stop(topic, index)

    def leaving(self, replicas: Collection[tuple[str, int]]) -> list[DoomedReplica]:
        """Of these replicas, by topic and partition, those whose files are to go, and have not gone yet."""
        wanted = set(replicas)
        held = (one for name in {name for name, _ in wanted} for one in self._known.leaving.get(name, ()))
        return [one for one in held if (one.topic, one.partition) in wanted]

    def is_gone(self, replica: DoomedReplica) -> bool:
        """Whether the files of a replica that was leaving are put away."""
        return replica not in self._known.leaving.get(replica.topic, ()) or self._rows.is_deleted(replica)

    def is_over(self, replica: DoomedReplica) -> bool:
        """Whether nothing more comes of it: it is gone, or can't be."""
        return self.is_gone(replica) or self.is_out_of_reach(replica)

    def is_out_of_reach(self, replica: DoomedReplica) -> bool:
        """Whether its files can't be put away until this node starts again."""
        return self._rows.is_out_of_reach(replica)

    def _is_new(self, name: str, told: events.ToldTopic) -> bool:
        topic = self._known.topics.get(name)
        if topic is None:
            return True
        has_other_id = bool(told.topic_id) and told.topic_id != topic.topic_id
        return has_other_id or max(told.partitions, default=-1) >= len(topic.states)

"""What the rows of the partition table say of this node's replicas: what answers and deletions wait for.

Runs in: the controller process, which reads the rows; their owners, the partition workers, write them.
"""

from __future__ import annotations

from headrace.controller.cluster.known_cluster import KnownCluster, Topic, is_another
from headrace.errors import ErrorCode
from headrace.ids import NO_EPOCH, owner_of, partition_key
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.partition_table import IN_SERVICE, RowState, has_published
from headrace.shm.seat import Seat

_SERVING = (*IN_SERVICE, RowState.OFFLINE)


class HostedRows:
    """The rows beside what is known.

    refused   replicas for which a LeaderAndIsr was refused since their logs are out of service: the controller takes them for offline
    """

    def __init__(self, seat: Seat, known: KnownCluster) -> None:
        self._seat = seat
        self._known = known
        self.refused: set[tuple[str, int]] = set()  # topic and partition

    def is_served(self, replica: tuple[Topic, int]) -> bool:
        """Whether the owner has taken its role in a partition, or the topic was deleted in the meantime and never will."""
        topic, index = replica
        now = self._known.topics.get(topic.name)
        if now is None or now.topic_id != topic.topic_id or index >= len(now.states):
            return True
        state, slot = now.states[index], self._known.slots.get(topic.name, index)
        row = self._seat.partitions.read(slot) if state is not None and slot >= 0 else None
        return (
            row is not None
            and state is not None
            and row.key == partition_key(topic.name, index, topic.topic_id)
            and row.state in _SERVING
            and row.leader_epoch >= state.leader_epoch
        )

    def is_offline(self, topic: Topic, index: int) -> bool:
        """Whether the owner could not open, or lost, the log of a partition."""
        slot = self._known.slots.get(topic.name, index)
        row = self._seat.partitions.read(slot) if slot >= 0 else None
        key = partition_key(topic.name, index, topic.topic_id)
        return row is not None and row.key == key and row.state == RowState.OFFLINE

    def leader_epoch(self, topic: Topic, index: int) -> int:
        """The latest leader epoch in which the owner has published a replica, whatever the state says by now; NO_EPOCH: none."""
        slot = self._known.slots.get(topic.name, index)
        if slot < 0:
            return NO_EPOCH
        row = self._seat.partitions.read(slot) or self._seat.partitions.recover_row(slot)[0]
        return row.leader_epoch if row.key == partition_key(topic.name, index, topic.topic_id) else NO_EPOCH

    def note_refused(self, name: str, index: int) -> None:
        """A LeaderAndIsr was answered with KAFKA_STORAGE_ERROR. Of a replica that is held its hold says when it is over."""
        topic = self._known.topics.get(name)
        if topic is not None and self.is_offline(topic, index):
            self.refused.add((name, index))

    def is_in_service(self, topic: Topic, index: int) -> bool:
        """Whether the owner has the log of a partition, whatever its role."""
        slot = self._known.slots.get(topic.name, index)
        row = self._seat.partitions.read(slot) if slot >= 0 else None
        return (
            row is not None and row.key == partition_key(topic.name, index, topic.topic_id) and row.state in IN_SERVICE
        )

    def cannot_serve(self, topic: Topic, index: int) -> bool:
        """Whether the controller is to know that the replica here can't serve: its log is out of service, or held back."""
        is_held = self._known.is_held(topic, index) and topic.name not in self._known.unstored_holds
        return is_held or self.is_offline(topic, index)

    def outcome(self, topic: Topic, index: int, leader_epoch: int) -> ErrorCode | None:
        """What became of a role that the controller assigned; None: nothing yet.

        topic          as it was then
        leader_epoch   of the role
        """
        now = self._known.topics.get(topic.name)
        if now is None or is_another(now.topic_id, topic.topic_id) or index >= len(now.states):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self._known.node_id not in now.replicas[index]:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.cannot_serve(now, index):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._known.is_held(now, index):
            return None  # a process that is notified of it may ask ZooKeeper why
        slot = self._known.slots.get(now.name, index)
        row = self._seat.partitions.read(slot) if slot >= 0 else None
        if row is None or row.key != partition_key(now.name, index, now.topic_id) or row.state not in _SERVING:
            return None
        return ErrorCode.NONE if row.leader_epoch >= leader_epoch else None

    def is_deleted(self, replica: DoomedReplica) -> bool:
        """Whether the owner has put the files of a replica away."""
        row = self._seat.partitions.read(replica.slot)
        return row is not None and row.key == replica.key and row.state == RowState.DELETED

    def is_out_of_reach(self, replica: DoomedReplica) -> bool:
        """Whether the owner can't put the files of a replica away: they lie, or may lie, in a log directory that failed."""
        row = self._seat.partitions.read(replica.slot)
        return row is not None and row.key == replica.key and row.state == RowState.OFFLINE

    def is_left(self, topic: str, partition: int, slot: int) -> bool:
        """Whether a row that says how far a log was published is that of an owner that was killed, maybe while it wrote it."""
        if slot < 0:
            return False
        row = self._seat.partitions.read(slot) or self._seat.partitions.recover_row(slot)[0]
        if not has_published(row):
            return False
        wiring = self._seat.wiring
        owner = wiring.network_count + owner_of(topic, partition, wiring.partition_count)
        return row.generation != self._seat.processes.generation(owner)

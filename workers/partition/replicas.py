"""Which replicas this worker holds: the cluster view is what should be, this makes it so.

Runs in: a partition worker, whenever the view's version moved, and once at start. Every step can be run
again; a worker killed in the middle leaves a directory that the next one opens.

    in the view, owned by us, not open    -> open the log (recover), take the role, publish the row
    in the view, open                     -> role, leader epoch, settings
    in view.doomed                        -> close, rename to *-delete, publish DELETED
    open, no longer in the view           -> close, keep the files

Source: blueprint, control plane; Kafka `ReplicaManager.becomeLeaderOrFollower`, `LogManager.asyncDelete`.
"""

from __future__ import annotations

import logging
import os
import uuid
from pathlib import Path

from headrace.clock import Clock
from headrace.errors import HeadraceError, StorageFailed
from headrace.ids import TopicPartition, owner_of
from headrace.log.checkpoints import (
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    read_offset_checkpoint,
)
from headrace.log.config import LogConfig
from headrace.log.partition_log import PartitionLog
from headrace.settings import Settings, topic_values
from headrace.shm.cluster_view import ClusterView, DoomedReplica, PartitionView, TopicView
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.shm.seat import Seat
from headrace.workers.partition.replica import Replica

_log = logging.getLogger(__name__)


class Replicas:
    """The replicas of one partition worker, by slot."""

    def __init__(self, seat: Seat, index: int, clock: Clock) -> None:
        self.by_slot: dict[int, Replica] = {}
        self._seat = seat
        self._index = index
        self._clock = clock
        self._settings: Settings = seat.wiring.settings
        self._node_id: int = self._settings["broker.id"]
        self._table: PartitionTable = seat.partitions
        self._directories = [Path(path) for path in self._settings["log.dirs"]]
        self._configs: dict[int, dict[str, str]] = {}  # slot -> overrides last applied
        self._failed: dict[int, int] = {}  # slot -> key of replicas whose log could not be opened
        self._recovery_points = self._read_checkpoints(RECOVERY_POINT_FILE)
        self._log_starts = self._read_checkpoints(LOG_START_OFFSET_FILE)
        self._high_watermarks = self._read_checkpoints(REPLICATION_OFFSET_FILE)

    def follow(self, view: ClusterView) -> list[Replica]:
        """Make the replicas as the view has them.

        returns   the replicas whose role or epoch changed
        """
        changed = []
        wanted: set[int] = set()
        worker_count = self._seat.wiring.partition_count
        for topic in view.topics.values():
            for partition in topic.partitions:
                if partition.slot < 0 or owner_of(topic.name, partition.index, worker_count) != self._index:
                    continue
                wanted.add(partition.slot)
                replica = self._hold(topic, partition)
                if replica is not None and replica.take_role(partition, self._node_id):
                    changed.append(replica)
        for doomed in view.doomed:
            if owner_of(doomed.topic, doomed.partition, worker_count) == self._index:
                self._delete(doomed)
        for slot in self.by_slot.keys() - wanted - {doomed.slot for doomed in view.doomed}:
            replica = self.by_slot.pop(slot)
            _log.info("replica released partition=%s", replica.partition)
            replica.log.close()
        return changed

    def flush_due(self, now_ms: int) -> None:
        """Flush the logs whose `flush.ms` has passed."""
        for replica in list(self.by_slot.values()):
            if replica.state is RowState.OFFLINE:
                continue
            try:
                if replica.log.flush_due(now_ms):
                    replica.publish()
            except StorageFailed as failure:
                replica.fail(failure)

    def close(self) -> bool:
        """Flush and close every log, so that nothing needs recovery. False where a log could not be closed."""
        clean = not self._failed  # a log that was not opened was not recovered either
        for replica in self.by_slot.values():
            self._seat.beat(self._clock.monotonic_ns())
            if replica.state is RowState.OFFLINE:
                clean = False
                continue
            try:
                replica.log.close()
                replica.publish()
            except (StorageFailed, OSError) as failure:
                _log.error("log not closed partition=%s reason=%s", replica.partition, failure)
                clean = False
        return clean

    def _hold(self, topic: TopicView, partition: PartitionView) -> Replica | None:
        replica = self.by_slot.get(partition.slot)
        if replica is not None and replica.key != partition.key:
            replica.log.close()
            del self.by_slot[partition.slot]
            replica = None
        if replica is None:
            if self._failed.get(partition.slot) == partition.key:
                return None
            replica = self._open(topic, partition)
            if replica is None:
                self._failed[partition.slot] = partition.key
                return None
            self.by_slot[partition.slot] = replica
            self._configure(replica, topic)
        elif self._configs.get(partition.slot) != topic.configs:
            self._configure(replica, topic)
        return replica

    def _configure(self, replica: Replica, topic: TopicView) -> None:
        values = topic_values(self._settings, topic.configs)
        replica.configure(LogConfig.from_values(values), values["min.insync.replicas"])
        self._configs[replica.slot] = topic.configs

    def _open(self, topic: TopicView, partition: PartitionView) -> Replica | None:
        name = TopicPartition(topic.name, partition.index)
        directory = self._directory_of(name)
        generation = self._seat.generation
        row = self._table.read(partition.slot)
        trusted = None
        high_watermark = self._high_watermarks.get(name, 0)
        recovery_point = self._recovery_points.get(name, 0)
        log_start_offset = self._log_starts.get(name, 0) if directory.is_dir() else 0
        if row is not None and row.key == partition.key and row.generation > 0:
            # The owner before us was killed; what it published is whole in the page cache.
            trusted = (row.end_segment, row.end_position)
            high_watermark = max(high_watermark, row.high_watermark)
            recovery_point = max(recovery_point, row.recovery_point)
            log_start_offset = row.log_start_offset
        elif row is None or row.key != partition.key:
            self._table.publish(
                partition.slot,
                PartitionRow(RowState.LOADING, partition.key, 0, -1, *(0,) * 15),
            )
        config = LogConfig.from_values(topic_values(self._settings, topic.configs))
        try:
            log = PartitionLog.open(
                directory,
                name,
                config,
                clock=self._clock,
                clean=trusted is None and str(directory.parent) in self._seat.wiring.clean_directories,
                recovery_point=recovery_point,
                trusted=trusted,
                log_start_offset=log_start_offset,
                topic_id=topic.topic_id,
                progress=lambda *_: self._seat.beat(self._clock.monotonic_ns()),
            )
        except (HeadraceError, OSError) as failure:
            _log.error("log not opened partition=%s directory=%s reason=%s", name, directory, failure)
            self._table.publish(
                partition.slot,
                PartitionRow(RowState.OFFLINE, partition.key, generation, -1, *(0,) * 15),
            )
            return None
        return Replica(name, log, partition.slot, partition.key, self._table, generation, high_watermark)

    def _directory_of(self, name: TopicPartition) -> Path:
        """Where the partition's files are, or, for a new one, the log directory with the fewest partitions."""
        for directory in self._directories:
            if (directory / str(name)).is_dir():
                return directory / str(name)
        if len(self._directories) == 1:
            return self._directories[0] / str(name)
        return min(self._directories, key=lambda path: len(os.listdir(path))) / str(name)

    def _delete(self, doomed: DoomedReplica) -> None:
        row = self._table.read(doomed.slot)
        if row is not None and row.state == RowState.DELETED and row.key == doomed.key:
            return
        name = TopicPartition(doomed.topic, doomed.partition)
        for checkpoint in (self._recovery_points, self._high_watermarks, self._log_starts):
            checkpoint.pop(name, None)  # a topic of the same name begins anew
        replica = self.by_slot.pop(doomed.slot, None)
        if replica is not None:
            replica.log.abandon()
        for directory in self._directories:
            if (directory / str(name)).is_dir():
                target = f"{name}.{uuid.uuid4().hex}-delete"
                os.rename(directory / str(name), directory / target)
                _log.info("replica deleted partition=%s renamed_to=%s", name, target)
        self._table.publish(
            doomed.slot,
            PartitionRow(RowState.DELETED, doomed.key, self._seat.generation, -1, *(0,) * 15),
        )

    def _read_checkpoints(self, file_name: str) -> dict[TopicPartition, int]:
        offsets: dict[TopicPartition, int] = {}
        for directory in self._directories:
            try:
                offsets.update(read_offset_checkpoint(directory / file_name))
            except (HeadraceError, ValueError, OSError) as failure:
                _log.warning("checkpoint ignored file=%s reason=%s", directory / file_name, failure)
        return offsets

"""Which replicas this worker holds: the cluster view is what should be, this makes it so.

Runs in: a partition worker, whenever the view's version moved, and once at start. Every step can be run
again; a worker killed in the middle leaves a directory that the next one opens.

    in the view, owned by us, not open    -> open the log (recover), take the role, publish the row
    in the view, open                     -> role, leader epoch, settings
    in view.doomed                        -> close, rename to *-delete, publish DELETED
    open, no longer in the view           -> close, keep the files

A log that fails takes its directory offline, and every replica in it; one that has no room keeps serving reads, and is
opened again when there is some.

Source: blueprint, control plane; Kafka `ReplicaManager.becomeLeaderOrFollower`, `LogManager.asyncDelete`,
`ReplicaManager.handleLogDirFailure`.
"""

from __future__ import annotations

import logging
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headrace.clock import Clock
from headrace.errors import HeadraceError, StorageExhausted, StorageFailed
from headrace.ids import TopicPartition, owner_of
from headrace.limits import CLOSE_THREADS, OPEN_SEGMENTS_MAX, REOPEN_INTERVAL_MS
from headrace.log.checkpoints import (
    LOG_START_OFFSET_FILE,
    PARTITION_MAX,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    is_number,
    read_partition_metadata,
)
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.open_segments import OpenSegments
from headrace.log.partition_log import PartitionLog
from headrace.log.producer_state import ProducerBudget
from headrace.log.topic_checkpoints import TopicCheckpoints
from headrace.settings import Settings, topic_values
from headrace.shm.cluster_view import ClusterView, DoomedReplica, PartitionView, TopicView
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.shm.seat import Seat
from headrace.topic_defaults import TopicDefaults
from headrace.workers.partition.log_directories import LogDirectories
from headrace.workers.partition.replica import Replica
from headrace.workers.watched_disk import WatchedDisk

FUTURE_SUFFIX = "-future"  # a copy on its way to another log directory

_log = logging.getLogger(__name__)


class Replicas:
    """The replicas of one partition worker, by slot.

    offline   key by slot of the replicas whose log is not open: their directory failed, or they could not be opened
    """

    def __init__(self, seat: Seat, index: int, clock: Clock, disk: Disk | None = None) -> None:
        self.by_slot: dict[int, Replica] = {}
        self.offline: dict[int, int] = {}
        self._seat = seat
        self._index = index
        self._clock = clock
        self._disk = disk or WatchedDisk(seat, clock)
        self._settings: Settings = seat.wiring.settings
        self._defaults = TopicDefaults(self._settings)
        self._node_id: int = self._settings["broker.id"]
        self._table: PartitionTable = seat.partitions
        self._directories = LogDirectories(seat, self._disk)
        self._producer_budget = ProducerBudget(self._settings["headrace.producer.ids.max"])
        self._open_segments = OpenSegments(OPEN_SEGMENTS_MAX)
        self._configs: dict[int, dict[str, str]] = {}  # slot -> overrides last applied
        self._timed: set[int] = set()  # slots with flush.ms
        self._wanted: dict[int, PartitionView] = {}  # by slot, as of the last view
        self._exhausted: dict[int, Replica] = {}  # replicas whose log ran out of room
        self._changed: list[Replica] = []  # went out of service, or came back, since the last look
        self._next_reopen_ms = 0
        self._known_keys: dict[int, None] | None = None  # of partitions in earlier views, the oldest news first
        self._has_unclean_failure = False
        for counter in (LOGS_OPENED, RECOVERED_BYTES):  # those of a predecessor
            seat.counters.add(counter, -seat.counters.get(counter))
        self._checkpoints = self._read_checkpoints()

    def follow(self, view: ClusterView) -> list[Replica]:
        """Make the replicas as the view has them.

        returns   the replicas whose role or epoch changed, and those that are no more
        """
        before = dict(self.by_slot)
        if self._defaults.follow(view.cluster_settings, view.node_settings):
            self._configs.clear()  # all are configured again
        changed = []
        worker_count = self._seat.wiring.partition_count
        wanted = {
            partition.slot: (topic, partition)
            for topic in view.topics.values()
            for partition in topic.partitions
            if partition.slot >= 0 and owner_of(topic.name, partition.index, worker_count) == self._index
        }
        self._wanted = {slot: partition for slot, (_topic, partition) in wanted.items()}
        counters = self._seat.counters
        counters.add(LOGS_WANTED, len(wanted) - counters.get(LOGS_WANTED))
        opened, begun_ns = counters.get(LOGS_OPENED), self._clock.monotonic_ns()
        recovered = counters.get(RECOVERED_BYTES)
        for topic, partition in wanted.values():
            replica = self._hold(topic, partition)
            if replica is None:
                continue
            try:
                if replica.take_role(partition, self._node_id):
                    changed.append(replica)
            except StorageFailed as failure:
                self.fail(replica, failure)
            except HeadraceError as failure:  # its files contradict its offsets: no reason to end all others
                self._has_unclean_failure = True
                replica.take_out(str(failure))
                replica.log.abandon()
                changed.append(replica)
        if counters.get(LOGS_OPENED) > opened:
            _log.info(
                "logs opened count=%d recovered_bytes=%d duration_ms=%d",
                counters.get(LOGS_OPENED) - opened,
                counters.get(RECOVERED_BYTES) - recovered,
                (self._clock.monotonic_ns() - begun_ns) // 1_000_000,
            )
        self._remember(view)
        for doomed in view.doomed:
            if owner_of(doomed.topic, doomed.partition, worker_count) == self._index:
                self._delete(doomed)
        for slot in self.by_slot.keys() - wanted.keys() - {doomed.slot for doomed in view.doomed}:
            replica = self._forget(slot)
            _log.info("replica released partition=%s", replica.partition)
            self.beat()
            self._close_log(replica)
        for slot, replica in before.items():
            if self.by_slot.get(slot) is not replica:
                replica.retire()
                changed.append(replica)
        return changed

    def look(self, now_ms: int, monotonic_ms: int) -> list[Replica]:
        """Flush what `flush.ms` wants flushed; follow what became of the log directories; try full logs again.

        returns   the replicas that went out of service, or came back, since the last call
        """
        for slot in list(self._timed):
            replica = self.by_slot[slot]
            if replica.state is not RowState.OFFLINE and not replica.is_full:
                self._flush_due(replica, now_ms)
        self.look_at_directories(monotonic_ms)
        if self._exhausted and monotonic_ms >= self._next_reopen_ms:
            self._next_reopen_ms = monotonic_ms + REOPEN_INTERVAL_MS
            for replica in list(self._exhausted.values()):
                self._reopen(replica)
        changed, self._changed = self._changed, []
        return changed

    def look_at_directories(self, monotonic_ms: int) -> None:
        """What became of the log directories, if that is due."""
        if self._directories.look(monotonic_ms):
            self._follow_directories()

    def spend(self, count: int, monotonic_ms: int) -> None:
        """So many bytes were appended: near the bound of free space that is looked at before the time."""
        if self._directories.spend(count):
            self.look_at_directories(monotonic_ms)

    def beat(self) -> None:
        """A sign of life, where thousands of logs take their time."""
        self._seat.beat(self._clock.monotonic_ns())

    def fail(self, replica: Replica, failure: StorageFailed) -> None:
        """A log refused: out of room, or its directory is lost with every replica in it."""
        if isinstance(failure, StorageExhausted):
            if replica.log.failure is None:
                return  # refused before the log was asked
            if replica.slot not in self._exhausted:
                _log.error("log full, reads go on partition=%s reason=%s", replica.partition, failure)
            replica.is_full = True
            self._exhausted[replica.slot] = replica
            return
        self._directories.take_offline(replica.log.directory.parent, failure)
        self._follow_directories()

    @property
    def usable_directories(self) -> list[Path]:
        """Log directories that have not failed."""
        return self._directories.usable

    def directory_named(self, path: str) -> Path | None:
        """The log directory that a client means, failed or not."""
        return self._directories.named(path)

    def lose_directory(self, log_dir: Path, failure: StorageFailed) -> None:
        """A log directory failed in something that is no replica's."""
        self._directories.take_offline(log_dir, failure)
        self._follow_directories()

    def find_copies(self) -> dict[TopicPartition, list[Path]]:
        """Copies of this worker's partitions in the log directories, of an earlier life."""
        found: dict[TopicPartition, list[Path]] = {}
        for log_dir in list(self._directories.usable):
            try:
                for name in os.listdir(log_dir):
                    replica, _dot, _unique = name.rpartition(".")
                    topic, _dash, index = replica.rpartition("-")
                    if not name.endswith(FUTURE_SUFFIX) or not topic or not topic.isascii():
                        continue
                    if not is_number(index, PARTITION_MAX):
                        continue
                    if owner_of(topic, int(index), self._seat.wiring.partition_count) == self._index:
                        found.setdefault(TopicPartition(topic, int(index)), []).append(log_dir / name)
            except OSError as failure:
                self._directories.take_offline(log_dir, failure)
        return found

    def open_future(
        self, name: TopicPartition, directory: Path, log: PartitionLog, topic_id: str, recovery_point: int = 0
    ) -> PartitionLog:
        """Begin the copy of a log in another directory, or go on with it. raises HeadraceError

        recovery_point   of a copy that is there: below it everything was synced
        """
        return self._open_log(
            name,
            directory,
            log.config,
            is_clean=False,
            recovery_point=recovery_point,
            trusted=None,
            log_start_offset=log.log_start_offset,
            topic_id=topic_id,
        )

    def replace_directory(self, replica: Replica, directory: Path) -> None:
        """A copy that was closed takes the place of a replica's log. raises HeadraceError, OSError"""
        old = replica.log
        name = str(replica.partition)
        place = directory.with_name(name)
        os.rename(directory, place)
        self._disk.sync_directory(place.parent)
        old.abandon()
        os.rename(old.directory, old.directory.with_name(f"{name}.{uuid.uuid4().hex}-delete"))
        replica.log = self._open_log(
            replica.partition,
            place,
            old.config,
            is_clean=True,
            recovery_point=old.log_end_offset,
            trusted=None,
            log_start_offset=old.log_start_offset,
        )
        self._exhausted.pop(replica.slot, None)
        self._follow_directories()
        replica.publish()

    def close(self) -> bool:
        """Flush and close every log, so that nothing needs recovery; what failed is left to the next start.

        returns   False where a log in a directory that still works was not closed
        """
        clean = not self._has_unclean_failure  # a log that was not opened was not recovered either
        # One that is offline is left out: its directory gets no clean-shutdown marker.
        closing = [replica for replica in self.by_slot.values() if replica.state is not RowState.OFFLINE]
        # Syncs that are under way at once share the journal's commits: thousands of logs fit into the stop's time.
        with ThreadPoolExecutor(CLOSE_THREADS) as pool:
            for replica, failure in zip(closing, pool.map(_finish_log, closing), strict=True):
                self.beat()
                replica.log.abandon()
                if failure is None:
                    replica.publish()
                elif isinstance(failure, StorageExhausted):
                    _log.error("log not closed partition=%s reason=%s", replica.partition, failure)
                    clean = False
                else:
                    self._directories.take_offline(replica.log.directory.parent, failure)
        return clean

    def _flush_due(self, replica: Replica, now_ms: int) -> None:
        try:
            if replica.log.flush_due(now_ms):
                replica.publish()
        except StorageFailed as failure:
            self.fail(replica, failure)

    def _follow_directories(self) -> None:
        """Replicas in directories that failed go out of service, those in full ones take no appends."""
        usable, full = self._directories.usable, self._directories.full
        for replica in self.by_slot.values():
            if replica.state is RowState.OFFLINE:
                continue
            directory = replica.log.directory.parent
            replica.is_full = directory in full or replica.slot in self._exhausted
            if directory not in usable:
                self._exhausted.pop(replica.slot, None)
                replica.take_out(f"log directory {directory} is offline")
                replica.log.abandon()
                self._changed.append(replica)

    def _reopen(self, replica: Replica) -> None:
        """A log that ran out of room: what it had published is whole."""
        old = replica.log
        if old.directory.parent in self._directories.full:
            return
        old.abandon()
        try:
            log = self._open_log(
                replica.partition,
                old.directory,
                old.config,
                is_clean=False,
                recovery_point=old.recovery_point,
                trusted=(old.end_segment, old.end_position),
                log_start_offset=old.log_start_offset,
            )
        except StorageExhausted:
            return
        except (HeadraceError, OSError) as failure:
            self.fail(replica, StorageFailed(str(failure)))
            return
        replica.log = log
        replica.is_full = False
        del self._exhausted[replica.slot]
        try:
            if not replica.take_role(
                self._wanted[replica.slot], self._node_id
            ):  # there was no room for the epoch, maybe
                replica.advance_high_watermark(self._node_id)
                replica.publish()
        except StorageFailed as failure:
            self.fail(replica, failure)
            return
        _log.warning("log has room again partition=%s", replica.partition)
        self._changed.append(replica)

    def _hold(self, topic: TopicView, partition: PartitionView) -> Replica | None:
        replica = self.by_slot.get(partition.slot)
        if replica is not None and replica.key != partition.key:
            self._close_log(self._forget(partition.slot))
            replica = None
        if replica is None:
            if self.offline.get(partition.slot) == partition.key:
                return None
            replica = self._open(topic, partition)
            if replica is None:
                self.offline[partition.slot] = partition.key
                return None
            self.offline.pop(partition.slot, None)
            self.by_slot[partition.slot] = replica
            self._configure(replica, topic)
            self._follow_directories()
        elif self._configs.get(partition.slot) != topic.configs:
            self._configure(replica, topic)
        return replica

    def _remember(self, view: ClusterView) -> None:
        """The partitions of this view are not new to the next one, nor those of earlier ones that may come back.

        A topic whose znode can't be read leaves the view and keeps its files; one that is doomed leaves for good. As many
        of those that left are kept as the table has rows.
        """
        keys = {partition.key: None for partition in self._wanted.values()}
        doomed = {replica.key for replica in view.doomed}
        left = [key for key in self._known_keys or () if key not in keys and key not in doomed]
        self._known_keys = {**dict.fromkeys(left[-self._table.rows :]), **keys}

    def _forget(self, slot: int) -> Replica:
        self._timed.discard(slot)
        self._exhausted.pop(slot, None)
        self._configs.pop(slot, None)
        return self.by_slot.pop(slot)

    def _close_log(self, replica: Replica) -> None:
        if replica.state is RowState.OFFLINE:
            return
        try:
            replica.log.close()
        except StorageExhausted as failure:
            _log.error("log not closed partition=%s reason=%s", replica.partition, failure)
            self._has_unclean_failure = True
        except StorageFailed as failure:
            self._directories.take_offline(replica.log.directory.parent, failure)
            self._follow_directories()

    def _configure(self, replica: Replica, topic: TopicView) -> None:
        values = topic_values(self._defaults.settings, topic.configs)
        replica.configure(LogConfig.from_values(values), values["min.insync.replicas"])
        self._configs[replica.slot] = topic.configs
        if replica.log.config.flush_ms is None:
            self._timed.discard(replica.slot)
        else:
            self._timed.add(replica.slot)

    def _open(self, topic: TopicView, partition: PartitionView) -> Replica | None:
        self.beat()  # there may be thousands to open, and nothing to recover in them
        name = TopicPartition(topic.name, partition.index)
        row, is_torn = self._table.recover_row(partition.slot)
        trusted = None
        high_watermark = self._checkpointed(REPLICATION_OFFSET_FILE, name, topic.topic_id)
        recovery_point = self._checkpointed(RECOVERY_POINT_FILE, name, topic.topic_id)
        log_start_offset = self._checkpointed(LOG_START_OFFSET_FILE, name, topic.topic_id)
        is_ours = row.key == partition.key and row.generation > 0
        if is_ours and row.state in (RowState.LEADER, RowState.FOLLOWER):
            # The owner before us was killed; what it published is whole in the page cache. Where it was killed while it
            # published, each offset is of one publication or the other, and both are true: the append was over. Only the
            # two halves of the end need not fit, and the headers tell.
            trusted = (row.end_segment, row.end_position)
            high_watermark = max(high_watermark, row.high_watermark)
            recovery_point = max(recovery_point, row.recovery_point)
            # Torn in the first publication, the row has the 0 of a log that loads.
            log_start_offset = max(log_start_offset, row.log_start_offset)
        elif not is_ours or is_torn:
            self._publish_state(partition.slot, partition.key, RowState.LOADING, generation=0)
        config = LogConfig.from_values(topic_values(self._defaults.settings, topic.configs))
        directory = None
        try:
            directory = self._directory_of(name, topic, partition)
            if not directory.is_dir():
                log_start_offset = recovery_point = 0  # checkpoints of another by this name, from before ids
                high_watermark = high_watermark if is_ours else 0
            log = self._open_log(
                name,
                directory,
                config,
                is_clean=not is_ours and str(directory.parent) in self._seat.wiring.clean_directories,
                recovery_point=recovery_point,
                trusted=trusted,
                log_start_offset=log_start_offset,
                topic_id=topic.topic_id,
            )
        except Exception as failure:  # ours to mend where it is neither Headrace's nor the system's; the others open
            is_known = isinstance(failure, (HeadraceError, OSError))
            _log.error(
                "log not opened partition=%s directory=%s reason=%s", name, directory, failure, exc_info=not is_known
            )
            if directory is not None:
                self._note_unopened(directory.parent, failure)
            self._publish_state(partition.slot, partition.key, RowState.OFFLINE, self._seat.generation)
            return None
        self._seat.counters.add(LOGS_OPENED, 1)
        generation = self._seat.generation
        return Replica(name, log, partition.slot, partition.key, self._table, generation, high_watermark, self.fail)

    def _note_unopened(self, log_dir: Path, failure: Exception) -> None:
        """The directory is lost, or its logs are not all recovered."""
        if isinstance(failure, StorageFailed) and not isinstance(failure, StorageExhausted):
            self._directories.take_offline(log_dir, failure)
            self._follow_directories()
        else:
            self._has_unclean_failure = True

    def _open_log(
        self,
        name: TopicPartition,
        directory: Path,
        config: LogConfig,
        *,
        is_clean: bool,
        recovery_point: int,
        trusted: tuple[int, int] | None,
        log_start_offset: int,
        topic_id: str = "",
    ) -> PartitionLog:
        settings = self._settings
        return PartitionLog.open(
            directory,
            name,
            config,
            clock=self._clock,
            clean=is_clean,
            recovery_point=recovery_point,
            trusted=trusted,
            log_start_offset=log_start_offset,
            topic_id=topic_id,
            disk=self._disk,
            producer_budget=self._producer_budget,
            producer_expiration_ms=settings["producer.id.expiration.ms"],
            snapshot_interval_bytes=settings["headrace.producer.snapshot.interval.bytes"],
            progress=self._note_progress,
            open_segments=self._open_segments,
        )

    def _note_progress(self, bytes_read: int) -> None:
        self.beat()
        self._seat.counters.add(RECOVERED_BYTES, bytes_read)

    def _publish_state(self, slot: int, key: int, state: RowState, generation: int) -> None:
        self._table.publish(slot, PartitionRow(state, key, generation, -1, *(0,) * 15))

    def _directory_of(self, name: TopicPartition, topic: TopicView, partition: PartitionView) -> Path:
        """Where the partition's files are, or, for a new one, the log directory with the fewest partitions.

        raises   StorageFailed, where the files may lie in a directory that failed: an empty log in their place would
                 be worse; OSError
        """
        places: list[Path] = []
        for found in self._directories.find(name):
            # Of a topic of the same name that was deleted while this directory was away; or a move was cut short between
            # its two renames, and both places are whole.
            topic_id = read_partition_metadata(found / PARTITION_METADATA_FILE)
            if places or (topic_id and topic.topic_id and topic_id != topic.topic_id):
                target = found.with_name(f"{name}.{uuid.uuid4().hex}-stray")
                os.rename(found, target)
                _log.error("directory put aside partition=%s topic_id=%s renamed_to=%s", name, topic_id, target)
            else:
                places.append(found)
        if places:
            return places[0]
        is_new = partition.leader_epoch == 0 and self._known_keys is not None and partition.key not in self._known_keys
        emptiest = self._directories.emptiest()
        if emptiest is None or (self._directories.has_failed and not is_new):
            raise HeadraceError(f"{name}: not found, and a log directory is offline")
        return emptiest / str(name)

    def _delete(self, doomed: DoomedReplica) -> None:
        row = self._table.read(doomed.slot)
        if row is not None and row.state == RowState.DELETED and row.key == doomed.key:
            return
        self.beat()
        name = TopicPartition(doomed.topic, doomed.partition)
        for checkpoints in self._checkpoints:
            checkpoints.forget(name)  # a topic of the same name begins anew
        if doomed.slot in self.by_slot:
            self._forget(doomed.slot).log.abandon()
        self.offline.pop(doomed.slot, None)
        for found in self._directories.find(name):
            target = found.with_name(f"{name}.{uuid.uuid4().hex}-delete")
            try:
                os.rename(found, target)
            except OSError as failure:
                self._directories.take_offline(found.parent, failure)
                self._follow_directories()
            else:
                _log.info("replica deleted partition=%s renamed_to=%s", name, target.name)
        self._publish_state(doomed.slot, doomed.key, RowState.DELETED, self._seat.generation)

    def _checkpointed(self, file_name: str, name: TopicPartition, topic_id: str) -> int:
        """What a checkpoint says of a partition, in whichever directory: a move may have been cut short. 0 for nothing"""
        found = (checkpoints.offset(file_name, name, topic_id) for checkpoints in self._checkpoints)
        return max((offset for offset in found if offset is not None), default=0)

    def _read_checkpoints(self) -> list[TopicCheckpoints]:
        read = []
        for directory in self._directories.usable:
            try:
                read.append(TopicCheckpoints.read(directory))
            except OSError as failure:
                _log.warning("checkpoints ignored directory=%s reason=%s", directory, failure)
        return read


def _finish_log(replica: Replica) -> Exception | None:
    """In a thread of the stop; returns why the log could not be closed."""
    try:
        replica.log.finish()
    except (StorageFailed, OSError) as failure:
        return failure
    return None

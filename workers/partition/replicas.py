"""Which replicas this worker holds: the cluster view is what should be, this makes it so.

Runs in: a partition worker, whenever the view's version moved, and once at start. Every step can be run
again; a worker killed in the middle leaves a directory that the next one opens.

    in the view, owned by us, not open    -> queued; a few in each cycle: open the log (recover), take the role,
                                             publish the row
    in the view, open                     -> role, leader epoch, settings
    in view.doomed                        -> close, rename to *-delete, publish DELETED
    open, no longer in the view           -> released: close, keep the files where they are
    files of another topic in its place   -> rename to *-stray, which nobody removes but people

All but the opening is done when `follow` returns. A log that fails takes its directory offline, and every replica in it;
one that has no room keeps serving reads, and is opened again when there is some, as is one for which there was no room
(or no descriptor) to be opened at all.

Source: blueprint, control plane; Kafka `ReplicaManager.becomeLeaderOrFollower`, `LogManager.asyncDelete`,
`ReplicaManager.handleLogDirFailure`.
"""

from __future__ import annotations

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headrace.clock import Clock
from headrace.errors import HeadraceError, StorageExhausted, StorageFailed
from headrace.ids import OFFSETS_TOPIC, PartitionKey, TopicPartition, partition_key
from headrace.limits import CLOSE_THREADS, OPENING_SLICE_MS, REOPEN_INTERVAL_MS
from headrace.log.config import LogConfig
from headrace.log.disk import Disk, is_exhausted
from headrace.log.names import DELETED_DIRECTORY_SUFFIX, FUTURE_SUFFIX, aside_name
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    read_partition_metadata,
)
from headrace.log.writing.partition_log import PartitionLog
from headrace.settings import Settings, topic_values
from headrace.shm.cluster_view import Changes, ClusterView, DoomedReplica, PartitionView, TopicView
from headrace.shm.counters import LOGS_OPENED, LOGS_WANTED, RECOVERED_BYTES
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.shm.seat import Seat
from headrace.topic_defaults import TopicDefaults
from headrace.workers.partition.known_checkpoints import KnownCheckpoints
from headrace.workers.partition.log_directories import LogDirectories
from headrace.workers.partition.log_opener import LogOpener
from headrace.workers.partition.opening_queue import OpeningQueue
from headrace.workers.partition.owned_partitions import After, KnownPartitions, OwnedPartitions
from headrace.workers.partition.replica import Replica
from headrace.workers.watched_disk import WatchedDisk

OPENING_SLICE_NS = OPENING_SLICE_MS * 1_000_000

_log = logging.getLogger(__name__)


class Replicas:
    """The replicas of one partition worker, by slot.

    offline   key by slot of the replicas whose log is not open: their directory failed, or they could not be opened
    """

    def __init__(self, seat: Seat, index: int, clock: Clock, disk: Disk | None = None) -> None:
        self.by_slot: dict[int, Replica] = {}
        self.offline: dict[int, int] = {}
        self._seat = seat
        self._clock = clock
        self._disk = disk or WatchedDisk(seat, clock)
        self._settings: Settings = seat.wiring.settings
        self._defaults = TopicDefaults(self._settings)
        self._node_id: int = self._settings["broker.id"]
        self._table: PartitionTable = seat.partitions
        self._directories = LogDirectories(seat, self._disk)
        self._open_log = LogOpener(seat, clock, self._disk).open
        self._configs: dict[int, dict[str, str]] = {}  # slot -> overrides last applied
        self._timed: set[int] = set()  # slots with flush.ms
        self._owned = OwnedPartitions(index, seat.wiring.partition_count)
        self._wanted: After = {}  # ours, as of the last view
        self._unopened = OpeningQueue()
        self._new_slots: set[int] = set()  # not open yet, and of partitions that no earlier view had
        self._retired: list[Replica] = []  # not held any more, and nobody was told yet
        self._begun_in: set[Path] = set()  # log directories with new logs since they were synced
        self._opening_ns, self._reported = 0, (0, 0)  # (logs, bytes) as of the last line of the log
        self._exhausted: dict[int, Replica] = {}  # replicas whose log ran out of room
        self._changed: list[Replica] = []  # went out of service, or came back, since the last look
        self._next_reopen_ms = 0
        self._is_first_view = True
        self._known = KnownPartitions(self._table.rows)
        self._has_unclean_failure = False
        for counter in (LOGS_OPENED, RECOVERED_BYTES):  # those of a predecessor
            seat.counters.add(counter, -seat.counters.get(counter))
        self._checkpoints = KnownCheckpoints(self._directories.usable)

    @property
    def has_unopened(self) -> bool:
        """Whether a log waits for `open_some`."""
        return bool(self._unopened)

    def follow(self, view: ClusterView, changes: Changes | None = None) -> list[Replica]:
        """Make the replicas as the view has them: of what the last view had too, nothing is looked at.

        What goes, goes before this returns, and so do changes of open replicas. What is to be opened is queued: a first
        few are opened here, the rest with `open_some`.

        changes   what is another than in the last view; None: whatever topics are other objects
        returns   the replicas whose role or epoch changed, and those that are no more
        """
        has_new_defaults = self._defaults.follow(view.cluster_settings, view.node_settings)
        stale, wanted = self._owned.follow(view.topics, changes)
        is_first, self._is_first_view = self._is_first_view, False
        for slot, partition in stale.items():
            if slot in wanted and wanted[slot][1].key == partition.key:
                continue
            self._wanted.pop(slot)
            self._give_up(slot)
            self._new_slots.discard(slot)
            self._known.note_left(partition.key)
        for doomed in view.doomed:
            self._known.forget(doomed.key)
            if self._owned.has(doomed.topic, doomed.partition):
                self._delete(doomed)
        for slot in stale.keys() - wanted.keys():
            if slot in self.by_slot:
                self._release(slot)
        changed: list[Replica] = []
        for slot, (topic, partition) in wanted.items():
            self._wanted[slot] = (topic, partition)
            replica = self._hold(topic, partition, is_first)
            self._known.add(partition.key)
            if replica is not None:
                self._take_role(replica, partition, changed)
        if has_new_defaults:
            for slot, replica in self.by_slot.items():
                self._configure(replica, self._wanted[slot][0])
        counters = self._seat.counters
        counters.add(LOGS_WANTED, len(self._wanted) - counters.get(LOGS_WANTED))
        changed += self.open_some()
        retired, self._retired = self._retired, []
        for replica in retired:
            replica.retire()
        return changed + retired

    def ask_for(self, slot: int, key: PartitionKey) -> None:
        """Somebody wants a partition whose log is not open: it is opened before the others."""
        wanted = self._wanted.get(slot)
        if wanted is not None and wanted[1].key == key:
            self._unopened.ask(slot)

    def open_some(self) -> list[Replica]:
        """Open logs that wait for it: as many as OPENING_SLICE_MS takes, and one at least.

        returns   the replicas that are in service now
        """
        if not self._unopened:
            return []
        begun_ns = self._clock.monotonic_ns()
        opened: list[tuple[Replica, PartitionView]] = []
        while (slot := self._unopened.take()) is not None:
            topic, partition = self._wanted[slot]
            replica = self._open(topic, partition)
            self._new_slots.discard(slot)
            if replica is None:
                self.offline[slot] = partition.key
            else:
                self.offline.pop(slot, None)
                self.by_slot[slot] = replica
                self._configure(replica, topic)
                opened.append((replica, partition))
            if self._clock.monotonic_ns() - begun_ns >= OPENING_SLICE_NS:
                break
        changed: list[Replica] = []
        for replica, partition in opened:
            self._follow_directory(replica)
            self._take_role(replica, partition, changed)
        self._opening_ns += self._clock.monotonic_ns() - begun_ns
        if not self._unopened:
            self._sync_begun()
            self._report_opened()
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
        if (self._exhausted or self._unopened.postponed) and monotonic_ms >= self._next_reopen_ms:
            self._next_reopen_ms = monotonic_ms + REOPEN_INTERVAL_MS
            self._unopened.try_again()
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
        return self._directories.find_copies(FUTURE_SUFFIX, self._owned.has)

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
            LogCheckpoint(recovery_point=recovery_point, log_start_offset=log.log_start_offset),
            topic_id,
        )

    def replace_directory(self, replica: Replica, directory: Path) -> None:
        """A copy that was closed takes the place of a replica's log. raises HeadraceError, OSError"""
        old = replica.log
        name = str(replica.partition)
        place = directory.with_name(name)
        os.rename(directory, place)
        self._disk.sync_directory(place.parent)
        old.abandon()
        os.rename(old.directory, old.directory.with_name(aside_name(str(replica.partition), DELETED_DIRECTORY_SUFFIX)))
        replica.log = self._open_log(
            replica.partition,
            place,
            old.config,
            LogCheckpoint(is_clean=True, recovery_point=old.log_end_offset, log_start_offset=old.log_start_offset),
        )
        self._exhausted.pop(replica.slot, None)
        self._follow_directories()
        replica.publish()

    def close(self) -> bool:
        """Flush and close every log, so that nothing needs recovery; what failed is left to the next start.

        returns   False where a log in a directory that still works was not closed. One that still waits to be opened was
                  not recovered either, but shows in its row: the housekeeper judges its directory by that
        """
        if self._unopened or self._unopened.postponed:
            count = len(self._unopened) + len(self._unopened.postponed)
            _log.warning("stopped before all logs were opened count=%d", count)
        clean = not self._has_unclean_failure
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
        for replica in self.by_slot.values():
            self._follow_directory(replica)

    def _follow_directory(self, replica: Replica) -> None:
        if replica.state is RowState.OFFLINE:
            return
        directory = replica.log.directory.parent
        replica.is_full = directory in self._directories.full or replica.slot in self._exhausted
        if directory not in self._directories.usable:
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
                LogCheckpoint(
                    recovery_point=old.recovery_point,
                    trusted=(old.end_segment, old.end_position),
                    log_start_offset=old.log_start_offset,
                ),
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
                self._wanted[replica.slot][1], self._node_id
            ):  # there was no room for the epoch, maybe
                replica.advance_high_watermark(self._node_id)
                replica.publish()
        except StorageFailed as failure:
            self.fail(replica, failure)
            return
        _log.warning("log has room again partition=%s", replica.partition)
        self._changed.append(replica)

    def _hold(self, topic: TopicView, partition: PartitionView, is_first_view: bool) -> Replica | None:
        """The open replica of a wanted partition; None where there is none, and the log is queued if it may be opened."""
        slot = partition.slot
        replica = self.by_slot.get(slot)
        if replica is not None and replica.key != partition.key:
            self._release(slot)
            replica = None
        if replica is None:
            if self.offline.get(slot) != partition.key:
                self._unopened.add(slot, is_coordinator=topic.name == OFFSETS_TOPIC)
                if not is_first_view and partition.key not in self._known:
                    self._new_slots.add(slot)
        elif self._configs.get(slot) != topic.configs:
            self._configure(replica, topic)
        return replica

    def _take_role(self, replica: Replica, partition: PartitionView, changed: list[Replica]) -> None:
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

    def _sync_begun(self) -> None:
        """The names of new logs, all at once; a log that is flushed before has synced its own."""
        begun_in, self._begun_in = self._begun_in, set()
        for log_dir in begun_in:
            try:
                self._disk.sync_directory(log_dir)
            except OSError as failure:
                self.lose_directory(log_dir, StorageFailed(str(failure)))

    def _report_opened(self) -> None:
        counters = self._seat.counters
        opened, recovered = counters.get(LOGS_OPENED), counters.get(RECOVERED_BYTES)
        before, self._reported = self._reported, (opened, recovered)
        duration_ns, self._opening_ns = self._opening_ns, 0
        if opened > before[0]:
            _log.info(
                "logs opened count=%d recovered_bytes=%d duration_ms=%d",
                opened - before[0],
                recovered - before[1],
                duration_ns // 1_000_000,
            )

    def _give_up(self, slot: int) -> None:
        """A log that is not open is not wanted any more: its row says again what the owner before us left there."""
        row, _is_torn = self._unopened.postponed.get(slot, (None, False))
        self._unopened.discard(slot)
        if row is not None and row.key == self.offline.get(slot):
            self._table.publish(slot, row)
        self.offline.pop(slot, None)

    def _release(self, slot: int) -> None:
        """The view has the replica no more, and says nothing of a deletion: its files stay, and where it stood is remembered."""
        replica = self._forget(slot)
        self.beat()
        self._close_log(replica)
        if replica.state is not RowState.OFFLINE:
            self._remember(replica)
        _log.info("replica released, its files stay path=%s", replica.log.directory)

    def _remember(self, replica: Replica) -> None:
        log = replica.log
        stood = {
            RECOVERY_POINT_FILE: log.recovery_point,
            REPLICATION_OFFSET_FILE: replica.high_watermark,
            LOG_START_OFFSET_FILE: log.log_start_offset,
        }
        try:
            topic_id = read_partition_metadata(log.directory / PARTITION_METADATA_FILE)
        except OSError as failure:
            self._directories.take_offline(log.directory.parent, StorageFailed(str(failure)))
            return
        self._checkpoints.remember(replica.partition, topic_id, stood)

    def _forget(self, slot: int) -> Replica:
        self._timed.discard(slot)
        self._exhausted.pop(slot, None)
        self._configs.pop(slot, None)
        replica = self.by_slot.pop(slot)
        self._retired.append(replica)
        return replica

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
        slot = partition.slot
        # Where there was no room for it, the row of the owner before us is no more.
        row, is_torn = self._unopened.postponed.get(slot) or self._table.recover_row(slot)
        trusted = None
        high_watermark = self._checkpoints.offset(REPLICATION_OFFSET_FILE, name, topic.topic_id)
        recovery_point = self._checkpoints.offset(RECOVERY_POINT_FILE, name, topic.topic_id)
        log_start_offset = self._checkpoints.offset(LOG_START_OFFSET_FILE, name, topic.topic_id)
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
            is_new = partition.leader_epoch == 0 and slot in self._new_slots
            directory = self._directories.place_of(name, topic.topic_id, is_new)
            if not directory.is_dir():
                self._begun_in.add(directory.parent)
                log_start_offset = recovery_point = 0  # checkpoints of another by this name, from before ids
                high_watermark = high_watermark if is_ours else 0
            log = self._open_log(
                name,
                directory,
                config,
                LogCheckpoint(
                    is_clean=not is_ours and str(directory.parent) in self._seat.wiring.clean_directories,
                    recovery_point=recovery_point,
                    trusted=trusted,
                    log_start_offset=log_start_offset,
                ),
                topic.topic_id,
            )
        except Exception as failure:  # ours to mend where it is neither Headrace's nor the system's; the others open
            if is_exhausted(failure):
                if self._unopened.postpone(slot, row, is_torn):
                    _log.error("log not opened, again later partition=%s reason=%s", name, failure)
            else:
                is_known = isinstance(failure, (HeadraceError, OSError))
                _log.error(
                    "log not opened partition=%s directory=%s reason=%s",
                    name,
                    directory,
                    failure,
                    exc_info=not is_known,
                )
                self._note_unopened(directory, failure)
            self._publish_state(slot, partition.key, RowState.OFFLINE, self._seat.generation)
            return None
        if self._unopened.postponed.pop(slot, None) is not None:
            _log.warning("log has room again partition=%s", name)
        self._seat.counters.add(LOGS_OPENED, 1)
        generation = self._seat.generation
        return Replica(name, log, partition.slot, partition.key, self._table, generation, high_watermark, self.fail)

    def _note_unopened(self, directory: Path | None, failure: Exception) -> None:
        """The directory is lost, or its logs are not all recovered."""
        if directory is not None and isinstance(failure, StorageFailed):
            self._directories.take_offline(directory.parent, failure)
            self._follow_directories()
        elif directory is not None or isinstance(failure, OSError):
            self._has_unclean_failure = True

    def _publish_state(self, slot: int, key: PartitionKey, state: RowState, generation: int) -> None:
        self._table.publish(slot, PartitionRow(state, key, generation, -1, *(0,) * 15))

    def _delete(self, doomed: DoomedReplica) -> None:
        row = self._table.read(doomed.slot)
        if row is not None and row.state == RowState.DELETED and row.key == doomed.key:
            return
        self.beat()
        name = TopicPartition(doomed.topic, doomed.partition)
        self._checkpoints.forget(name)
        if doomed.slot in self.by_slot:
            self._forget(doomed.slot).log.abandon()
        self.offline.pop(doomed.slot, None)
        for found in self._directories.find(name):
            target = found.with_name(aside_name(found.name, DELETED_DIRECTORY_SUFFIX))
            try:
                topic_id = read_partition_metadata(found / PARTITION_METADATA_FILE)
                if topic_id and doomed.key not in (partition_key(*name, topic_id), partition_key(*name, "")):
                    _log.error("directory kept, it is not the deleted topic's path=%s topic_id=%s", found, topic_id)
                    continue
                os.rename(found, target)
            except OSError as failure:
                self._directories.take_offline(found.parent, failure)
                self._follow_directories()
            else:
                _log.info("replica deleted partition=%s renamed_to=%s", name, target.name)
        self._publish_state(doomed.slot, doomed.key, RowState.DELETED, self._seat.generation)


def _finish_log(replica: Replica) -> Exception | None:
    """In a thread of the stop; returns why the log could not be closed."""
    try:
        replica.log.finish()
    except (StorageFailed, OSError) as failure:
        return failure
    return None

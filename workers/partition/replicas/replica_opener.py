"""Opens the log of a partition that the view wants here, and makes its replica.

Runs in: a partition worker. What is known of the log before it is opened, and whom to believe:

    the row of the owner before us     it was killed: what it published is whole in the page cache
    checkpoints                        the node was stopped, or the machine; by partition and topic id (decision 006)
    the marker of a clean stop         it speaks of logs that nobody has opened since: it is believed once for each, by the first owner
                                       of the boot alone. A successor does not know what its predecessor opened: a row may be another's
    nothing                            a new partition, in the log directory with the fewest; a replica that is in sync, and no new one,
                                       has lost its log: none is made before the controller knows that (`opened_logs.py`)

The row says LOADING meanwhile, unless a predecessor's still serves readers; OFFLINE where the log could not be opened. One
for which there was no room (or no descriptor) is postponed. Where the log is found to be short, the row says LOADING again until that was
reported: what it said is not so.

A log without other replicas that has lost its end counts as short, whatever its mark says: a mark is some seconds old.

Source: Kafka `LogManager.getOrCreateLog`, `ReplicaManager.becomeLeaderOrFollower`.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Final

from headrace.clock import Clock
from headrace.errors import HeadraceError, StorageExhausted, StorageFailed, is_exhausted
from headrace.ids import PartitionKey, TopicPartition
from headrace.log.config import LogConfig
from headrace.log.disk import Disk, storage_failure
from headrace.log.names import segment_bases
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.recovery.log_reach import LogReach, log_reach
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    OFFSET_MAX,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
)
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.cluster_view import PartitionView, TopicView
from headrace.shm.counters import LOGS_OPENED, RECOVERED_BYTES
from headrace.shm.partition_table import PartitionRow, RowState, has_published
from headrace.shm.seat import Seat
from headrace.workers.partition.replicas.known_checkpoints import KnownCheckpoints
from headrace.workers.partition.replicas.log_directories import LogDirectories, Unfound
from headrace.workers.partition.replicas.log_opener import LogOpener
from headrace.workers.partition.replicas.opened_logs import MissingLog, OpenedLog
from headrace.workers.partition.replicas.opening_queue import OpeningQueue
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from headrace.workers.partition.replicas.storage_failures import StorageFailures
from headrace.workers.partition.replication.live_brokers import LiveBrokers

_log: Final = logging.getLogger(__name__)


class ReplicaOpener:
    """One worker's. The queue is its owner's: here logs are only postponed in it.

    opened   logs that are to be reported to the controller, missing ones too; its owner takes them
    unfound   keys by slot of those that were refused since a directory failed that may have them
    published  by slot, up to where a log was published that ends before that now: its key, and the offset
    """

    def __init__(
        self,
        seat: Seat,
        clock: Clock,
        disk: Disk,
        directories: LogDirectories,
        checkpoints: KnownCheckpoints,
        logs: LogOpener,
        queue: OpeningQueue,
        failures: StorageFailures,
        moved: ReplicaEvents,
        live: LiveBrokers,
    ) -> None:
        self.unfound: dict[int, PartitionKey] = {}
        self.published: dict[int, tuple[PartitionKey, int]] = {}
        self._seat = seat
        self._clock = clock
        self._disk = disk
        self._directories = directories
        self._checkpoints = checkpoints
        self._logs = logs
        self._queue = queue
        self._failures = failures
        self._moved = moved
        self._live = live
        self._node_id: int = seat.wiring.settings["broker.id"]
        self._opened_names: set[TopicPartition] = set()  # in this process's life
        self._created_in: set[Path] = set()  # log directories with new logs since they were synced
        self.opened: list[OpenedLog | MissingLog] = []
        self._missing: dict[int, PartitionKey] = {}  # by slot: reported, none may be made yet
        self._may_be_made: dict[int, PartitionKey] = {}  # by slot: the controller has answered
        self._reported = (0, 0)  # (logs, bytes) as of the last line of the log
        for counter in (LOGS_OPENED, RECOVERED_BYTES):  # those of a predecessor
            seat.counters.add(counter, -seat.counters.get(counter))

    def open(
        self, topic: TopicView, partition: PartitionView, config: LogConfig, is_new: bool, is_told_new: bool = False
    ) -> Replica | None:
        """The replica, without a role; None where its log could not be opened, and the row says so.

        is_new        no earlier view had the partition: its files are nowhere. So it is where its topic was just made, and where a
                      reassignment adds a replica, which is in no ISR yet: neither waits for a directory that failed. Beside one that
                      failed the controller is asked all the same, of a replica in its ISR: an earlier process may have known it
        is_told_new   the controller says that it is made now (KAFKA-10314): said again of one that is in sync by now, it counts as little
        """
        self._seat.beat(self._clock.monotonic_ns())  # there may be thousands to open, and nothing to recover in them
        name = TopicPartition(topic.name, partition.index)
        slot = partition.slot
        # Where there was no room for it, the row of the owner before us is no more.
        row, is_torn = self._queue.postponed.get(slot) or self._seat.partitions.recover_row(slot)
        is_ours = row.key == partition.key and row.generation > 0
        published = (row, is_torn) if is_ours else None
        if not is_ours or (is_torn and not has_published(row)):
            self._publish_state(slot, partition.key, RowState.LOADING, generation=0)
        directory = None
        begun_ns = self._clock.monotonic_ns()
        try:
            may_be_first = partition.leader_epoch == 0 or self._node_id not in partition.isr
            is_first = is_new and may_be_first
            is_made_now = is_first or (is_told_new and may_be_first) or self._may_be_made.get(slot) == partition.key
            is_sole = len(partition.replicas) == 1
            reach = partial(self._reach, name, topic.topic_id, config.is_compacted, is_sole)
            self._checkpoints.name_closed(name)
            directory = self._directories.place_of(name, topic.topic_id, is_made_now, reach)
            if (not is_first or self._directories.has_failed) and self._is_missing(topic, partition, directory):
                return None
            log, high_watermark, known_mark, was_closed, has_mark = self._open_log(
                name, topic.topic_id, directory, config, published, is_sole
            )
        except Exception as failure:  # ours to mend where it is neither Headrace's nor the system's; the others open
            if is_exhausted(failure):
                wanted_bytes = failure.wanted_bytes if isinstance(failure, StorageExhausted) else 0
                wanted = (directory.parent, wanted_bytes) if directory is not None and wanted_bytes else None
                now_ns = self._clock.monotonic_ns()
                self._failures.note_try(slot, now_ns // 1_000_000, (now_ns - begun_ns) // 1_000_000)
                if self._queue.postpone(slot, row, is_torn, wanted):
                    _log.error("log not opened, retried later partition=%s reason=%s", name, failure)
            else:
                self._note_unopened(name, directory, failure)
            if isinstance(failure, Unfound):
                self.unfound[slot] = partition.key
            self._publish_state(slot, partition.key, RowState.OFFLINE, self._seat.generation)
            return None
        if self._queue.settle(slot):
            _log.warning("log writable again partition=%s", name)
        self._seat.counters.add(LOGS_OPENED, 1)
        self._failures.unclean.discard(name)
        lost_end = self._lost_end(partition, log, published)
        known_mark = max(known_mark, lost_end)
        if is_sole and log.has_lost_end:
            known_mark = max(known_mark, log.log_end_offset + 1)  # offsets are given again: in another leader epoch
        # A mark of a checkpoint is seconds old: what was told since then lies within the log (KIP-207).
        told_end = row.told_end if is_ours and has_published(row) else log.log_end_offset
        replica = Replica(
            name, log, slot, partition.key, self._seat.partitions, self._seat.generation, self._node_id,
            high_watermark, self._moved, self._failures.take, self._live, told_end,
        )  # fmt: skip
        is_whole = str(log.directory.parent) not in self._seat.wiring.suspect_directories
        opened = OpenedLog(
            replica, log.log_end_offset, known_mark, was_closed, log.was_cut, is_whole, has_mark, log.was_synced
        )
        self.opened.append(opened)
        replica.is_doubted = opened.is_short
        if opened.is_short and is_ours and has_published(row):
            replica.withdraw(row, lost_end)
        elif opened.is_short:
            self._publish_state(slot, partition.key, RowState.LOADING, generation=0)
        replica.is_nameless = not log.is_named
        return replica

    def _lost_end(
        self, partition: PartitionView, log: PartitionLog, published: tuple[PartitionRow, bool] | None
    ) -> int:
        """Up to where an owner of this boot had published what is damaged now, above its mark too: followers have taken it from
        here, or a leader counts on it. 0, where nothing of that is lost."""
        key, offset = self.published.pop(partition.slot, (None, 0))
        offset = offset if key == partition.key else 0
        if published is not None and has_published(published[0]) and not published[1] and log.was_cut:
            offset = max(offset, published[0].log_end_offset)
        return offset if log.log_end_offset < offset else 0

    def make_missing(self, missing: MissingLog) -> bool:
        """The controller knows that a log is missing: an empty one may be made. False where that is no longer wanted."""
        if self._missing.get(missing.slot) != missing.key:
            return False
        del self._missing[missing.slot]
        self._may_be_made[missing.slot] = missing.key
        return True

    @property
    def has_awaited(self) -> bool:
        """Whether the controller has not answered for a log that is missing."""
        return bool(self._missing)

    def is_awaited(self, slot: int, key: PartitionKey) -> bool:
        """Whether a log is missing, and the controller has not answered yet."""
        return self._missing.get(slot) == key

    def _is_missing(self, topic: TopicView, partition: PartitionView, directory: Path) -> bool:
        """Whether a replica that is in sync has no log, which is reported. Once it may be made, it is missing no longer."""
        slot, key = partition.slot, partition.key
        if self._node_id not in partition.isr or (directory.is_dir() and segment_bases(directory)):
            return False
        if self._may_be_made.pop(slot, None) == key:
            return False
        if self._missing.get(slot) != key:
            self._missing[slot] = key
            was_another = TopicPartition(topic.name, partition.index) in self._directories.replaced
            self.opened.append(MissingLog(slot, key, was_another))
            _log.warning(
                "no log found for an in-sync replica, asking the controller process before creating one partition=%s-%d",
                topic.name,
                partition.index,
            )
        return True

    def find_again(self, slot: int, key: PartitionKey) -> None:
        """One that was refused may be opened now: nobody takes it for out of service any more."""
        self.unfound.pop(slot, None)
        self._publish_state(slot, key, RowState.LOADING, generation=0)

    def finish(self, duration_ns: int) -> None:
        """Everything that was wanted is open, or was tried: sync the names of new logs, say how many logs it were.

        duration_ns   that the opening took
        """
        self.sync_names()
        counters = self._seat.counters
        opened, recovered = counters.get(LOGS_OPENED), counters.get(RECOVERED_BYTES)
        before, self._reported = self._reported, (opened, recovered)
        if opened > before[0]:
            _log.info(
                "logs opened count=%d recovered_bytes=%d duration_ms=%d",
                opened - before[0],
                recovered - before[1],
                duration_ns // 1_000_000,
            )

    @property
    def has_owed(self) -> bool:
        """Whether names of new logs are not synced."""
        return bool(self._created_in)

    def sync_names(self) -> None:
        """Of new logs; what is refused by what passes is owed: call it again."""
        created_in, self._created_in = self._created_in, set()  # a log that was flushed before has synced its own
        for log_dir in created_in:
            try:
                self._disk.sync_directory(log_dir)
            except OSError as failure:
                if not self._failures.lose_directory(log_dir, storage_failure(str(log_dir), failure, is_sync=True)):
                    self._created_in.add(log_dir)

    def _open_log(
        self,
        name: TopicPartition,
        topic_id: str,
        directory: Path,
        config: LogConfig,
        published: tuple[PartitionRow, bool] | None,
        is_sole: bool,
    ) -> tuple[PartitionLog, int, int, bool, bool]:
        """The log, its high watermark, the one that its last owner left, whether the last stop closed it, whether it left a mark.

        raises HeadraceError, OSError

        published   the row of an owner before us in this boot, and whether it is torn
        is_sole     the partition has no other replica
        """
        row, is_torn = published or (None, False)
        trusted = None
        is_clean = row is None and self._is_as_closed(name, directory.parent)
        is_clean = is_clean and name not in self._failures.unclean  # it was open since, and not closed
        log_dir = directory.parent
        high_watermark = self._checkpoints.offset(REPLICATION_OFFSET_FILE, name, topic_id, log_dir)
        known_mark = high_watermark
        has_mark = (row is not None and has_published(row)) or self._checkpoints.knows(
            REPLICATION_OFFSET_FILE, name, topic_id
        )
        recovery_point = self._checkpoints.offset(RECOVERY_POINT_FILE, name, topic_id, log_dir)
        log_start_offset = self._checkpoints.offset(LOG_START_OFFSET_FILE, name, topic_id, log_dir)
        if row is not None and has_published(row):
            # The owner before us was killed; what it published is whole in the page cache. Where it was killed while it
            # published, each offset is of one publication or the other, and both are true: the append was over. Only the
            # two halves of the end need not fit, and the headers show.
            trusted = (row.end_segment, row.end_position)
            recovery_point = max(recovery_point, row.recovery_point)  # the truncation file bounds it
            # A truncation takes both of these back, and the checkpoints are of before. Torn in the first publication, the row
            # has the 0 of a log that loads.
            known_mark = row.high_watermark
            if row.high_watermark or not is_torn:
                high_watermark = row.high_watermark
            if row.log_start_offset or not is_torn:
                log_start_offset = row.log_start_offset
        is_new = not directory.is_dir()
        if is_new:
            self._created_in.add(directory.parent)
            log_start_offset = 0  # checkpoints of another by this name, from before ids
            recovery_point = self._checkpoints.doubted_until(
                name, topic_id
            )  # nothing of that is in the log: its mark says so
            high_watermark = known_mark = high_watermark if row is not None else 0
        log = self._logs.open(
            name,
            directory,
            config,
            LogCheckpoint(
                is_clean=is_clean,
                recovery_point=recovery_point,
                trusted=trusted,
                log_start_offset=log_start_offset,
                is_sole=is_sole,
            ),
            topic_id,
        )
        self._opened_names.add(name)
        try:
            log.sync_owed()
        except StorageFailed:
            log.abandon()
            raise
        if not (has_mark or is_new or log.was_synced) and str(log_dir) in self._seat.wiring.suspect_directories:
            log.note_loss()  # the next owner has a mark to compare with: ours
        if trusted is None and not is_clean:
            high_watermark = log.bound_high_watermark(high_watermark)
        return log, high_watermark, known_mark, is_clean, has_mark

    def _is_as_closed(self, name: TopicPartition, log_dir: Path) -> bool:
        """Whether a partition's log in a log directory is as the last clean stop left it."""
        seat = self._seat
        if seat.generation > 1 or name in self._opened_names:
            return False
        return str(log_dir) in seat.wiring.clean_directories

    def _reach(
        self, name: TopicPartition, topic_id: str, is_compacted: bool, is_sole: bool, directory: Path
    ) -> LogReach:
        """How far the log in one of two places reaches. raises OSError"""
        is_clean = self._is_as_closed(name, directory.parent)
        synced = self._checkpoints.offset(RECOVERY_POINT_FILE, name, topic_id, directory.parent)
        synced = OFFSET_MAX if is_clean else synced
        return log_reach(directory, synced, self._logs.note_progress, is_compacted=is_compacted, is_sole=is_sole)

    def _note_unopened(self, name: TopicPartition, directory: Path | None, failure: Exception) -> None:
        """The directory is lost, or its logs are not all recovered."""
        is_known = isinstance(failure, (HeadraceError, OSError))
        _log.error(
            "log not opened partition=%s directory=%s reason=%s", name, directory, failure, exc_info=not is_known
        )
        if directory is not None and isinstance(failure, StorageFailed):
            self._failures.lose_directory(directory.parent, failure)
        elif directory is not None or isinstance(failure, OSError):
            self._failures.unclean.add(name)

    def _publish_state(self, slot: int, key: PartitionKey, state: RowState, generation: int) -> None:
        self._seat.partitions.publish(slot, PartitionRow(state, key, generation, -1, *(0,) * 15))

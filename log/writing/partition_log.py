"""A partition's log: segments, indexes, epochs, producer state; one writer.

    LeaderAppend, FollowerAppend      batches come in
        LogTail                       written, rolled, what is due after it
            SegmentList   SyncState   the segments; what of them is synced
    Truncation                        the end comes off
    FailureLatch                      what the disk refused, for all of them

This owner opens the log, hands calls on, and reads in it for its own needs.

Runs in: the partition worker that owns the partition. A crash at any point leaves a prefix of whole batches (recovery cuts
the rest), indexes that recovery trims or rebuilds, and checkpoint files that are old or new.

Source: Kafka `UnifiedLog`, `LocalLog`.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from headrace.errors import HeadraceError, LogDamaged, LogShort, StorageFailed, is_exhausted
from headrace.ids import TopicPartition
from headrace.leader_eras import era_of
from headrace.log.config import LogConfig
from headrace.log.disk import storage_failure
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_facts import newest_timestamp
from headrace.log.recovery.log_loader import LoadedLog, LogCheckpoint, LogLoader
from headrace.log.state.checkpoints import PARTITION_METADATA_FILE, write_partition_metadata
from headrace.log.state.compacted_offset import begin_compacted
from headrace.log.state.known_era import KnownEra
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.loss_mark import LossMark
from headrace.log.state.producer_state import ProducerState
from headrace.log.state.synced_mark import SyncedMark
from headrace.log.state.truncation_mark import TruncationMark
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.follower_append import FollowerAppend
from headrace.log.writing.leader_append import LeaderAppend, Result
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.log_tail import LogTail
from headrace.log.writing.segment_list import SegmentList
from headrace.log.writing.sync_state import SyncState
from headrace.log.writing.truncation import Truncation
from headrace.protocol.record_batch import MAGIC_V2, RecordBatchHeader


class PartitionLog:
    """One partition's log, open for appending.

    config             may be replaced at any time
    log_start_offset   the first offset that may be read
    segments           its list; version, end and sizes may be read there, nothing may be changed
    was_cut            batches at its end were damaged when it was opened, or before, and that was not reported
    has_lost_end       what may have been acknowledged was lost at its end when it was opened, or before, and that was not reported
    is_named           its directory was made for this topic, or had its id; else it may be of an earlier topic of the name
    was_synced         each append to it was synced before its answer, when it was opened. A torn end counts as no cut then: nobody had
                       acknowledged it. A cut that counts (`was_cut`) says that something synced is lost
    """

    def __init__(
        self,
        directory: Path,
        partition: TopicPartition,
        config: LogConfig,
        checkpoint: LogCheckpoint,
        environment: LogEnvironment,
        *,
        is_begun: bool,
    ) -> None:
        """Load what is on disk; raises OSError. See `open`."""
        disk, clock = environment.disk, environment.clock
        self.directory = directory
        self.partition = partition
        self.config = config
        self.epochs = LeaderEpochs(directory, disk)
        self._era = KnownEra(directory, disk, environment.owing_eras)
        self.producers = ProducerState(directory, disk, environment.producer_expiration_ms, environment.budget())
        self._clock = clock
        self._disk = disk
        self._mark = TruncationMark(directory, disk)
        self._synced = SyncedMark(directory, disk)
        if self._synced.is_set and self._mark.doubts_all:  # removed first: opening narrows what is doubted
            self._synced.remove()
        self.was_synced = self._synced.is_set
        self._loss = LossMark(directory, disk)
        was_noted = self._loss.is_set
        self.is_named = False
        self._latch = latch = FailureLatch(directory)
        self._progress = environment.progress
        loaded = self._load(checkpoint)
        self.log_start_offset = loaded.start_offset
        self.was_cut = loaded.was_cut or self._loss.is_set
        self.has_lost_end = loaded.has_lost_end or was_noted
        self._is_short = False  # as the last truncation has found
        self.segments = segments = SegmentList(directory, loaded, clock, disk, latch)
        self._sync = SyncState(
            directory, segments, self._mark, self.epochs, disk, clock, latch, loaded.recovery_point, is_begun=is_begun
        )
        self._tail = tail = LogTail(
            segments,
            self._sync,
            self.epochs,
            self.producers,
            latch,
            environment.snapshot_interval_bytes,
            loaded.bytes_replayed,
        )
        self._leader = LeaderAppend(segments, tail, self.epochs, self.producers, latch)
        self._follower = FollowerAppend(segments, tail, self.epochs, self.producers, latch)
        self._truncation = Truncation(directory, segments, self._mark, disk)
        self._reader = LogReader(directory, shared=environment.open_segments)

    @classmethod
    def open(
        cls,
        directory: Path,
        partition: TopicPartition,
        config: LogConfig,
        checkpoint: LogCheckpoint,
        environment: LogEnvironment,
        topic_id: str = "",
    ) -> PartitionLog:
        """Open a log, or begin one, and make what is on disk true.

        topic_id   written down where the directory has none; empty: not known
        raises     StorageFailed, where the files can't be read or mended
        """
        disk = environment.disk
        try:
            is_new = not directory.is_dir()
            if is_new:
                disk.make_directory(directory)
                if config.is_compacted:
                    begin_compacted(directory, disk)
            # Nothing of it was synced that is known of: a predecessor that was killed may not have synced its name.
            is_begun = is_new or not (checkpoint.is_clean or checkpoint.recovery_point)
            log = cls(directory, partition, config, checkpoint, environment, is_begun=is_begun)
            metadata = directory / PARTITION_METADATA_FILE
            has_id = not is_new and metadata.exists() and metadata.stat().st_size > 0
            log.is_named = is_new or (has_id and bool(topic_id))
            if topic_id and not has_id:
                write_partition_metadata(metadata, topic_id, disk, is_durable=not is_new)
                if not is_new:
                    log.segments.has_new_names = False  # that synced all names in it
            if (
                is_new and config.flush_before_ack and directory.name == str(partition)
            ):  # a copy is not synced as it grows
                log._synced.make(is_durable=False)
        except OSError as failure:
            raise storage_failure(str(directory), failure) from None
        return log

    # Where it stands

    @property
    def log_end_offset(self) -> int:
        """The offset the next record gets."""
        return self.segments.end_offset

    @property
    def end_segment(self) -> int:
        """Base offset of the active segment."""
        return self.segments.active.base_offset

    @property
    def end_position(self) -> int:
        """Byte in the active segment where the log ends."""
        return self.segments.active.size_bytes

    @property
    def segment_bases(self) -> list[int]:
        """Base offsets of the segments, the active one last."""
        return self.segments.bases

    @property
    def segments_version(self) -> int:
        """`SegmentList.version`."""
        return self.segments.version

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    @property
    def recovery_point(self) -> int:
        """Everything below it has been synced."""
        return self._sync.recovery_point

    def bound_high_watermark(self, high_watermark: int) -> int:
        """What of a checkpointed one can be believed: it may be of before a truncation."""
        return self._mark.bound_high_watermark(high_watermark)

    @property
    def failure(self) -> StorageFailed | None:
        """Why the log is out of service."""
        return self._latch.reason

    def position_of(self, offset: int) -> tuple[int, int]:
        """(segment, position) where the batch that holds `offset` begins; the log's end for the end offset.

        raises   CorruptSegment or OSError, where the segment can't be read
        """
        if offset >= self.log_end_offset:
            return self.end_segment, self.end_position
        self._reader.refresh(self.segments_version)
        return self._reader.position_of(offset, self.end_segment, self.end_position)

    def header_before(self, offset: int) -> RecordBatchHeader | None:
        """Header of the batch that holds the record before an offset, the log's end at most; None where no batch does.

        raises   CorruptSegment or OSError, where the segment can't be read; LogDamaged: the batch lies after the log's end
        """
        wanted = offset - 1
        if wanted < self.log_start_offset:
            return None
        self._reader.refresh(self.segments_version)
        for found in self._reader.batches_from(wanted, self.end_segment, self.end_position):
            base_offset, end_offset = found.header.base_offset, self.log_end_offset
            if base_offset >= end_offset:
                raise LogDamaged(f"{self.directory}: batch at offset {base_offset}, and the log ends at {end_offset}")
            if not base_offset <= wanted <= found.header.last_offset:
                return None
            if found.header.magic < MAGIC_V2:
                self._reader.check_entry(self._reader.base_of(wanted), found)
            return found.header
        return None

    def is_older(self, base_offset: int, before_ms: int) -> bool:
        """Whether the newest record of a rolled segment is older than a time, as its time index has it now."""
        return newest_timestamp(self.directory, base_offset) < before_ms

    @property
    def known_epoch(self) -> int:
        """The latest leader epoch that the log knows: of its epochs, or of an era that began since, in which it has no record."""
        latest, era = self.epochs.latest, self._era.epoch
        return era if era_of(era) > era_of(latest) else latest

    # What comes in

    def append_as_leader(
        self,
        batches: list[memoryview],
        leader_epoch: int,
        now_ms: int,
        is_of_coordinator: bool = False,
        must_verify: bool = False,
    ) -> list[Result]:
        """`LeaderAppend.append`."""
        self._note_unsynced()
        self.producers.now_ms = self._clock.monotonic_ns() // 1_000_000
        return self._leader.append(batches, leader_epoch, self.config, now_ms, is_of_coordinator, must_verify)

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_abort: bool,
        leader_epoch: int,
        now_ms: int,
    ) -> tuple[int, int]:
        """`LeaderAppend.append_marker`."""
        self._note_unsynced()
        self.producers.now_ms = self._clock.monotonic_ns() // 1_000_000
        return self._leader.append_marker(
            producer_id, producer_epoch, coordinator_epoch, is_abort, leader_epoch, self.config, now_ms
        )

    def append_as_follower(self, records: memoryview, now_ms: int) -> int:
        """`FollowerAppend.append`."""
        self._note_unsynced()
        self.producers.now_ms = self._clock.monotonic_ns() // 1_000_000
        return self._follower.append(records, self.config, now_ms)

    def assign_leader_epoch(self, epoch: int) -> None:
        """A leader epoch begins at the log's end. raises StorageFailed."""
        self._tail.begin_epoch(epoch, self.log_end_offset)

    def note_history(self, leader_epoch: int) -> None:
        """The log is a part of the one that is led in this epoch: its era is known from now on. raises StorageFailed"""
        try:
            self._era.note(leader_epoch)
        except OSError as failure:
            self._latch.fail("era of leader epochs", failure)

    def write_owed_era(self) -> None:
        """Try again what there was no room for. raises StorageFailed"""
        try:
            self._era.write_owed()
        except OSError as failure:
            self._latch.fail("era of leader epochs", failure)

    def roll_if_older(self, before_ms: int) -> bool:
        """Begin a new segment where the newest record of the active one is older; returns whether it did.

        raises   StorageFailed
        """
        self._latch.check()
        segment = self.segments.active
        newest_ms = segment.max_timestamp_ms if segment.max_timestamp_ms >= 0 else segment.created_ms
        if not segment.size_bytes or newest_ms >= before_ms:
            return False
        self._tail.roll(self.config)
        return True

    # What is synced

    def flush(self) -> None:
        """`SyncState.flush`."""
        self._sync.flush()

    def flush_before_answer(self) -> None:
        """The same, for `headrace.flush.before.ack`: from now on the log says that no append was answered unsynced. raises StorageFailed"""
        self._sync.flush()
        if not self._synced.is_set:
            try:
                self._synced.make(is_durable=True)
            except OSError as failure:
                if not is_exhausted(failure):  # else it is made with the next one
                    self._latch.fail("synced mark", failure, is_sync=True)

    @property
    def owes_sync(self) -> bool:
        """Whether its end says more than it may: who hears of it takes it for synced, and a part of it is not."""
        unsynced = self.log_end_offset - self.recovery_point
        if self.config.flush_before_ack or self._synced.is_set:
            return unsynced > 0
        return unsynced >= self.config.flush_messages

    def sync_owed(self) -> None:
        """Before anyone hears where it ends: sync what is owed. raises StorageFailed

        An owner that was killed, or refused, between a write and its sync leaves the page cache ahead of the disk. Or the setting
        is new; or it is no more, and the log still says that all was synced.

        It says nothing of the past: the log may have lost records, and it was not compared yet. So only an append makes the file that
        says that all was synced.
        """
        if self.owes_sync:
            self._sync.flush()

    def _note_unsynced(self) -> None:
        """Before an append: where its answer does not wait for a sync, the log says so no longer. raises StorageFailed"""
        if not self._synced.is_set or self.config.flush_before_ack:
            return
        try:
            self._synced.remove()
        except OSError as failure:
            self._latch.fail("synced mark", failure)

    def flush_due(self, monotonic_ms: int) -> bool:
        """`SyncState.flush_due`."""
        return self._sync.flush_due(monotonic_ms, self.config.flush_ms)

    def note_synced(self, offset: int, since_version: int) -> bool:
        """`SyncState.note_synced`."""
        return self._sync.note_synced(offset, since_version)

    def note_loss(self) -> None:
        """It may lack something, and that is not known yet. raises StorageFailed"""
        try:
            self._loss.make()
        except OSError as failure:
            self._latch.fail("note of a loss", failure)

    def forget_loss(self) -> None:
        """The controller process knows what it may lack. raises StorageFailed"""
        try:
            self._loss.remove()
        except OSError as failure:
            self._latch.fail("note of a loss", failure)

    # What goes

    def advance_log_start(self, offset: int) -> bool:
        """Move the log start offset forward; returns whether it moved. The caller knows that `offset` is committed.

        Needs no room, and may be done to a log that has none.
        raises   StorageFailed, where the disk refused for another reason
        """
        if offset <= self.log_start_offset:
            return False
        assert offset <= self.log_end_offset
        self.log_start_offset = offset
        try:
            self.epochs.truncate_from_start(offset)
            self.epochs.save()
        except OSError as failure:
            self._latch.fail("leader epochs", failure)
        return True

    def count_deletable(self, bases: set[int], high_watermark: int) -> int:
        """`SegmentList.count_droppable`."""
        return self.segments.count_droppable(bases, high_watermark)

    def delete_segments(self, count: int) -> None:
        """Drop the oldest segments.

        The log start offset has moved past them, and is published: readers that find a file gone know why.

        raises   StorageFailed
        source   Kafka `UnifiedLog.deleteOldSegments`
        """
        self._latch.check_removal()
        assert self.log_start_offset >= self.segments.bases[count]
        self.segments.drop(count)
        try:
            self.epochs.save()
        except OSError as failure:
            self._latch.fail("leader epochs", failure)

    def swap_segments(self, segments: list[tuple[int, int]], as_of_version: int) -> bool:
        """`SegmentList.swap`."""
        self._latch.check_removal()
        return self.segments.swap(segments, as_of_version)

    def truncate_to(self, offset: int, *, is_mapped: bool = False) -> bool:
        """Cut the log so that it ends at `offset`, or at the beginning of the batch that holds it.

        Producers, epochs, indexes and the recovery point follow. The caller has taken the high watermark back before. An epoch that
        began at the end, and in which nothing was written, is forgotten in any case: other logs never had it. Its era stays known.

        is_mapped   readers were notified of what goes: they may have mapped it, and keep that file
        returns     whether anything was cut
        raises      StorageFailed; LogDamaged, where its files make no sense; for what is left see `check_cut`
        """
        self._latch.check()
        self._is_short = False
        self.note_history(self.epochs.latest)
        try:
            if offset >= self.log_end_offset:
                self.epochs.truncate_from_end(self.log_end_offset)
                return False
            if offset < self.log_start_offset:
                self._restart_at(offset)
            else:
                segment, position = self._cut_place(offset)
                self._truncation.cut(offset, segment, position, self.log_start_offset, is_mapped=is_mapped)
                self._reload(segment, position)
            assert self.log_end_offset <= offset, (self.log_end_offset, offset)
            self.epochs.truncate_from_end(self.log_end_offset)
        except OSError as failure:
            self._latch.fail("truncation", failure, is_torn=self._truncation.has_begun)
        except HeadraceError as failure:
            self._latch.fail_damaged("truncation", failure, is_torn=self._truncation.has_begun)
        return True

    def check_cut(self, offset: int) -> None:
        """After a truncation to an offset. raises LogShort, where what is left was found to be damaged, and ends before that"""
        if self._is_short:
            raise LogShort(
                f"{self.directory} is damaged below offset {offset}, and ends at {self.log_end_offset}", offset
            )

    def restart_at(self, offset: int) -> None:
        """Drop every record; the log begins and ends at `offset`: a follower whose leader begins after its end.

        raises   StorageFailed
        """
        self._latch.check()
        self.note_history(self.epochs.latest)
        try:
            self._restart_at(offset)
            self.epochs.replace([])
        except OSError as failure:
            self._latch.fail("truncation", failure, is_torn=self._truncation.has_begun)

    def take_over(self, other: PartitionLog) -> None:
        """A copy that has every batch of another log knows what is not in the batches too: epochs, their era, and producers.

        Producers of a log that is out of service may be ahead of it, by the batches of the write that failed: a client that
        sends these again would get the response that they are stored. The copy then knows what it was copied.

        raises   StorageFailed
        """
        assert other.log_end_offset == self.log_end_offset
        self.note_history(other.known_epoch)
        if other.failure is None:
            self.producers.take_over(other.producers)
        try:
            self._mark.take_over(other._mark, self.log_end_offset)
            if other._loss.is_set:
                self._loss.make()
            else:
                self._loss.remove()
            self.epochs.replace(other.epochs.entries)
        except OSError as failure:
            self._latch.fail("leader epochs", failure)

    # The end of it

    def close(self) -> None:
        """Flush, snapshot, trim: nothing is left for recovery. The files are released in any case.

        raises   StorageFailed
        """
        try:
            self.finish()
        finally:
            self.abandon()

    def finish(self) -> None:
        """The part of `close` that waits for the disk, and touches nothing but this log: may run in a thread.

        A log without records has nothing to replay, so it needs no snapshot; one without producers, none that survives a
        crash of the machine: their headers show that there are none. A snapshot that has producers which were forgotten since is written
        again: they would come back with each opening.

        raises   StorageFailed
        """
        self._latch.check()
        segments = self.segments
        end = segments.end_offset
        try:
            if end:  # else there is nothing to lose: whatever a crash leaves of it opens as an empty log
                self._sync.flush()
                is_noted = self.producers.snapshots.durable_offset == end and self.producers.has_snapshot_of_all
                if end > segments.bases[0] and not is_noted:
                    self.producers.write_snapshot(end, segments.bases, is_durable=bool(self.producers.producers))
                segments.active.finish()
                segments.active.sync_indexes()
        except OSError as failure:
            self._latch.fail("close", failure)

    def abandon(self) -> None:
        """Release the files without caring for them: the partition is being deleted."""
        self.segments.active.close()
        self._reader.close()
        self._era.abandon()

    # Opening

    def _load(self, checkpoint: LogCheckpoint) -> LoadedLog:
        self.producers.begin_opening(self._clock.monotonic_ns() // 1_000_000)
        loader = LogLoader(
            self.directory,
            self.config,
            self._disk,
            self.epochs,
            self.producers,
            self._mark,
            self._clock,
            self._progress,
            self._loss,
            was_synced=self._synced.is_set,
        )
        seen_ms = self.producers.seen()
        loaded = loader.load(checkpoint)
        self.producers.note_seen(seen_ms)
        return loaded

    def _reload(self, segment: int, position: int) -> None:
        """After a truncation: the log is whole up to (segment, position), and ends there. raises OSError

        It follows another replica, so it is never the sole one.
        """
        checkpoint = LogCheckpoint(
            recovery_point=self.recovery_point, trusted=(segment, position), log_start_offset=self.log_start_offset
        )
        loaded = self._load(checkpoint)
        self.segments.adopt(loaded)
        self.log_start_offset = loaded.start_offset
        self._sync.recovery_point = loaded.recovery_point
        self._tail.bytes_since_snapshot = loaded.bytes_replayed
        self._reader.refresh(self.segments_version)
        self._truncation.has_begun = False
        self.was_cut |= loaded.was_cut
        self._is_short = loaded.was_cut

    def _cut_place(self, offset: int) -> tuple[int, int]:
        """(segment, position) where the log ends that is cut to an offset. raises CorruptSegment or OSError

        Where compaction removed batches up to a segment's end, the next batch is in the next segment, which has to go.
        """
        segment, position = self.position_of(offset)
        if segment <= offset:
            return segment, position
        before = self.segment_bases[bisect_right(self.segment_bases, offset) - 1]
        return before, path_of(self.directory, before, LOG_SUFFIX).stat().st_size

    def _restart_at(self, offset: int) -> None:
        self._truncation.cut_all(offset, self.log_start_offset)
        self.log_start_offset = offset
        self._reload(offset, 0)

"""A partition's log: segments, indexes, epochs, producer state; one writer.

Runs in: the partition worker that owns the partition. The append is the node's hot path. For a call with n
batches of s bytes in all it costs, checksum and page cache apart:

    bytes      s read once (CRC-32C), s copied once by the kernel; stamps: 16 bytes a batch, in place
    syscalls   one `pwritev` for up to IOV_MAX batches of one segment
    copies     none of ours: the batches are written from where the ring holds them
    time       2 us a batch, 3 with a producer id (`bench/append.py`)

and an index entry every `index.interval.bytes`. Rolling a segment syncs nothing: the housekeeper does that.

Beginning a log syncs nothing either: the first flush does, with the name of its directory and its small files. What a
crash of the machine leaves of a log that was never flushed opens as an empty one.

A crash at any point leaves a prefix of whole batches (recovery cuts the rest), indexes that recovery trims or
rebuilds, and checkpoint files that are old or new. Source: Kafka `UnifiedLog`, `LocalLog`, `LogValidator`.
"""

from __future__ import annotations

import logging
import struct
from bisect import bisect_left
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from crc32c import crc32c

from headrace.clock import Clock
from headrace.errors import StorageFailed
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.disk import Disk, storage_failure
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading.open_segments import OpenSegments
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_facts import newest_timestamp
from headrace.log.recovery.log_loader import LogLoader, Opening
from headrace.log.recovery.recovery import Progress
from headrace.log.segments.segment import Segment, sync_segment
from headrace.log.segments.segment_deletion import retire_segment
from headrace.log.segments.segment_swap import swap_segments
from headrace.log.state.checkpoints import PARTITION_METADATA_FILE, sync_beginning, write_partition_metadata
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.producer_state import ProducerBudget, ProducerState
from headrace.log.writing.replicated_append import ReplicatedAppend
from headrace.log.writing.truncation import TruncationMark
from headrace.log.writing.validator import (
    PLAIN_ATTRIBUTES,
    TIME_MIN,
    fault_of,
    rules_at,
    stamp_append_time,
    stamp_create_time,
)
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
)

SNAPSHOT_INTERVAL_BYTES = 64 << 20
FSYNC = "fsync"

_STAMP = struct.Struct(">qii")  # base offset, batch length, leader epoch: bytes 0 to 16
_NEVER_MS = 2**63

_log = logging.getLogger(__name__)

Result = tuple[int, int, int]  # (error, base offset, log append time or -1)


class PartitionLog(ReplicatedAppend):
    """One partition's log, open for appending.

    config             may be replaced at any time
    log_end_offset     the offset the next record gets
    recovery_point     everything below it has been synced
    segments_version   moves when the list of segments does, and is never again what it was in this boot
    """

    def __init__(
        self,
        directory: Path,
        partition: TopicPartition,
        config: LogConfig,
        clock: Clock,
        disk: Disk,
        producers: ProducerState,
        snapshot_interval_bytes: int,
        open_segments: OpenSegments | None,
    ) -> None:
        self.directory = directory
        self.partition = partition
        self.config = config
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.recovery_point = 0
        self.segments_version = clock.monotonic_ns()  # readers of an owner that was killed must not take it for theirs
        self.epochs = LeaderEpochs(directory, disk)
        self.producers = producers
        self._clock = clock
        self._disk = disk
        self._bases: list[int] = []  # of all segments, the active one last
        self._cut_version = self.segments_version  # when the log was opened, or cut
        self._rolled_bytes = 0
        self._unsynced: list[int] = []  # rolled segments that this process has not synced
        self._is_directory_dirty = False  # a segment was begun since the directory was synced
        self._is_begun = False  # made by this process, and neither its name nor its small files were synced since
        self._unflushed_since_ms = 0  # when the first batch behind the recovery point came; 0: none
        self._snapshot_interval_bytes = snapshot_interval_bytes
        self._bytes_since_snapshot = 0
        self._truncation = TruncationMark(directory, disk)
        self._failure: StorageFailed | None = None  # why this log is out of service
        self._reader = LogReader(directory, shared=open_segments)
        self._active: Segment

    @classmethod
    def open(
        cls,
        directory: Path,
        partition: TopicPartition,
        config: LogConfig,
        *,
        clock: Clock,
        clean: bool,
        recovery_point: int,
        trusted: tuple[int, int] | None = None,
        log_start_offset: int = 0,
        topic_id: str = "",
        disk: Disk | None = None,
        producer_budget: ProducerBudget | None = None,
        producer_expiration_ms: int = 86_400_000,
        snapshot_interval_bytes: int = SNAPSHOT_INTERVAL_BYTES,
        progress: Progress | None = None,
        open_segments: OpenSegments | None = None,
    ) -> PartitionLog:
        """Open a log, or begin one, and make what is on disk true.

        clean            the last stop closed it: structure is trusted
        recovery_point   below it everything was synced and is trusted
        trusted          (segment, position) up to which a process that died in this boot had published: the page
                         cache has it whole, checksums are compared behind it only
        progress         called now and then while this takes long, with the bytes read since
        producer_budget, open_segments   shared with the other logs of the process
        raises           StorageFailed, where the files can't be read or mended
        """
        disk = disk or Disk()
        try:
            is_new = not directory.is_dir()
            if is_new:
                directory.mkdir(mode=0o750, parents=True)
            producers = ProducerState(directory, disk, producer_expiration_ms, producer_budget)
            log = cls(directory, partition, config, clock, disk, producers, snapshot_interval_bytes, open_segments)
            log._load(Opening(clean, recovery_point, trusted, log_start_offset), progress)
            log._is_begun = is_new
            metadata = directory / PARTITION_METADATA_FILE
            if topic_id and (is_new or not metadata.exists() or not metadata.stat().st_size):
                write_partition_metadata(metadata, topic_id, disk, is_durable=not is_new)
                if not is_new:
                    log._is_directory_dirty = False  # that synced all names in it
        except OSError as failure:
            raise storage_failure(str(directory), failure) from None
        return log

    @property
    def end_segment(self) -> int:
        """Base offset of the active segment."""
        return self._active.base_offset

    @property
    def end_position(self) -> int:
        """Byte in the active segment where the log ends."""
        return self._active.size_bytes

    @property
    def failure(self) -> StorageFailed | None:
        """Why the log is out of service."""
        return self._failure

    @property
    def segment_bases(self) -> list[int]:
        """Base offsets of the segments, the active one last."""
        return self._bases

    @property
    def size_bytes(self) -> int:
        return self._rolled_bytes + self._active.size_bytes

    def append_as_leader(self, batches: list[memoryview], leader_epoch: int, now_ms: int) -> list[Result]:
        """Check, stamp and write client batches, one result for each.

        batches   each one produce payload, writable, in the order of arrival; stamped in place
        returns   (0, base offset, log append time or -1), or (error, -1, -1) for a batch that was refused; a
                  duplicate of an idempotent producer is answered with the offset it had
        raises    StorageFailed, where the disk refused: the log is out of service, and what became of the batches
                  of this call is unknown (those that went into a segment before it rolled are in the log)
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if leader_epoch > self.epochs.latest:
            self.assign_leader_epoch(leader_epoch)
        config = self.config
        rules = rules_at(config, now_ms)
        max_bytes, is_append_time, earliest_ms, latest_ms = rules
        append_time_ms = now_ms if is_append_time else -1
        interval_bytes = config.index_interval_bytes
        check, update = self.producers.check, self.producers.update
        unpack, stamp = HEADER.unpack_from, _STAMP.pack_into
        next_offset = self.log_end_offset
        segment = self._active
        position = segment.size_bytes
        last_offset_max, roll_ms, index_room = self._roll_limits(segment, now_ms)
        pending: list[memoryview] = []
        results: list[Result] = []
        for batch in batches:
            size = len(batch)
            if size < HEADER_BYTES:
                results.append((int(fault_of(batch, rules)), -1, -1))
                continue
            (
                base_offset, length, _epoch, magic, crc, attributes, last_delta,
                base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count,
            ) = unpack(batch)  # fmt: skip
            if (
                magic != MAGIC_V2
                or length + LOG_OVERHEAD_BYTES != size
                or size > max_bytes
                or base_offset
                or count <= 0
                or last_delta != count - 1
                or attributes not in PLAIN_ATTRIBUTES
                or not earliest_ms <= max_timestamp <= latest_ms
                or base_timestamp < TIME_MIN
                or count > size  # few bytes a record: only compressed ones may be so small
                or (count * RECORD_BYTES_MIN > size and not attributes & CODEC_MASK)
                or (producer_id >= 0 and (sequence < 0 or producer_epoch < 0))
                or crc32c(batch[ATTRIBUTES_POSITION:]) != crc
            ):
                fault = fault_of(batch, rules)
                if fault:
                    results.append((int(fault), -1, -1))
                    continue
                if attributes & LOG_APPEND_TIME_BIT:
                    stamp_create_time(batch, attributes)
            if producer_id >= 0:
                in_transaction = attributes & TRANSACTIONAL_BIT
                error, repeated = check(producer_id, producer_epoch, sequence, last_delta, in_transaction)
                if repeated is not None:
                    results.append((0, repeated.first_offset, repeated.timestamp_ms if is_append_time else -1))
                    continue
                if error:
                    results.append((error, -1, -1))
                    continue
            if is_append_time:
                max_timestamp = now_ms
                stamp_append_time(batch, attributes, now_ms)
            last_offset = next_offset + last_delta
            if position and (
                position + size > config.segment_bytes
                or last_offset > last_offset_max
                or max_timestamp > roll_ms
                or segment.index_entries_due >= index_room
            ):
                self._write(segment, pending, next_offset)
                pending = []
                segment = self._roll()
                position = 0
            stamp(batch, 0, next_offset, length, leader_epoch)
            pending.append(batch)
            segment.saw_batch(last_offset, position, size, max_timestamp, interval_bytes)
            if not position:
                last_offset_max, roll_ms, index_room = self._roll_limits(segment, now_ms)
            if producer_id >= 0:
                update(producer_id, producer_epoch, sequence, last_delta, next_offset, now_ms, in_transaction)
            results.append((0, next_offset, append_time_ms))
            position += size
            next_offset = last_offset + 1
        if pending:
            self._write(segment, pending, next_offset)
            self._after_append(now_ms)
        return results

    def assign_leader_epoch(self, epoch: int) -> None:
        """A leader epoch begins at the log's end. raises StorageFailed."""
        self._assign_epoch(epoch, self.log_end_offset)

    def flush(self, now_ms: int) -> None:
        """Sync everything; the recovery point moves to the log's end.

        raises   StorageFailed: what was written since the last flush may be gone, retrying would lie about it
        """
        del now_ms
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if self.recovery_point == self.log_end_offset and not self._unsynced and not self._is_directory_dirty:
            return
        try:
            for base_offset in self._unsynced:
                self._sync_rolled(base_offset)
                self._is_directory_dirty = True
            self._active.sync()
            if self._is_begun:
                sync_beginning(self.directory, self._disk)
            if self._is_directory_dirty:
                self._disk.sync_directory(self.directory)
            if 0 <= self._truncation.distrusted_until <= self.log_end_offset:
                self._truncation.remove()
        except OSError as failure:
            self._fail(FSYNC, failure)
        self._unsynced.clear()
        self._is_directory_dirty = self._is_begun = False
        self.recovery_point = self.log_end_offset
        self._unflushed_since_ms = 0

    def flush_due(self, now_ms: int) -> bool:
        """Flush if `flush.ms` has passed since the first unsynced batch; returns whether it did."""
        flush_ms = self.config.flush_ms
        if flush_ms is None or not self._unflushed_since_ms or now_ms - self._unflushed_since_ms < flush_ms:
            return False
        self.flush(now_ms)
        return True

    def position_of(self, offset: int) -> tuple[int, int]:
        """(segment, position) where the batch that holds `offset` begins; the log's end for the end offset.

        raises   CorruptSegment or OSError, where the segment can't be read
        """
        if offset >= self.log_end_offset:
            return self.end_segment, self.end_position
        self._reader.refresh(self.segments_version)
        return self._reader.position_of(offset, self.end_segment, self.end_position)

    def advance_log_start(self, offset: int) -> bool:
        """Move the log start offset forward; returns whether it moved. The caller knows that `offset` is committed.

        raises   StorageFailed
        """
        if offset <= self.log_start_offset:
            return False
        assert offset <= self.log_end_offset
        self.log_start_offset = offset
        try:
            self.epochs.truncate_from_start(offset)
        except OSError as failure:
            self._fail("leader epochs", failure)
        return True

    def roll_if_older(self, before_ms: int) -> bool:
        """Begin a new segment where the newest record of the active one is older; returns whether it did.

        raises   StorageFailed
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        segment = self._active
        newest_ms = segment.max_timestamp_ms if segment.max_timestamp_ms >= 0 else segment.created_ms
        if not segment.size_bytes or newest_ms >= before_ms:
            return False
        self._roll()
        return True

    def is_older(self, base_offset: int, before_ms: int) -> bool:
        """Whether the newest record of a rolled segment is older than a time, as its time index has it now."""
        return newest_timestamp(self.directory, base_offset) < before_ms

    def note_synced(self, offset: int, as_of_version: int) -> bool:
        """Somebody else synced everything below an offset; returns whether that is news.

        as_of_version   `segments_version` from before that: of another log than this, a truncation came in between, it
                        says nothing
        """
        if self._failure is not None or as_of_version < self._cut_version or offset > self.log_end_offset:
            return False
        if self._truncation.distrusted_until >= 0:
            return False  # whoever synced may not know of it
        following = [*self._bases[1:], self.log_end_offset]
        ends = dict(zip(self._bases, following, strict=True))
        self._unsynced = [base for base in self._unsynced if ends.get(base, 0) > offset]
        if offset <= self.recovery_point:
            return False
        self.recovery_point = offset
        if self._unflushed_since_ms and offset == self.log_end_offset:
            self._unflushed_since_ms = 0
        return True

    def count_deletable(self, bases: set[int], high_watermark: int) -> int:
        """How many of the oldest segments are in `bases` and may go: never the active one, nothing uncommitted."""
        known = self._bases
        count = 0
        while count < len(known) - 1 and known[count] in bases and known[count + 1] <= high_watermark:
            count += 1
        return count

    def delete_segments(self, count: int) -> None:
        """Drop the oldest segments, the first one first: a crash in between leaves no gap.

        The log start offset has moved behind them, and is published: readers that find a file gone know why.

        raises   StorageFailed
        source   Kafka `UnifiedLog.deleteOldSegments`
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        assert count < len(self._bases)
        assert self.log_start_offset >= self._bases[count]
        try:
            for base in self._bases[:count]:
                self._rolled_bytes -= self._size_of(base)
                retire_segment(self.directory, base, self._disk)
        except OSError as failure:
            self._fail("deletion of segments", failure)
        del self._bases[:count]
        self.segments_version += 1

    def swap_segments(self, segments: list[tuple[int, int]], as_of_version: int) -> bool:
        """Let the `.cleaned` files of the first of these segments replace all of them.

        segments        (base offset, size in bytes) of neighbours, none of them active, as they were compacted
        as_of_version   `segments_version` from before that: what was superseded by records that a truncation took since
                        must not go
        returns         False, where the log is another by now, or there are no such files: nothing was done
        raises          StorageFailed
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if as_of_version < self._cut_version:
            return False
        bases = [base for base, _size in segments]
        first = bisect_left(self._bases, bases[0])
        if self._bases[first : first + len(bases)] != bases or first + len(bases) >= len(self._bases):
            return False
        try:
            if any(self._size_of(base) != size for base, size in segments):
                return False
            swap_segments(self.directory, bases, self._disk)
            del self._bases[first + 1 : first + len(bases)]
            self._rolled_bytes += self._size_of(bases[0]) - sum(size for _base, size in segments)
        except FileNotFoundError:
            return False
        except OSError as failure:
            self._fail("swap of segments", failure)
        self.segments_version += 1
        return True

    def close(self) -> None:
        """Flush, snapshot, trim: nothing is left for recovery. The files are let go of in any case.

        raises   StorageFailed
        """
        try:
            self.finish()
        finally:
            self.abandon()

    def finish(self) -> None:
        """The part of `close` that waits for the disk, and touches nothing but this log: may run in a thread.

        A log without records has nothing to replay, so it needs no snapshot; one without producers, none that survives a
        crash of the machine: their headers tell that there are none.

        raises   StorageFailed
        """
        try:
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            end = self.log_end_offset
            if end:  # else there is nothing to lose: whatever a crash leaves of it opens as an empty log
                self.flush(self._clock.now_ms())
                if end > self._bases[0] and self.producers.durable_offset != end:
                    self.producers.write_snapshot(end, self._bases, is_durable=bool(self.producers.producers))
                self._active.finish()
                self._active.sync_indexes()
            self._truncation.remove()
        except OSError as failure:
            self._fail("close", failure)

    def abandon(self) -> None:
        """Let go of the files without caring for them: the partition is being deleted."""
        self._active.close()
        self._reader.close()

    def _roll_limits(self, segment: Segment, now_ms: int) -> tuple[int, int, int]:
        """(last offset, timestamp, index entries due) beyond which a batch belongs into the next segment.

        A segment without timestamps ages by the clock. source: Kafka `LogSegment.shouldRoll`
        """
        config = self.config
        if segment.first_timestamp_ms >= 0:
            roll_ms = segment.first_timestamp_ms + config.segment_ms
        else:
            roll_ms = -_NEVER_MS if now_ms - segment.created_ms > config.segment_ms else _NEVER_MS
        return segment.base_offset + RELATIVE_OFFSET_MAX, roll_ms, segment.index_room(config.index_bytes_max)

    def _write(self, segment: Segment, pending: list[memoryview], end_offset: int) -> None:
        """Write what was stamped; the log's end moves."""
        if not pending:
            return
        start = segment.size_bytes
        try:
            segment.write(pending)
        except OSError as failure:
            self._fail(f"write of {len(pending)} batches", failure)
        self._bytes_since_snapshot += segment.size_bytes - start
        self.log_end_offset = end_offset

    def _after_append(self, now_ms: int) -> None:
        if not self._unflushed_since_ms:
            self._unflushed_since_ms = now_ms
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now_ms)
        if self._bytes_since_snapshot >= self._snapshot_interval_bytes:
            self.producers.expire(now_ms)
            try:
                self._snapshot()
            except OSError as failure:
                self._fail("snapshot", failure)

    def _roll(self) -> Segment:
        """Close the active segment for good and begin the next one at the log's end."""
        try:
            rolled = self._active
            rolled.finish()
            self._active = Segment(self.directory, self.log_end_offset, self._disk, self._clock.now_ms(), is_new=True)
            rolled.close()
            self._bases.append(self._active.base_offset)
            self._rolled_bytes += rolled.size_bytes
            self._unsynced.append(rolled.base_offset)
            self._is_directory_dirty = True
            self.segments_version += 1
            self._snapshot()
        except OSError as failure:
            self._fail("roll", failure)
        return self._active

    def _snapshot(self) -> None:
        """Bounds how much of the log a restart replays. Only the process's death has to leave it whole."""
        self.producers.write_snapshot(self.log_end_offset, self._bases, is_durable=False)
        self._bytes_since_snapshot = 0

    def _size_of(self, base_offset: int) -> int:
        return path_of(self.directory, base_offset, LOG_SUFFIX).stat().st_size

    def _sync_rolled(self, base_offset: int) -> None:
        try:
            sync_segment(self.directory, base_offset, self._disk, is_named=False)
        except FileNotFoundError:
            pass  # deleted meanwhile

    def _fail(self, what: str, failure: OSError) -> NoReturn:
        """Out of service: what is on disk is as the last success left it, or what recovery makes of it."""
        self._failure = storage_failure(f"{self.directory}: {what}", failure, is_sync=what == FSYNC)
        raise self._failure from None

    # Opening

    def _load(self, opening: Opening, progress: Progress | None) -> None:
        loader = LogLoader(
            self.directory, self.config, self._disk, self.epochs, self.producers, self._clock.now_ms(), progress
        )
        recovery_point = self._truncation.bound(opening.recovery_point)
        self._active = loader.load(replace(opening, recovery_point=recovery_point))
        self.segments_version += 1
        self._cut_version = self.segments_version
        self._bases = loader.bases
        self._rolled_bytes = loader.rolled_bytes
        self._bytes_since_snapshot = loader.bytes_replayed
        self._unsynced = loader.unsynced
        self._is_directory_dirty = loader.has_begun or not opening.is_clean
        self.log_end_offset = loader.end_offset
        self.log_start_offset = max(opening.log_start_offset, loader.bases[0])
        self.recovery_point = min(max(recovery_point, self.log_start_offset), self.log_end_offset)
        if opening.is_clean:
            self.recovery_point = self.log_end_offset
            self.producers.durable_offset = self.producers.loaded_offset
        self.epochs.truncate_from_end(self.log_end_offset + 1)

    def _reload(self, trusted: tuple[int, int]) -> None:
        """After a truncation: the log is whole up to `trusted` (segment, position), and ends there. raises OSError"""
        self._load(Opening(False, self.recovery_point, trusted, self.log_start_offset), None)
        self.segments_version += 1
        self._reader.refresh(self.segments_version)

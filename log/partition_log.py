"""A partition's log: segments, indexes, epochs, producer state; one writer.

Runs in: the partition worker that owns the partition. The append is the node's hot path; for a call with n
batches it costs, beyond the checksum and the write: 3 us a batch, one `pwritev`, no copy (the batches are
written from where the ring holds them), and an index entry every `index.interval.bytes`.

A crash at any point leaves a prefix of whole batches (recovery cuts the rest), indexes that recovery trims or
rebuilds, and checkpoint files that are old or new. Source: Kafka `UnifiedLog`, `LocalLog`, `LogLoader`,
`LogValidator`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from pathlib import Path

from crc32c import crc32c

from headrace.clock import Clock
from headrace.errors import CorruptIndex, ErrorCode, StorageFailed
from headrace.ids import TopicPartition
from headrace.log.checkpoints import PARTITION_METADATA_FILE, write_partition_metadata
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.leader_epochs import LeaderEpochs
from headrace.log.producer_state import ProducerState
from headrace.log.recovery import walk
from headrace.log.segment import RELATIVE_OFFSET_MAX, Segment, remove_segment, segment_bases, sync_segment
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    CRC_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    MAX_TIMESTAMP_POSITION,
)

__all__ = ["PartitionLog", "sync_segment"]

CODEC_MAX = 4
SNAPSHOT_INTERVAL_BYTES = 64 << 20

_STAMP = struct.Struct(">qii")  # base offset, batch length, leader epoch: bytes 0 to 16
_ATTRIBUTES = struct.Struct(">h")
_TIMESTAMP = struct.Struct(">q")
_CRC = struct.Struct(">I")

_log = logging.getLogger(__name__)
_CORRUPT = int(ErrorCode.CORRUPT_MESSAGE)
_INVALID = int(ErrorCode.INVALID_RECORD)
_TOO_LARGE = int(ErrorCode.MESSAGE_TOO_LARGE)
_BAD_TIME = int(ErrorCode.INVALID_TIMESTAMP)
_OLD_FORMAT = int(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
_BAD_CODEC = int(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

Result = tuple[int, int, int]  # (error, base offset, log append time or -1)


class PartitionLog:
    """One partition's log, open for appending.

    log_end_offset     the offset the next record gets
    recovery_point     everything below it has been synced
    segments_version   moves when the list of segments does
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
    ) -> None:
        self.directory = directory
        self.partition = partition
        self.config = config
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.recovery_point = 0
        self.segments_version = 1
        self.epochs = LeaderEpochs(directory, disk)
        self.producers = producers
        self._clock = clock
        self._disk = disk
        self._bases: list[int] = []
        self._rolled_bytes = 0
        self._unsynced: list[int] = []  # rolled segments that this process has not synced
        self._unflushed_since_ms = 0  # when the first batch behind the recovery point came; 0: none
        self._snapshot_interval_bytes = snapshot_interval_bytes
        self._bytes_since_snapshot = 0
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
        producers_max: int = 100_000,
        producer_expiration_ms: int = 86_400_000,
        snapshot_interval_bytes: int = SNAPSHOT_INTERVAL_BYTES,
        progress: Callable[[], None] | None = None,
    ) -> PartitionLog:
        """Open a log, or begin one, and make what is on disk true.

        clean            the last stop closed it: structure is trusted
        recovery_point   below it everything was synced and is trusted
        trusted          (segment, position) up to which a process that died in this boot had published: the
        page cache
                         has it whole, checksums are compared behind it only
        raises           StorageFailed, where the files can't be read or mended
        """
        disk = disk or Disk()
        try:
            if not directory.is_dir():
                directory.mkdir(mode=0o750, parents=True)
                disk.sync_directory(directory.parent)
            producers = ProducerState(directory, disk, producer_expiration_ms, producers_max)
            log = cls(directory, partition, config, clock, disk, producers, snapshot_interval_bytes)
            log._load(clean, recovery_point, trusted, log_start_offset, progress)
            if topic_id and not (directory / PARTITION_METADATA_FILE).exists():
                write_partition_metadata(directory / PARTITION_METADATA_FILE, topic_id, disk)
        except OSError as failure:
            raise StorageFailed(f"{directory}: {failure}") from None
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
    def size_bytes(self) -> int:
        return self._rolled_bytes + self._active.size_bytes

    def append_as_leader(self, batches: list[memoryview], leader_epoch: int, now_ms: int) -> list[Result]:
        """Check, stamp and write client batches, one result for each.

        batches   each one produce payload, writable, in the order of arrival; stamped in place
        returns   (0, base offset, log append time or -1), or (error, -1, -1) for a batch that was refused; a
                  duplicate of an idempotent producer is answered with the offset it had
        raises    StorageFailed, where the disk refused: nothing of this call counts, the log is out of service
        """
        config = self.config
        active = self._active
        producers = self.producers
        unpack = HEADER.unpack_from
        stamp = _STAMP.pack_into
        is_log_append_time = config.is_log_append_time
        max_bytes = config.max_message_bytes
        earliest_ms = now_ms - config.timestamp_before_max_ms
        latest_ms = now_ms + config.timestamp_after_max_ms
        append_time_ms = now_ms if is_log_append_time else -1
        next_offset = self.log_end_offset
        position = active.size_bytes
        first_timestamp = active.first_timestamp_ms
        pending: list[memoryview] = []
        marks: list[tuple[int, int, int, int]] = []  # (last offset, position, size, max timestamp)
        results: list[Result] = []
        for batch in batches:
            size = len(batch)
            if size < HEADER_BYTES:
                results.append((_INVALID, -1, -1))
                continue
            (
                _base_offset, length, _epoch, magic, crc, attributes, last_delta,
                _base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count,
            ) = unpack(batch)  # fmt: skip
            if magic != MAGIC_V2:
                results.append((_OLD_FORMAT if 0 <= magic < MAGIC_V2 else _CORRUPT, -1, -1))
            elif length + LOG_OVERHEAD_BYTES != size:
                # shorter: a second batch follows; longer: the batch is cut short
                is_second = HEADER_BYTES <= length + LOG_OVERHEAD_BYTES < size
                results.append((_INVALID if is_second else _CORRUPT, -1, -1))
            elif size > max_bytes:
                results.append((_TOO_LARGE, -1, -1))
            elif crc32c(batch[ATTRIBUTES_POSITION:]) != crc:
                results.append((_CORRUPT, -1, -1))
            elif attributes & CONTROL_BIT or count <= 0 or last_delta != count - 1:
                results.append((_INVALID, -1, -1))
            elif attributes & CODEC_MASK > CODEC_MAX:
                results.append((_BAD_CODEC, -1, -1))
            elif not is_log_append_time and not (earliest_ms <= max_timestamp <= latest_ms or max_timestamp < 0):
                results.append((_BAD_TIME, -1, -1))
            elif producer_id >= 0 and (sequence < 0 or producer_epoch < 0):
                results.append((_INVALID, -1, -1))
            else:
                if producer_id >= 0:
                    error, repeated = producers.check(producer_id, producer_epoch, sequence, count)
                    if error or repeated >= 0:
                        results.append((error, repeated, -1))
                        continue
                if is_log_append_time:
                    max_timestamp = now_ms
                    _stamp_append_time(batch, attributes, now_ms)
                age_ms = max_timestamp - first_timestamp if first_timestamp >= 0 else 0
                if position and self._must_roll(active, position + size, next_offset + last_delta, age_ms):
                    self._write(active, pending, marks)
                    pending, marks = [], []
                    self.log_end_offset = next_offset
                    active = self._roll()
                    position = 0
                    first_timestamp = -1
                if first_timestamp < 0:
                    first_timestamp = max_timestamp
                stamp(batch, 0, next_offset, length, leader_epoch)
                pending.append(batch)
                last_offset = next_offset + last_delta
                marks.append((last_offset, position, size, max_timestamp))
                results.append((0, next_offset, append_time_ms))
                if producer_id >= 0:
                    producers.update(producer_id, producer_epoch, sequence, count, next_offset, now_ms)
                position += size
                next_offset = last_offset + 1
        if pending:
            self._write(active, pending, marks)
            records = next_offset - self.recovery_point
            self.log_end_offset = next_offset
            if not self._unflushed_since_ms:
                self._unflushed_since_ms = now_ms
            if records >= config.flush_messages:
                self.flush(now_ms)
            if self._bytes_since_snapshot >= self._snapshot_interval_bytes:
                self._snapshot(now_ms)
        return results

    def assign_leader_epoch(self, epoch: int) -> None:
        """A leader epoch begins at the log's end. raises StorageFailed."""
        try:
            self.epochs.assign(epoch, self.log_end_offset)
        except OSError as failure:
            raise StorageFailed(f"{self.directory}: {failure}") from None

    def flush(self, now_ms: int) -> None:
        """Sync everything; the recovery point moves to the log's end.

        raises   StorageFailed: what was written since the last flush may be gone, retrying would lie about it
        """
        del now_ms
        try:
            for base_offset in self._unsynced:
                sync_segment(self.directory, base_offset)
            self._active.sync()
        except OSError as failure:
            raise StorageFailed(f"{self.directory}: fsync: {failure}") from None
        self._unsynced.clear()
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
        """(segment, position) where the batch that holds `offset` begins; the log's end for the end offset."""
        if offset >= self.log_end_offset:
            return self.end_segment, self.end_position
        base = max((known for known in self._bases if known <= offset), default=self._bases[0])
        is_active = base == self._active.base_offset
        segment = self._active if is_active else Segment(self.directory, base, self._disk, 0)
        try:
            indexed_offset, position = segment.offset_index.lookup(offset)
            del indexed_offset
            for found in walk(segment.fd, position, segment.size_bytes, 0, is_checked=False):
                if found.header.last_offset >= offset:
                    return base, found.position
            following = min((known for known in self._bases if known > base), default=base)
            return (following, 0) if following != base else (base, segment.size_bytes)
        finally:
            if not is_active:
                segment.close()

    def close(self) -> None:
        """Flush, snapshot, trim: nothing is left for recovery. raises StorageFailed."""
        self.flush(self._clock.now_ms())
        try:
            self.producers.write_snapshot(self.log_end_offset)
            self._active.finish()
        except OSError as failure:
            raise StorageFailed(f"{self.directory}: {failure}") from None
        self._active.close()

    def abandon(self) -> None:
        """Let go of the files without caring for them: the partition is being deleted."""
        self._active.close()

    def _must_roll(self, active: Segment, end_position: int, last_offset: int, age_ms: int) -> bool:
        """Whether a batch that would end there belongs into the next segment."""
        config = self.config
        if end_position > config.segment_bytes or last_offset - active.base_offset > RELATIVE_OFFSET_MAX:
            return True
        if age_ms > config.segment_ms:
            return True
        return active.is_index_full(config.index_bytes_max)

    def _write(self, active: Segment, pending: list[memoryview], marks: list[tuple[int, int, int, int]]) -> None:
        if not pending:
            return
        try:
            start = active.size_bytes
            active.write(pending)  # type: ignore[arg-type]
            self._bytes_since_snapshot += active.size_bytes - start
            interval = self.config.index_interval_bytes
            for last_offset, position, size, max_timestamp_ms in marks:
                active.saw_batch(last_offset, position, size, max_timestamp_ms, interval)
        except OSError as failure:
            raise StorageFailed(f"{self.directory}: write of {len(pending)} batches: {failure}") from None

    def _roll(self) -> Segment:
        """Close the active segment for good and begin the next one at the log's end."""
        try:
            rolled = self._active
            rolled.finish()
            rolled.close()
            self._rolled_bytes += rolled.size_bytes
            self._unsynced.append(rolled.base_offset)
            self._active = Segment(self.directory, self.log_end_offset, self._disk, self._clock.now_ms())
            self._disk.sync_directory(self.directory)
            self._bases.append(self.log_end_offset)
            self.segments_version += 1
            self.producers.write_snapshot(self.log_end_offset)
            self._bytes_since_snapshot = 0
        except OSError as failure:
            raise StorageFailed(f"{self.directory}: roll: {failure}") from None
        return self._active

    def _snapshot(self, now_ms: int) -> None:
        self.producers.expire(now_ms)
        try:
            self.producers.write_snapshot(self.log_end_offset)
        except OSError as failure:
            raise StorageFailed(f"{self.directory}: snapshot: {failure}") from None
        self._bytes_since_snapshot = 0

    # Opening

    def _load(
        self,
        clean: bool,
        recovery_point: int,
        trusted: tuple[int, int] | None,
        log_start_offset: int,
        progress: Callable[[], None] | None,
    ) -> None:
        bases = segment_bases(self.directory)
        now_ms = self._clock.now_ms()
        if not bases:
            bases = [log_start_offset]
        for index, base in enumerate(bases):
            segment = Segment(self.directory, base, self._disk, now_ms)
            is_last = index == len(bases) - 1
            following = None if is_last else bases[index + 1]
            if following is not None and (clean or trusted is not None or following <= recovery_point):
                self._rolled_bytes += segment.size_bytes
                segment.close()
                continue
            start = trusted[1] if trusted is not None and trusted[0] == base else None
            if trusted is not None and trusted[0] < base:
                start = 0  # rolled after the last publication: nothing of it was published
            size_before = segment.size_bytes
            self._recover(segment, clean, start, progress)
            is_cut = segment.size_bytes < size_before
            if is_last or is_cut or self.log_end_offset != following:
                self._activate(segment, bases[: index + 1], bases[index + 1 :])
                break
            segment.finish()
            self._rolled_bytes += segment.size_bytes
            self._unsynced.append(base)
            segment.close()
        self.log_start_offset = max(log_start_offset, self._bases[0])
        self.recovery_point = min(max(recovery_point, self.log_start_offset), self.log_end_offset)
        if clean:
            self.recovery_point = self.log_end_offset
        self.epochs.truncate_from_end(self.log_end_offset + 1)
        self._load_producers()

    def _activate(self, segment: Segment, bases: list[int], lost: list[int]) -> None:
        for base in lost:
            _log.warning("segment dropped behind the end of the log partition=%s segment=%d", self.partition, base)
            remove_segment(self.directory, base)
        self._bases = bases
        self._active = segment

    def _recover(
        self, segment: Segment, clean: bool, trusted_position: int | None, progress: Callable[[], None] | None
    ) -> None:
        """Find the segment's end, cut what is behind it, and make its indexes true. Sets the log's end offset."""
        size = segment.size_bytes
        try:
            segment.offset_index.check(max(size, 1))
            segment.time_index.check()
            indexes_are_good = clean or trusted_position is not None
        except CorruptIndex as failure:
            _log.warning("index rebuilt reason=%s", failure)
            indexes_are_good = False
        end, next_offset = 0, segment.base_offset
        if indexes_are_good:
            # Whole up to here: walk the headers from the last index entry below it, which costs next to
            # nothing.
            known_end = size if trusted_position is None else min(trusted_position, size)
            segment.offset_index.truncate_to_position(known_end)
            entries = segment.offset_index.entries
            start = segment.offset_index.entry(entries - 1)[1] if entries else 0
            for found in walk(segment.fd, start, known_end, segment.base_offset, is_checked=False, progress=progress):
                end = found.position + found.size
                next_offset = found.header.last_offset + 1
                if found.header.max_timestamp > segment.max_timestamp_ms:
                    segment.max_timestamp_ms = found.header.max_timestamp
                    segment.max_timestamp_offset = found.header.last_offset
            indexes_are_good = end == known_end
            segment.time_index.truncate_to_offset(next_offset)
        if not indexes_are_good:
            segment.offset_index.truncate(0)
            segment.time_index.truncate(0)
            segment.time_index.last_timestamp = segment.max_timestamp_ms = -1
            segment.bytes_since_index = 0
            end, next_offset = 0, segment.base_offset
        interval = self.config.index_interval_bytes
        for found in walk(segment.fd, end, size, next_offset, is_checked=True, progress=progress):
            header = found.header
            segment.saw_batch(header.last_offset, found.position, found.size, header.max_timestamp, interval)
            self.epochs.assign(header.partition_leader_epoch, header.base_offset)
            end = found.position + found.size
            next_offset = header.last_offset + 1
        if segment.first_timestamp_ms < 0:
            for found in walk(segment.fd, 0, end, segment.base_offset, is_checked=False):
                segment.first_timestamp_ms = found.header.max_timestamp
                break
        if end < size:
            _log.warning(
                "log cut partition=%s segment=%d valid_bytes=%d dropped_bytes=%d",
                self.partition,
                segment.base_offset,
                end,
                size - end,
            )
            segment.truncate(end)
        self.log_end_offset = next_offset

    def _load_producers(self) -> None:
        """Snapshot, then the headers behind it."""
        replay_from = self.producers.load(self.log_end_offset)
        for index, base in enumerate(self._bases):
            following = self._bases[index + 1] if index + 1 < len(self._bases) else None
            if following is not None and following <= replay_from:
                continue
            is_active = base == self._active.base_offset
            segment = self._active if is_active else Segment(self.directory, base, self._disk, 0)
            _offset, position = segment.offset_index.lookup(replay_from)
            for found in walk(segment.fd, position, segment.size_bytes, 0, is_checked=False):
                header = found.header
                if header.producer_id < 0 or header.base_offset < replay_from or header.is_control:
                    continue
                self.producers.update(
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.record_count,
                    header.base_offset,
                    header.max_timestamp,
                )
            if not is_active:
                segment.close()
        self.producers.expire(self._clock.now_ms())


def _stamp_append_time(batch: memoryview, attributes: int, now_ms: int) -> None:
    """LogAppendTime: the leader's clock in the header; the checksum covers it, so it is made anew."""
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, attributes | LOG_APPEND_TIME_BIT)
    _TIMESTAMP.pack_into(batch, MAX_TIMESTAMP_POSITION, now_ms)
    _CRC.pack_into(batch, CRC_POSITION, crc32c(batch[ATTRIBUTES_POSITION:]))

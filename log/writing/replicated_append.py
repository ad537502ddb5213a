"""What a log takes besides a client's batches: those of its leader, with their offsets, and transaction markers; and truncation.

Runs in: the partition worker that owns the log. A follower's batches come from the leader's log as they stand there:
offsets, epochs, timestamps and sequences were judged by the leader and are kept. A marker is appended by a leader for
the transaction coordinator, which no client may do.

Source: Kafka `UnifiedLog.appendAsFollower`, `appendEndTxnMarkers`, `truncateTo`, `truncateFullyAndStartAt`; KIP-98.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from crc32c import crc32c

from headrace.errors import HeadraceError, StorageFailed
from headrace.ids import NO_EPOCH
from headrace.log.batch_walk import Step
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.index_layout import AbortedTransaction
from headrace.log.recovery.replay import build_marker_record, replay_batch
from headrace.log.segments.segment import Segment
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.producer_state import ProducerState
from headrace.log.writing.truncation import TruncationMark, cut_files, first_offset
from headrace.protocol.message_set import ENTRY_BYTES_MIN, compute_message_crc, peek_entry
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CONTROL_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_POSITION,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    TRANSACTIONAL_BIT,
    CorruptRecord,
    build_batch,
)


class OffsetsOutOfOrder(HeadraceError):
    """A leader's batch that begins before the log's end: the log has to be truncated, or the leader is not ours."""


class ReplicatedAppend:
    """The part of `PartitionLog` that is no client's."""

    directory: Path
    config: LogConfig
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    epochs: LeaderEpochs
    producers: ProducerState
    _active: Segment
    _is_begun: bool
    _disk: Disk
    _failure: StorageFailed | None
    _truncation: TruncationMark
    _roll: Callable[[], Segment]
    _roll_limits: Callable[[Segment, int], tuple[int, int, int]]
    _write: Callable[[Segment, list[memoryview], int], None]
    _after_append: Callable[[int], None]
    _fail: Callable[[str, OSError], NoReturn]
    _reload: Callable[[tuple[int, int]], None]
    position_of: Callable[[int], tuple[int, int]]

    def append_as_follower(self, records: memoryview, now_ms: int) -> int:
        """Write a leader's batches as they are.

        records   as a fetch brought them: batches one behind the other, the last one perhaps cut short. One `pwritev`
                  for all that go into one segment, no copy
        returns   the bytes taken: those of the whole batches
        raises    CorruptRecord or OffsetsOutOfOrder, for a batch that can't be (those before it are in the log);
                  StorageFailed
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        config = self.config
        segment = self._active
        limits = self._roll_limits(segment, now_ms)
        next_offset = self.log_end_offset
        place = run_start = 0
        aborted: list[AbortedTransaction] = []
        fault: HeadraceError | None = None
        while True:
            try:
                step = _batch_at(records, place)
            except CorruptRecord as failure:
                fault = failure
                break
            if step is None:
                break
            _place, size, base_offset, last_offset, max_timestamp, epoch = step[:6]
            producer_id, producer_epoch, sequence, attributes = step[6:]
            if base_offset < next_offset:
                fault = OffsetsOutOfOrder(f"batch at offset {base_offset}, the log ends at {next_offset}")
                break
            position = segment.size_bytes + place - run_start
            if last_offset > limits[0] or (
                position
                and (
                    position + size > config.segment_bytes
                    or max_timestamp > limits[1]
                    or segment.index_entries_due >= limits[2]
                )
            ):
                self._write_run(segment, records[run_start:place], next_offset, aborted)
                # A gap of the leader's is one of ours. An old entry may hold records before the offset that it names.
                is_old = records[place + MAGIC_POSITION] < MAGIC_V2
                self.log_end_offset = next_offset if is_old else base_offset
                segment = self._roll()
                position, run_start = 0, place
            if epoch > self.epochs.latest:
                self._write_run(segment, records[run_start:place], next_offset, aborted)
                run_start = place
                self._assign_epoch(epoch, base_offset)
            segment.saw_batch(last_offset, position, size, max_timestamp, config.index_interval_bytes)
            if not position:
                limits = self._roll_limits(segment, now_ms)
            if producer_id >= 0:
                batch = records[place : place + size]
                ended = replay_batch(
                    self.producers, producer_id, producer_epoch, sequence, attributes, base_offset, last_offset,
                    now_ms, lambda batch=batch: batch,  # type: ignore[misc]
                )  # fmt: skip
                if ended is not None:
                    aborted.append(ended)
            place += size
            next_offset = last_offset + 1
        self._write_run(segment, records[run_start:place], next_offset, aborted)
        if place:
            self._after_append(now_ms)
        if fault is not None:
            raise fault
        return place

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_abort: bool,
        leader_epoch: int,
        now_ms: int,
    ) -> tuple[int, int]:
        """End a producer's transaction, for the coordinator (WriteTxnMarkers).

        returns   (0, offset of the marker), or (INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED, -1)
        raises    StorageFailed
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        error = self.producers.check_marker(producer_id, producer_epoch, coordinator_epoch)
        if error:
            return error, -1
        if leader_epoch > self.epochs.latest:
            self._assign_epoch(leader_epoch, self.log_end_offset)
        offset = self.log_end_offset
        batch = build_batch(
            [build_marker_record(is_abort, coordinator_epoch)],
            base_offset=offset,
            timestamp_ms=now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            leader_epoch=leader_epoch,
            attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
        )
        segment = self._active
        last_offset_max, roll_ms, index_room = self._roll_limits(segment, now_ms)
        if segment.size_bytes and (
            segment.size_bytes + len(batch) > self.config.segment_bytes
            or offset > last_offset_max
            or now_ms > roll_ms
            or segment.index_entries_due >= index_room
        ):
            segment = self._roll()
        segment.saw_batch(offset, segment.size_bytes, len(batch), now_ms, self.config.index_interval_bytes)
        ended = self.producers.end_transaction(producer_id, producer_epoch, coordinator_epoch, offset, is_abort, now_ms)
        self._write_run(segment, memoryview(batch), offset + 1, [] if ended is None else [ended])
        self._after_append(now_ms)
        return 0, offset

    def truncate_to(self, offset: int) -> bool:
        """Cut the log so that it ends at `offset`, or at the beginning of the batch that holds it.

        Producers, epochs, indexes and the recovery point follow. The caller has taken the high watermark back before.

        returns   whether anything was cut
        raises    StorageFailed
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if offset >= self.log_end_offset:
            return False
        try:
            if offset < self.log_start_offset:
                self._restart_at(offset)
            else:
                segment, position = self.position_of(offset)
                cut_at = min(offset, first_offset(self.directory, segment, position, offset))
                self._truncation.write(cut_at, self.log_end_offset)
                self._active.close()
                cut_files(self.directory, segment, position, self._disk)
                self._reload((segment, position))
            self.epochs.truncate_from_end(self.log_end_offset)
        except OSError as failure:
            self._fail("truncation", failure)
        except HeadraceError as failure:
            self._fail("truncation", OSError(str(failure)))
        return True

    def restart_at(self, offset: int) -> None:
        """Drop every record; the log begins and ends at `offset`: a follower whose leader begins behind its end.

        raises   StorageFailed
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        try:
            self._restart_at(offset)
            self.epochs.replace([])
        except OSError as failure:
            self._fail("truncation", failure)

    def take_over(self, other: ReplicatedAppend) -> None:
        """A copy that has every batch of another log knows what is not in the batches too: epochs and producers.

        raises   StorageFailed
        """
        assert other.log_end_offset == self.log_end_offset
        self.producers.take_over(other.producers)
        try:
            self.epochs.replace(other.epochs.entries)
        except OSError as failure:
            self._fail("leader epochs", failure)

    def _restart_at(self, offset: int) -> None:
        self._truncation.write(0, max(self.log_end_offset, offset))
        self._active.close()
        cut_files(self.directory, -1, 0, self._disk)
        self.log_start_offset = offset
        self._reload((offset, 0))

    def _write_run(self, segment: Segment, run: memoryview, end_offset: int, aborted: list[AbortedTransaction]) -> None:
        """Write batches, then the aborted transactions whose markers are among them."""
        self._write(segment, [run] if len(run) else [], end_offset)
        try:
            for one in aborted:
                segment.transaction_index.append(one)
        except OSError as failure:
            self._fail("transaction index", failure)
        aborted.clear()

    def _assign_epoch(self, epoch: int, offset: int) -> None:
        try:
            # Where the first one of a new log is lost, there is no file, or an empty one, and the batches tell the epochs.
            is_first = self._is_begun and self.epochs.latest == NO_EPOCH
            self.epochs.assign(epoch, offset, is_durable=not is_first)
        except OSError as failure:
            self._fail("leader epoch", failure)


def _batch_at(records: memoryview, place: int) -> Step | None:
    """The batch at a place, or the entry of an old format; None where what is left is cut short.

    raises   CorruptRecord, where it contradicts itself or its checksum
    """
    left = len(records) - place
    if left < ENTRY_BYTES_MIN:
        return None
    if records[place + MAGIC_POSITION] < MAGIC_V2:
        return _old_entry_at(records, place)
    if left < HEADER_BYTES:
        return None
    (
        base_offset, length, epoch, magic, crc, attributes, last_delta,
        _base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, _count,
    ) = HEADER.unpack_from(records, place)  # fmt: skip
    size = length + LOG_OVERHEAD_BYTES
    if magic != MAGIC_V2 or size < HEADER_BYTES or last_delta < 0:
        raise CorruptRecord(f"no batch at byte {place}: magic {magic}, length {length}")
    if size > left:
        return None
    if crc32c(records[place + ATTRIBUTES_POSITION : place + size]) != crc:
        raise CorruptRecord(f"batch at offset {base_offset}: checksum differs")
    return Step(
        place, size, base_offset, base_offset + last_delta, max_timestamp, epoch,
        producer_id, producer_epoch, sequence, attributes,
    )  # fmt: skip


def _old_entry_at(records: memoryview, place: int) -> Step | None:
    length = records[place + LENGTH_POSITION : place + LENGTH_POSITION + 4]
    size = int.from_bytes(length, "big", signed=True) + LOG_OVERHEAD_BYTES
    if size > len(records) - place:
        return None
    entry = peek_entry(records, place, place + size)
    if entry is None or compute_message_crc(records, place, entry.size) != entry.crc:
        raise CorruptRecord(f"no entry at byte {place}: {size} bytes")
    offset = entry.last_offset
    return Step(place, size, offset, offset, entry.timestamp_ms, -1, -1, -1, -1, entry.attributes)

"""What a follower appends: its leader's batches, as they stand in the leader's log.

Offsets, epochs, timestamps and sequences were judged by the leader and are kept. One `pwritev` for all batches of a call
that go into one segment, from where they were received: no copy. Most batches are taken many at once by the record kernel
(`Segment.take_run`); what stops it is taken by itself, here, and what is wrong with it is said here.

Epochs grow along a log. A batch of an earlier epoch than the latest one goes on where that has no record: it was assigned to a leader
that wrote nothing, and is forgotten. Kept, it would say of the epoch before that it ended there.

Runs in: the partition worker that owns the partition. Source: Kafka `UnifiedLog.appendAsFollower`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH
from headrace.log.config import LogConfig
from headrace.log.index_layout import RELATIVE_OFFSET_MAX, AbortedTransaction
from headrace.log.recovery.replay import NEVER_OFFSET, replay_batch
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.producer_state import ProducerState
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.log_tail import LogTail
from headrace.log.writing.segment_list import SegmentList
from headrace.memory import view
from headrace.protocol.message_set import ENTRY_BYTES_MIN, compute_message_crc, peek_entry
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    CorruptRecord,
    crc_from,
    entry_bytes,
    unpack_header,
)

# Of one batch: size, first and last offset, largest timestamp, leader epoch, producer's id and epoch, first sequence, attributes.
Facts = tuple[int, int, int, int, int, int, int, int, int]

_PRODUCED: Final = Struct("=6q")  # of `Segment.take_run`


class OffsetsOutOfOrder(HeadraceError):
    """A leader's batch that begins before the log's end: the log has to be truncated, or the leader is not ours."""


class FollowerAppend:
    """Of one log."""

    __slots__ = ("_epochs", "_latch", "_producers", "_segments", "_tail")

    def __init__(
        self,
        segments: SegmentList,
        tail: LogTail,
        epochs: LeaderEpochs,
        producers: ProducerState,
        latch: FailureLatch,
    ) -> None:
        self._segments = segments
        self._tail = tail
        self._epochs = epochs
        self._producers = producers
        self._latch = latch

    def append(self, records: memoryview, config: LogConfig, now_ms: int) -> int:
        """Write a leader's batches as they are.

        records   as a fetch brought them: batches side by side, the last one perhaps cut short
        returns   the bytes taken: those of the whole batches
        raises    CorruptRecord or OffsetsOutOfOrder, for a batch that can't be (those before it are in the log);
                  StorageFailed
        """
        self._latch.check()
        segments, tail = self._segments, self._tail
        segment = segments.active
        segment.set_limits(config)
        next_offset = segments.end_offset
        latest_epoch = self._epochs.latest
        is_epoch_empty = self._epochs.is_last_empty(next_offset)
        place = run_start = 0
        aborted: list[AbortedTransaction] = []
        fault: HeadraceError | None = None
        while True:
            position = segment.size_bytes + place - run_start
            run = None
            if not is_epoch_empty:
                run = segment.take_run(records, place, position, next_offset, latest_epoch)
            if run is not None:
                taken, next_offset, produced = run
                place += taken
                position += taken
                if produced:
                    self._note_producers(produced, now_ms)
            try:
                step = _batch_at(records, place)
            except CorruptRecord as failure:
                fault = failure
                break
            if step is None:
                break
            (
                size, base_offset, last_offset, max_timestamp, epoch,
                producer_id, producer_epoch, sequence, attributes,
            ) = step  # fmt: skip
            if base_offset < next_offset:
                fault = OffsetsOutOfOrder(f"batch at offset {base_offset}, the log ends at {next_offset}")
                break
            if last_offset >= NEVER_OFFSET:
                fault = CorruptRecord(f"batch at offset {base_offset}: it ends at {last_offset}, after all offsets")
                break
            if is_epoch_empty and 0 <= epoch < latest_epoch:
                tail.drop_empty_epoch()
                latest_epoch = self._epochs.latest
            is_epoch_empty = False
            if epoch > latest_epoch:
                tail.write_run(records[run_start:place], next_offset, aborted)
                run_start = place
            if not segment.take_batch(last_offset, position, size, max_timestamp):
                tail.write_run(records[run_start:place], next_offset, aborted)
                # It begins where the log ends (`log/state/compacted_offset.py`), as in Kafka, unless a gap of the leader's is too wide.
                segment_base = max(next_offset, last_offset - RELATIVE_OFFSET_MAX)
                if segment_base > next_offset:
                    segments.note_holes(segment_base)
                segments.end_offset = segment_base
                segment = tail.roll(config)
                run_start = place
                fits = segment.take_batch(last_offset, 0, size, max_timestamp)
                assert fits
            if epoch > latest_epoch:
                tail.begin_epoch(epoch, base_offset)
                latest_epoch = epoch
            elif epoch < 0 <= latest_epoch and records[place + MAGIC_POSITION] < MAGIC_V2:
                tail.forget_epochs()  # what follows tells of no epoch: the log's latest one says nothing of its end any more
                latest_epoch = NO_EPOCH
            if producer_id >= 0:
                batch = records[place : place + size]
                ended = replay_batch(
                    self._producers, producer_id, producer_epoch, sequence, attributes, base_offset, last_offset,
                    now_ms, lambda batch=batch: batch,  # type: ignore[misc]
                )  # fmt: skip
                if ended is not None:
                    aborted.append(ended)
            place += size
            next_offset = last_offset + 1
        tail.write_run(records[run_start:place], next_offset, aborted)
        if place:
            tail.settle(config)
        if fault is not None:
            raise fault
        return place

    def _note_producers(self, produced: bytes, now_ms: int) -> None:
        for producer_id, epoch, sequence, is_transactional, first_offset, last_delta in _PRODUCED.iter_unpack(produced):
            self._producers.update(producer_id, epoch, sequence, last_delta, first_offset, now_ms, is_transactional)


def _batch_at(records: memoryview, place: int) -> Facts | None:
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
    ) = unpack_header(records, place)  # fmt: skip
    size = length + LOG_OVERHEAD_BYTES
    if magic != MAGIC_V2 or size < HEADER_BYTES or last_delta < 0:
        raise CorruptRecord(f"no batch at byte {place}: magic {magic}, length {length}")
    if size > left:
        return None
    if crc_from(view(records, place, place + size), ATTRIBUTES_POSITION) != crc:
        raise CorruptRecord(f"batch at offset {base_offset}: checksum differs")
    return (
        size, base_offset, base_offset + last_delta, max_timestamp, epoch, producer_id, producer_epoch, sequence,
        attributes,
    )  # fmt: skip


def _old_entry_at(records: memoryview, place: int) -> Facts | None:
    size = entry_bytes(records, place)
    if size > len(records) - place:
        return None
    entry = peek_entry(records, place, place + size)
    if entry is None or compute_message_crc(records, place, entry.size) != entry.crc:
        raise CorruptRecord(f"no entry at byte {place}: {size} bytes")
    offset = entry.last_offset
    return (size, offset, offset, entry.timestamp_ms, -1, -1, -1, -1, entry.attributes)

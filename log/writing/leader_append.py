"""What a leader appends: batches of clients and of coordinators, and the markers that end transactions.

The append is the node's hot path. For a call with n batches of s bytes in all it costs, checksum and page cache apart:

    bytes      s read once (CRC-32C), s copied once by the kernel; stamps: 16 bytes a batch, in place
    syscalls   one `pwritev` for up to IOV_MAX batches of one segment
    copies     none of ours: the batches are written from where the ring holds them
    time       1 us a batch, 2 with a producer id (`bench/append.py`)

and an index entry every `index.interval.bytes`.

Runs in: the partition worker that owns the partition.
Source: Kafka `UnifiedLog.appendAsLeader`, `LogValidator`, `appendEndTxnMarkers`; KIP-98.
"""

from __future__ import annotations

from headrace.log.config import LogConfig
from headrace.log.recovery.replay import build_marker_record
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.producer_state import NOT_VERIFIED, ProducerState
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.log_tail import LogTail
from headrace.log.writing.segment_list import SegmentList
from headrace.log.writing.validator import (
    PLAIN_ATTRIBUTES,
    TIME_MIN,
    bounds_at,
    fault_of,
    rules_at,
    stamp_append_time,
    stamp_create_time,
)
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    build_batch,
    crc_from,
    stamp,
    unpack_header,
)

Result = tuple[int, int, int]  # (error, base offset, log append time or -1)


class LeaderAppend:
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

    def append(
        self,
        batches: list[memoryview],
        leader_epoch: int,
        config: LogConfig,
        now_ms: int,
        is_of_coordinator: bool = False,
        must_verify: bool = False,
    ) -> list[Result]:
        """Check, stamp and write batches, one result for each.

        batches             each one produce payload, writable, in the order of arrival; stamped in place
        is_of_coordinator   the node's own coordinator made them: one with a producer id has no sequence, and is judged by
                            its epoch alone
        must_verify         a batch that begins a transaction without a valid `Verification` gets (NOT_VERIFIED, -1, -1), and
                            so does what its producer has after it
        returns             (0, base offset, log append time or -1), or (error, -1, -1) for a batch that was refused; a
                            duplicate of an idempotent producer is answered with the offset it had
        raises              StorageFailed, where the disk refused: the log is out of service, and what became of the
                            batches of this call is unknown (those that went into a segment before it rolled are in the log)
        """
        if self._latch.reason is not None:
            self._latch.check()
        segments = self._segments
        if leader_epoch > self._epochs.latest:
            self._tail.begin_epoch(leader_epoch, segments.end_offset)
        max_bytes, is_append_time, earliest_ms, latest_ms = bounds_at(config, now_ms)
        append_time_ms = now_ms if is_append_time else -1
        check, update = self._producers.check, self._producers.update
        next_offset = segments.end_offset
        segment = segments.active
        segment.set_limits(config)
        take_batch = segment.take_batch
        position = segment.size_bytes
        pending: list[memoryview] = []
        results: list[Result] = []
        has_repeated = False
        unverified: set[int] = set()  # producers
        for batch in batches:
            size = len(batch)
            if size < HEADER_BYTES:
                results.append((int(fault_of(batch, rules_at(config, now_ms))), -1, -1))
                continue
            (
                base_offset, length, _epoch, magic, crc, attributes, last_delta,
                base_timestamp, max_timestamp, producer_id, producer_epoch, sequence, count,
            ) = unpack_header(batch, 0)  # fmt: skip
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
                or ((sequence < 0 or producer_epoch < 0) if producer_id >= 0 else attributes & TRANSACTIONAL_BIT != 0)
                or crc_from(batch, ATTRIBUTES_POSITION) != crc
            ):
                fault = fault_of(batch, rules_at(config, now_ms), may_lack_sequence=is_of_coordinator)
                if fault:
                    results.append((int(fault), -1, -1))
                    continue
                if attributes & LOG_APPEND_TIME_BIT:
                    stamp_create_time(batch, attributes)
            if producer_id >= 0:
                in_transaction = attributes & TRANSACTIONAL_BIT
                if unverified and producer_id in unverified:
                    results.append((NOT_VERIFIED, -1, -1))
                    continue
                error, repeated = check(producer_id, producer_epoch, sequence, last_delta, in_transaction)
                if repeated is not None:
                    has_repeated = True
                    results.append((0, repeated.first_offset, repeated.timestamp_ms if is_append_time else -1))
                    continue
                if error:
                    results.append((error, -1, -1))
                    continue
                if in_transaction and must_verify and self._producers.must_verify(producer_id, producer_epoch):
                    unverified.add(producer_id)
                    results.append((NOT_VERIFIED, -1, -1))
                    continue
            if is_append_time:
                max_timestamp = now_ms
                stamp_append_time(batch, attributes, now_ms)
            last_offset = next_offset + last_delta
            if not take_batch(last_offset, position, size, max_timestamp):
                if pending:
                    self._tail.write(pending, next_offset)
                    pending = []
                take_batch = self._tail.roll(config).take_batch
                position = 0
                fits = take_batch(last_offset, 0, size, max_timestamp)
                assert fits
            stamp(batch, 0, next_offset, length, leader_epoch)
            pending.append(batch)
            if producer_id >= 0:
                update(producer_id, producer_epoch, sequence, last_delta, next_offset, now_ms, in_transaction)
            results.append((0, next_offset, append_time_ms))
            position += size
            next_offset = last_offset + 1
        if pending:
            self._tail.write(pending, next_offset)
            self._tail.settle(config)
        elif has_repeated:  # it may have been written by a call that failed before its sync
            self._tail.sync_due(config)
        return results

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_abort: bool,
        leader_epoch: int,
        config: LogConfig,
        now_ms: int,
    ) -> tuple[int, int]:
        """End a producer's transaction, for the coordinator (WriteTxnMarkers).

        returns   (0, offset of the marker), or (INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED, -1)
        raises    StorageFailed
        """
        self._latch.check()
        error = self._producers.check_marker(producer_id, producer_epoch, coordinator_epoch)
        if error:
            return error, -1
        segments = self._segments
        offset = segments.end_offset
        if leader_epoch > self._epochs.latest:
            self._tail.begin_epoch(leader_epoch, offset)
        batch = build_batch(
            [build_marker_record(is_abort, coordinator_epoch)],
            base_offset=offset,
            timestamp_ms=now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            leader_epoch=leader_epoch,
            attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
        )
        segments.active.set_limits(config)
        if not segments.active.take_batch(offset, segments.active.size_bytes, len(batch), now_ms):
            fits = self._tail.roll(config).take_batch(offset, 0, len(batch), now_ms)
            assert fits
        ended = self._producers.end_transaction(
            producer_id, producer_epoch, coordinator_epoch, offset, is_abort, now_ms
        )
        self._tail.write_run(memoryview(batch), offset + 1, [] if ended is None else [ended])
        self._tail.settle(config)
        return 0, offset

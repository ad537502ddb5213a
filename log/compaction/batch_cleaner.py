"""What compaction leaves of a run of batches: pure over bytes, an offset map and the outcome of transactions.

    record       stays where its key has no later offset in the map, and, without a value (a tombstone), until the delete
                 horizon of its batch; one after the map's last offset stays; one without a key goes
    batch        keeps base offset, last offset, leader epoch, producer, sequence, codec; its largest timestamp is that of what
                 is left. Nothing left: it goes, unless it has the last sequence of its producer: then its header stays
    horizon      set when a batch with tombstones is compacted first: now + `delete.retention.ms`, in the place of the base
                 timestamp (attributes bit 6)
    marker       of a transaction without any batch left: gets a horizon, goes after it
    aborted      records go at once

A batch that keeps all its records is passed on as it came. Source: Kafka `Cleaner.cleanInto`, `MemoryRecords.filterTo`,
`CleanedTransactionMetadata`; KIP-280 for the rules, KIP-534 for the horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.ids import NO_TIMESTAMP_MS
from headrace.limits import COMPACTED_RECORDS_MAX
from headrace.log.compaction.offset_map import OffsetMap
from headrace.log.compaction.record_columns import PADDING_BYTES, Ints, RecordColumns, hash_keys, walk_lanes
from headrace.log.compaction.segment_chunks import Batch
from headrace.log.compaction.transaction_scan import Outcome, TransactionScan, is_abort_marker
from headrace.protocol import record_kernel
from headrace.protocol.compression import compress, decompress
from headrace.protocol.record_batch import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
    CorruptRecord,
    RecordBatchHeader,
    parse_header,
    seal_batch,
)
from headrace.protocol.varint import encode_varlong

NO_HORIZON_MS = -1
RECORD_BYTES_USUAL = 64  # columns and what is computed from them take some 200 bytes a record
_INT64 = np.iinfo(np.int64)
_kept_records: Final = record_kernel.kept_records

Flags = npt.NDArray[np.bool_]
Kept = tuple[RecordBatchHeader, Any]  # the header as written, the bytes


class Lanes(NamedTuple):
    """Batches, decompressed into one buffer, and their records."""

    batches: list[Batch]
    data: npt.NDArray[np.uint8]
    columns: RecordColumns

    def per_batch(self, values: list[int]) -> Ints:
        """One value a batch as one a record."""
        return np.array(values, np.int64)[self.columns.lane]

    def offsets(self) -> Ints:
        return self.per_batch([header.base_offset for header, _ in self.batches]) + self.columns.offset_delta


def decode(batches: list[Batch], plain_bytes_max: int) -> Iterator[Lanes]:
    """Batches as columns, so many at a time as decompress to `plain_bytes_max` and have a record for each
    RECORD_BYTES_USUAL of them, or one.

    raises   CorruptRecord, CompressionError
    """
    bodies: list[Any] = []
    first = size = count = 0
    for index, (header, batch) in enumerate(batches):
        if header.record_count > COMPACTED_RECORDS_MAX:
            raise CorruptRecord(
                f"batch at offset {header.base_offset} with {header.record_count} records: the limit of compaction"
                f" is {COMPACTED_RECORDS_MAX}"
            )
        codec = header.attributes & CODEC_MASK
        body = decompress(codec, batch[HEADER_BYTES:]) if codec else batch[HEADER_BYTES:]
        size += len(body)
        count += header.record_count
        if bodies and (size > plain_bytes_max or count * RECORD_BYTES_USUAL > plain_bytes_max):
            yield _lanes(batches[first:index], bodies)
            bodies, first, size, count = [], index, len(body), header.record_count
        bodies.append(body)
    if bodies:
        yield _lanes(batches[first:], bodies)


def _lanes(batches: list[Batch], bodies: list[Any]) -> Lanes:
    data = np.frombuffer(b"".join([*bodies, bytes(PADDING_BYTES)]), np.uint8)
    ends = np.cumsum(np.array([len(body) for body in bodies], np.int64))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    counts = np.array([header.record_count for header, _ in batches], np.int64)
    return Lanes(batches, data, walk_lanes(data, starts, ends, counts))


class BatchCleaner:
    """Goes over a log's batches in order, from its first one on.

    abort_markers   offsets of the markers that stayed, for the transaction index; the caller clears it
    """

    def __init__(
        self, offsets: OffsetMap, transactions: TransactionScan, now_ms: int, delete_retention_ms: int, plain_bytes: int
    ) -> None:
        self.abort_markers: set[int] = set()
        self.records_read = 0
        self.records_kept = 0
        self._map = offsets
        self._transactions = transactions
        self._now_ms = now_ms
        self._horizon_ms = min(now_ms + delete_retention_ms, _INT64.max)
        self._plain_bytes = plain_bytes
        self._observed: set[int] = set()  # producers with a batch since their last marker

    def clean(self, batches: list[Batch]) -> list[Kept | None]:
        """What becomes of each batch, None for one that goes. raises CorruptRecord, CompressionError"""
        kept: list[Kept | None] = [None] * len(batches)
        data_at = []
        latest_offset = self._map.latest_offset
        for index, (header, batch) in enumerate(batches):
            self.records_read += header.record_count
            outcome = Outcome.COMMITTED
            if header.attributes & (TRANSACTIONAL_BIT | CONTROL_BIT):
                if header.is_control:
                    kept[index] = self._clean_control(header, batch)
                    continue
                self._observed.add(header.producer_id)
                outcome = self._transactions.outcome(header)
            if header.record_count == 0 or outcome is Outcome.ABORTED:
                kept[index] = self._emptied(header)
            elif header.base_offset > latest_offset or outcome is Outcome.OPEN:
                kept[index] = (header, batch)
                self.records_kept += header.record_count
            else:
                data_at.append(index)
        place = 0
        for lanes in decode([batches[index] for index in data_at], self._plain_bytes):
            for one in self._clean_data(lanes):
                kept[data_at[place]] = one
                place += 1
        return kept

    def _clean_control(self, header: RecordBatchHeader, batch: memoryview) -> Kept | None:
        if not header.record_count:
            return self._emptied(header)
        is_abort = is_abort_marker(bytes(batch))
        can_go = is_abort is not None and header.producer_id not in self._observed
        self._observed.discard(header.producer_id)
        horizon_ms = _horizon_of(header)
        if can_go and NO_HORIZON_MS < horizon_ms <= self._now_ms:
            return self._emptied(header)
        if is_abort:
            self.abort_markers.add(header.base_offset)
        self.records_kept += header.record_count
        if not can_go or horizon_ms > NO_HORIZON_MS:
            return header, batch
        (lanes,) = decode([(header, batch)], self._plain_bytes)
        return self._with_horizon(header, lanes, header.max_timestamp)

    def _clean_data(self, lanes: Lanes) -> Iterator[Kept | None]:
        columns, headers = lanes.columns, [header for header, _ in lanes.batches]
        offsets = lanes.offsets()
        horizons = [_horizon_of(header) for header in headers]
        keeps_deletes = lanes.per_batch([horizon < 0 or self._now_ms < horizon for horizon in horizons]).astype(bool)
        keyed = np.nonzero(columns.key_length >= 0)[0]
        is_latest = np.zeros(len(offsets), bool)
        found = self._map.get(*hash_keys(lanes.data, columns.key_start[keyed], columns.key_length[keyed]))
        is_latest[keyed] = offsets[keyed] >= found
        is_tombstone = columns.value_length < 0
        stays = (is_latest & (~is_tombstone | keeps_deletes)) | (offsets > self._map.latest_offset)
        counts = np.array([header.record_count for header in headers], np.int64)
        left = np.bincount(columns.lane[stays], minlength=len(headers))
        tombstones = np.bincount(columns.lane[stays & is_tombstone], minlength=len(headers))
        self.records_kept += int(left.sum())
        base_ms = lanes.per_batch([header.base_timestamp for header in headers])
        timestamps = np.where(stays, _saturated_sum(base_ms, columns.timestamp_delta), _INT64.min)
        first = np.cumsum(counts) - counts
        largest = np.maximum.reduceat(timestamps, first)
        needs_horizon = ((tombstones > 0) & (np.array(horizons, np.int64) < 0)).tolist()
        is_whole = (left == counts).tolist()
        kept_counts = left.tolist()
        starts = first.tolist()
        for index, (header, batch) in enumerate(lanes.batches):
            if not kept_counts[index]:
                yield self._emptied(header)
            elif is_whole[index] and not needs_horizon[index]:
                yield header, batch
            else:
                largest_ms = header.max_timestamp if header.is_log_append_time else int(largest[index])
                horizon_ms = self._horizon_ms if needs_horizon[index] else None
                start = starts[index]
                body = _body_of(lanes, header, stays, start, start + header.record_count, horizon_ms)
                if horizon_ms is not None:
                    header = _at_horizon(header, horizon_ms)
                yield _rebuilt(header, body, kept_counts[index], largest_ms)

    def _with_horizon(self, header: RecordBatchHeader, lanes: Lanes, largest_ms: int) -> Kept:
        """The whole batch with a delete horizon."""
        body = _body_of(lanes, header, np.ones(header.record_count, bool), 0, header.record_count, self._horizon_ms)
        return _rebuilt(_at_horizon(header, self._horizon_ms), body, header.record_count, largest_ms)

    def _emptied(self, header: RecordBatchHeader) -> Kept | None:
        """The header alone, where it has the last sequence of its producer."""
        if header.producer_id < 0 or not self._transactions.is_last_of_producer(header):
            return None
        return empty_batch(header)


def _at_horizon(header: RecordBatchHeader, horizon_ms: int) -> RecordBatchHeader:
    return header._replace(base_timestamp=horizon_ms, attributes=header.attributes | DELETE_HORIZON_BIT)


def _body_of(
    lanes: Lanes, header: RecordBatchHeader, stays: Flags, start: int, end: int, horizon_ms: int | None
) -> bytes:
    """What stays of the records of one batch, which are those from `start` to `end` in the columns.

    horizon_ms   becomes the base timestamp: timestamps are written again
    """
    columns = lanes.columns
    if _kept_records is not None:
        kept: bytes = _kept_records(
            lanes.data, columns.start, columns.body, columns.timestamp_end, columns.end, columns.timestamp_delta, stays,
            start, end, header.base_timestamp, horizon_ms,
        )  # fmt: skip
        return kept
    records = start + np.nonzero(stays[start:end])[0]
    if horizon_ms is None:
        return b"".join(_runs(lanes, records))
    return b"".join(_moved(lanes, records, header.base_timestamp - horizon_ms))


def _moved(lanes: Lanes, records: Ints, shift: int) -> list[Any]:
    """The bytes of records of one batch, with other timestamp deltas."""
    columns = lanes.columns
    plain = lanes.data.data
    pieces: list[Any] = []
    encoded: dict[int, bytes] = {}  # lengths and timestamps of a batch are much the same
    fields = zip(
        columns.body[records].tolist(),
        columns.timestamp_end[records].tolist(),
        columns.end[records].tolist(),
        [
            max(_INT64.min, min(_INT64.max, delta + shift)) for delta in columns.timestamp_delta[records].tolist()
        ],  # as Python's integers: a client chose the summands
        strict=True,
    )
    for body, timestamp_end, end, delta in fields:
        timestamp = encoded.get(delta)
        if timestamp is None:
            timestamp = encoded[delta] = encode_varlong(delta)
        size = 1 + len(timestamp) + end - timestamp_end
        length = encoded.get(size)
        if length is None:
            length = encoded[size] = encode_varlong(size)
        pieces += (length, plain[body : body + 1], timestamp, plain[timestamp_end:end])
    return pieces


def empty_batch(header: RecordBatchHeader) -> Kept:
    """A batch without records, for the sake of its offsets and its producer. source: `DefaultRecordBatch.writeEmptyHeader`"""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT)
    return _rebuilt(
        header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP_MS), b"", 0, header.max_timestamp
    )


def _rebuilt(header: RecordBatchHeader, body: bytes, count: int, largest_ms: int) -> Kept:
    """A batch of the same identity with other records."""
    if count:
        body = compress(header.codec, body)
    batch = seal_batch(header._replace(max_timestamp=largest_ms, record_count=count), body)
    assert count or header.base_sequence >= NO_SEQUENCE
    return parse_header(batch), batch


def _saturated_sum(left: Ints, right: Ints) -> Ints:
    """Timestamps beyond int64 stay at its end: a client chose the summands."""
    with np.errstate(over="ignore"):
        total = left + right
    has_wrapped = ((left ^ total) & (right ^ total)) < 0
    return np.where(has_wrapped, np.where(left < 0, _INT64.min, _INT64.max), total)


def _runs(lanes: Lanes, records: Ints) -> list[memoryview]:
    """The bytes of records of one batch, neighbours in one piece."""
    breaks = np.nonzero(np.diff(records) != 1)[0]
    starts = lanes.columns.start[records[np.concatenate([np.zeros(1, np.int64), breaks + 1])]].tolist()
    ends = lanes.columns.end[records[np.concatenate([breaks, np.array([len(records) - 1])])]].tolist()
    plain = lanes.data.data
    return [plain[start:end] for start, end in zip(starts, ends, strict=True)]


def _horizon_of(header: RecordBatchHeader) -> int:
    return header.base_timestamp if header.attributes & DELETE_HORIZON_BIT else NO_HORIZON_MS

"""What a fetch brought becomes batches for the target: passed on as they came where that is possible. Pure.

A batch of v2 stays as it is, compressed or not, if each offset from its first to its last has a record and the caller wants all of
them. Only its header is stamped again (`stamped`): base offset, leader epoch, producer id, epoch and sequence, the transactional bit,
the checksum. Others are opened and built again, with the same codec:

    a batch with gaps       of a compacted topic: brokers refuse it from a producer
    log append time         brokers refuse that bit from a producer; the records get it as their own time
    entries of v0 and v1    each becomes records of v2; v0 has no timestamps

Control batches are left out, and with read_committed the records of aborted transactions. The records of a `Piece` are numbered without
a gap; its `runs` say which offsets they had. A gap is either by marker (a control batch, an aborted batch: whoever reads the source
later finds the same records after it) or removed (the source has nothing at these offsets: somebody who read it earlier may have had
records there, so such a piece is verified after it was written: docs/decisions/021).

For a copy by key nothing can be passed on as it came: `sift` gives the same records one by one.

Source: Kafka `Fetcher`, `LogValidator`; KIP-98.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from headrace.ids import NO_EPOCH
from headrace.limits import MIRROR_PIECE_BYTES_MAX
from headrace.protocol.compression import Codec
from headrace.protocol.control_record import ABORT, control_type
from headrace.protocol.message_set import build_message_set, iterate_entries, read_message, records_of
from headrace.protocol.record_batch import (
    MAGIC_V2,
    CorruptRecord,
    Record,
    RecordBatchHeader,
    build_batch,
    compute_crc,
    iterate_records,
    parse_header,
    store_crc,
    store_header,
)

_LENGTH = Struct(">q")
_RECORD_COST = 40
_HEADER_COST = 10


class Run(NamedTuple):
    """Records of consecutive source offsets.

    is_after_removed   the source has nothing at offsets before it, up to the last record before
    """

    offset: int
    records: int
    is_after_removed: bool


class Piece(NamedTuple):
    """A batch for the target, before it is stamped."""

    batch: bytearray
    records: int
    runs: tuple[Run, ...]
    next_offset: int  # of the source, after its last record
    max_timestamp_ms: int
    leader_epoch: int

    @property
    def needs_proof(self) -> bool:
        """Whether another reader of the source may have had other records in its place."""
        return any(run.is_after_removed for run in self.runs)


class Passage(NamedTuple):
    """What one fetch of a partition gave.

    next_offset        where to fetch next
    is_after_removed   records are missing before it, since the last piece
    passed             batches of `pieces` that came as they are
    """

    pieces: list[Piece]
    next_offset: int
    is_after_removed: bool
    leader_epoch: int
    control_batches: int
    aborted_batches: int
    passed: int


def pass_on(
    data: memoryview, offset: int, aborted: Sequence[tuple[int, int]] | None = None, is_after_removed: bool = False
) -> Passage:
    """The records of a fetch from `offset` on.

    aborted            (first offset, producer id) of the aborted transactions in it; None: their records count like any others
    is_after_removed   as the fetch before ended
    raises             CorruptRecord, CompressionError
    """
    return _Passing(offset, aborted, is_after_removed).run(data)


class Sifted(NamedTuple):
    """Records of a fetch, each with the codec that it came in and its size.

    next_offset   what follows, in this fetch or in the next one
    """

    records: list[tuple[Record, int, int]]
    next_offset: int
    leader_epoch: int
    control_batches: int
    aborted_batches: int


def sift(data: memoryview, offset: int, aborted: Sequence[tuple[int, int]] | None, bytes_max: int) -> Iterator[Sifted]:
    """The records of a fetch from `offset` on, as `pass_on` takes them: one portion after the other, at least one.

    bytes_max   a portion ends with the batch that brings it to this many bytes of records
    raises      CorruptRecord, CompressionError
    """
    return _Sifting(offset, aborted, bytes_max).sift(data)


def size_of(record: Record) -> int:
    """Bytes of a record, uncompressed: at least what it takes in a batch."""
    _offset, _timestamp_ms, key, value, headers = record
    size = _RECORD_COST + (len(key) if key else 0) + (len(value) if value else 0)
    if headers:
        size += sum(4 * len(name) + len(content or b"") + _HEADER_COST for name, content in headers)
    return size


class _Passing:
    """One call of `pass_on`."""

    def __init__(self, offset: int, aborted: Sequence[tuple[int, int]] | None, is_after_removed: bool = False) -> None:
        self._wanted = offset  # records below were copied before
        self._expected = offset  # of the next entry, if nothing is missing
        self._is_removed = is_after_removed  # something is missing since the last record
        self._starts = list(aborted or ())
        heapq.heapify(self._starts)
        self._open_aborted: set[int] = set()
        self._pieces: list[Piece] = []
        self._old: list[Record] = []  # of v0 and v1, to become one batch
        self._old_codec = int(Codec.NONE)
        self._old_cost = 0
        self._leader_epoch = -1
        self._controls = self._aborted = self._passed = 0

    def run(self, data: memoryview) -> Passage:
        for position, size, magic in iterate_entries(data):
            entry = data[position : position + size]
            if magic < MAGIC_V2:
                self._take_old(entry)
            else:
                self._flush_old()
                self._take_batch(entry)
        self._flush_old()
        return Passage(
            self._pieces,
            self._expected,
            self._is_removed,
            self._leader_epoch,
            self._controls,
            self._aborted,
            self._passed,
        )

    def _take_batch(self, batch: memoryview) -> None:
        header = parse_header(batch)
        if compute_crc(batch) != header.crc:
            raise CorruptRecord(f"checksum mismatch in the batch at offset {header.base_offset}")
        self._expect(header.base_offset)
        self._leader_epoch = header.partition_leader_epoch
        next_offset = max(self._expected, header.last_offset + 1)
        is_aborted = self._is_aborted(batch, header)  # of a marker as well: it ends a transaction
        if header.is_control:
            self._controls += 1
        elif is_aborted:
            self._aborted += 1
        elif header.record_count == 0:
            self._is_removed = True  # the cleaner keeps an empty batch for its producer's sequence
        else:
            self._take_records(batch, header, next_offset)
        self._expected = next_offset

    def _expect(self, offset: int) -> None:
        """The next entry begins here."""
        if offset > self._expected:
            self._is_removed = True
            self._expected = offset

    def _is_aborted(self, batch: memoryview, header: RecordBatchHeader) -> bool:
        while self._starts and self._starts[0][0] <= header.last_offset:
            self._open_aborted.add(heapq.heappop(self._starts)[1])
        if header.is_control:
            record = next(iterate_records(batch), None)
            if record is not None and control_type(record.key) == ABORT:
                self._open_aborted.discard(header.producer_id)
            return False
        return header.is_transactional and header.producer_id in self._open_aborted

    def _take_records(self, batch: memoryview, header: RecordBatchHeader, next_offset: int) -> None:
        is_whole = header.record_count == header.last_offset_delta + 1 and header.base_offset >= self._wanted
        if is_whole and not header.is_log_append_time:
            run = Run(header.base_offset, header.record_count, self._is_removed)
            epoch = header.partition_leader_epoch
            piece = Piece(bytearray(batch), run.records, (run,), next_offset, header.max_timestamp, epoch)
            self._pieces.append(piece)
            self._is_removed = False
            self._passed += 1
            return
        records = [record for record in iterate_records(batch) if record.offset >= self._wanted]
        first = max(self._wanted, header.base_offset)
        self._add_built(records, header.codec, next_offset, first, header.partition_leader_epoch)

    def _take_old(self, entry: memoryview) -> None:
        message = read_message(bytes(entry))[0]
        records = [record for record in records_of(message) if record.offset >= self._wanted]
        if not records:
            self._expected = max(self._expected, message.offset + 1)
            return
        cost = sum(len(one.key or b"") + len(one.value or b"") + _RECORD_COST for one in records)
        if self._old and (message.codec != self._old_codec or self._old_cost + cost > MIRROR_PIECE_BYTES_MAX):
            self._flush_old()
        self._old += records
        self._old_codec = message.codec
        self._old_cost += cost

    def _flush_old(self) -> None:
        records, self._old, self._old_cost = self._old, [], 0
        if records:
            next_offset = records[-1].offset + 1
            self._add_built(records, self._old_codec, next_offset, self._expected, -1)
            self._expected = next_offset

    def _add_built(
        self, records: list[Record], codec: int, next_offset: int, first_offset: int, leader_epoch: int
    ) -> None:
        """One piece of records with gaps between them."""
        runs: list[Run] = []
        expected, is_removed = first_offset, self._is_removed
        for record in records:
            is_gap = record.offset != expected
            if runs and not is_gap:
                last = runs[-1]
                runs[-1] = last._replace(records=last.records + 1)
            else:
                runs.append(Run(record.offset, 1, is_gap or is_removed))
            is_removed = False
            expected = record.offset + 1
        self._is_removed = expected != next_offset or (not records and is_removed)
        if records:
            batch = bytearray(
                build_batch([one._replace(offset=index) for index, one in enumerate(records)], codec=codec)
            )
            latest_ms = max(record.timestamp_ms for record in records)
            self._pieces.append(Piece(batch, len(records), tuple(runs), next_offset, latest_ms, leader_epoch))


class _Sifting(_Passing):
    """One call of `sift`."""

    def __init__(self, offset: int, aborted: Sequence[tuple[int, int]] | None, bytes_max: int) -> None:
        super().__init__(offset, aborted)
        self._bytes_max = self._left_bytes = bytes_max
        self._records: list[tuple[Record, int, int]] = []

    def sift(self, data: memoryview) -> Iterator[Sifted]:
        for position, size, magic in iterate_entries(data):
            if self._left_bytes <= 0:
                yield self._portion()
            entry = data[position : position + size]
            if magic < MAGIC_V2:
                self._take_old(entry)
            else:
                self._take_batch(entry)
        yield self._portion()

    def _portion(self) -> Sifted:
        portion = Sifted(self._records, self._expected, self._leader_epoch, self._controls, self._aborted)
        self._records = []
        self._left_bytes = self._bytes_max
        self._controls = self._aborted = 0
        return portion

    def _take_records(self, batch: memoryview, header: RecordBatchHeader, next_offset: int) -> None:
        self._keep(iterate_records(batch), header.codec)

    def _take_old(self, entry: memoryview) -> None:
        message = read_message(bytes(entry))[0]
        self._keep(records_of(message), message.codec)
        self._expected = max(self._expected, message.offset + 1)

    def _keep(self, records: Iterable[Record], codec: int) -> None:
        wanted, total, append = self._wanted, 0, self._records.append
        for record in records:
            if record[0] >= wanted:
                size = size_of(record)
                append((record, codec, size))
                total += size
        self._left_bytes -= total


def stamped(batch: bytearray, producer_id: int, epoch: int, sequence: int) -> bytearray:
    """A batch as a producer sends it, changed where it is: no offset, no transaction, this producer, its checksum."""
    header = parse_header(batch)
    store_header(
        batch,
        header._replace(
            base_offset=0, partition_leader_epoch=NO_EPOCH, attributes=header.codec,
            producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence,
        ),
    )  # fmt: skip
    store_crc(batch)
    return batch


def without_zstd(batch: bytearray) -> bytearray:
    """For a target that does not know zstd (Produce before v7): the same records as lz4."""
    header = parse_header(batch)
    if header.codec != Codec.ZSTD:
        return batch
    return bytearray(build_batch(list(iterate_records(batch)), codec=Codec.LZ4))


def as_message_set(batch: bytearray) -> tuple[bytes, int]:
    """(records as a set of v1, headers that it has no room for): for a target before Kafka 0.11. raises   what `iterate_records` raises"""
    batch = without_zstd(batch)
    records = list(iterate_records(batch))
    lost = sum(len(record.headers) for record in records)
    return build_message_set(records, 1, parse_header(batch).codec), lost


def digest_of(batch: bytes | bytearray | memoryview) -> str:
    """A digest of keys, values and headers of a batch of v2, however it is compressed and stamped."""
    digest = blake2b(digest_size=8)
    for record in iterate_records(batch):
        parts = [record.key, record.value]
        for name, content in record.headers:
            parts += (name.encode(), content)
        for part in parts:
            digest.update(_LENGTH.pack(-1 if part is None else len(part)))
            digest.update(part or b"")
    return digest.hexdigest()

"""A range of one partition's offsets, and how to read it: from the page cache here, or over the network.

Runs in: Spark's driver (makes ranges) and Python workers (read them). The path in a range is a hint from the
cluster; a worker trusts it only if `meta.properties` there names the same cluster and broker. The end was
frozen at the high watermark, so that nothing is read that could be cut again; a file that is gone under the
reader falls back to the network.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.client.cluster import EARLIEST, Cluster
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.log.reader import SegmentFile
from headrace.log.segment import segment_bases
from headrace.properties import read_properties_file
from headrace.protocol.compression import DECOMPRESSED_BYTES_MAX, CompressionError, decompress
from headrace.protocol.old_run import read_run
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    CorruptRecord,
    RecordBatchHeader,
    parse_header,
)
from headrace.spark.columns import OFFSET, Chunk
from headrace.spark.decode import (
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    WALK_BAD,
    WALK_COMPRESSED,
    WALK_DONE,
    WALK_END,
    WALK_FULL,
    WALK_OLD,
    WALK_PAUSED,
    WALK_TRANSACTIONAL,
    walk,
    walk_records,
)

ROWS_PER_BATCH = 50_000
BYTES_PER_BATCH = 64 << 20  # of keys and values; a record batch that is larger comes whole


class CorruptSegment(HeadraceError):
    """Bytes in a segment that are no batches; names file and position."""


class TransactionsUnsupported(HeadraceError):
    """read_committed over a transactional batch: whether it was aborted can't be told yet."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets `start` <= offset < `end` of a partition.

    replicas   (broker id, host, log directory) of in-sync replicas; the directory is '' where the broker did
    not tell
    fails_on_data_loss   False: offsets that retention took since the plan are skipped
    read_committed       transactional batches are refused
    """

    topic: str
    partition: int
    start: int
    end: int
    bootstrap_servers: str
    cluster_id: str
    replicas: tuple[tuple[int, str, str], ...] = ()
    fails_on_data_loss: bool = True
    read_committed: bool = False

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> OffsetRange:
        fields = json.loads(data)
        fields["replicas"] = tuple(tuple(replica) for replica in fields["replicas"])
        return cls(**fields)


def read_range(
    one: OffsetRange, columns: Sequence[str], rows_per_batch: int = ROWS_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """The records of a range as Arrow batches.

    raises   CorruptSegment and TransactionsUnsupported, naming file and position; KafkaError or ConnectionFailed
             over the network
    """
    rows = _Rows(one, columns, rows_per_batch)
    directory = local_directory(one)
    if directory is not None:
        yield from _read_local(one, directory, rows)
    if rows.next_offset < one.end:
        yield from _read_remote(one, rows)
    yield from rows.finish()


def local_directory(one: OffsetRange) -> Path | None:
    """The partition's directory on this host, if one of its replicas lies here beyond doubt."""
    for broker_id, _host, log_dir in one.replicas:
        if not log_dir:
            continue
        directory = Path(log_dir) / f"{one.topic}-{one.partition}"
        try:
            meta = read_properties_file(Path(log_dir) / "meta.properties")
            if directory.is_dir() and (meta.get("cluster.id"), meta.get("broker.id")) == (
                one.cluster_id,
                str(broker_id),
            ):
                return directory
        except (OSError, ValueError):
            continue
    return None


class _Rows:
    """The chunk being filled, and how far the range has been read."""

    def __init__(self, one: OffsetRange, columns: Sequence[str], rows_per_batch: int) -> None:
        self._range = one
        self._columns = columns
        self._rows_per_batch = rows_per_batch
        self._refused = TRANSACTIONAL_BIT if one.read_committed else 0
        self._chunk = self._new(rows_per_batch)
        self.next_offset = one.start

    def add(self, data: Any, position: int, end: int, where: str) -> Iterator[pa.RecordBatch]:
        """Walk the batches in `data`; sets `next_offset` behind what was read. `where` names the bytes in errors."""
        low, high = self.next_offset, self._range.end
        while True:
            chunk = self._chunk
            pause = position + max(BYTES_PER_BATCH - chunk.size_bytes, 1)
            position, last, outcome = walk(
                data, position, end, pause, low, high, self._refused, chunk.rows, chunk.columns
            )
            self._take(data, last, where)
            if outcome == WALK_COMPRESSED:
                header = parse_header(data[position : position + HEADER_BYTES].tobytes())
                yield from self._add_compressed(data, position, header, where)
                position += header.size_bytes
                if header.last_offset >= high - 1:
                    self.next_offset = high
                    return
            elif outcome == WALK_PAUSED:
                if chunk.size_bytes >= BYTES_PER_BATCH:
                    yield from self._flush(0)
            elif outcome == WALK_FULL:
                count = int.from_bytes(data[position + 57 : position + 61].tobytes(), "big")
                yield from self._flush(count)
            elif outcome == WALK_BAD:
                raise CorruptSegment(f"{where}: no valid record batch at byte {position}")
            elif outcome == WALK_TRANSACTIONAL:
                raise TransactionsUnsupported(
                    f"{where}: transactional batch at byte {position}; read_committed can't tell yet whether it was "
                    "aborted, read_uncommitted reads it"
                )
            elif outcome == WALK_DONE:
                self.next_offset = high
                return
            elif outcome == WALK_OLD or _is_old_tail(data, position, end):
                position = yield from self._add_old(data, position, end, where)
                if self.next_offset >= high:
                    return
            else:
                assert outcome == WALK_END
                if position < end:
                    raise CorruptSegment(f"{where}: {end - position} bytes at byte {position} are no whole batch")
                return

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What is left in the chunk."""
        if self._chunk.rows:
            yield self._chunk.batch()

    def _add_compressed(
        self, data: Any, position: int, header: RecordBatchHeader, where: str
    ) -> Iterator[pa.RecordBatch]:
        body = memoryview(data[position + HEADER_BYTES : position + header.size_bytes])
        try:
            plain = np.frombuffer(decompress(header.codec, body, DECOMPRESSED_BYTES_MAX), np.uint8)
        except CompressionError as failure:
            raise CorruptSegment(f"{where}: the batch at byte {position}: {failure}") from None
        if not 0 <= header.record_count <= len(plain) // RECORD_BYTES_MIN:
            raise CorruptSegment(f"{where}: {header.record_count} records in {len(plain)} bytes at byte {position}")
        is_full = self._chunk.rows + header.record_count > self._chunk.capacity
        if is_full or self._chunk.size_bytes + len(plain) > BYTES_PER_BATCH:
            yield from self._flush(header.record_count)
        chunk = self._chunk
        last = walk_records(
            plain,
            0,
            len(plain),
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else -1,
            self.next_offset,
            self._range.end,
            chunk.rows,
            chunk.columns,
        )
        if last < 0:
            raise CorruptSegment(f"{where}: records of the batch at byte {position} contradict their lengths")
        self._take(plain, last, where)

    def _add_old(self, data: Any, position: int, end: int, where: str) -> Generator[pa.RecordBatch, None, int]:
        """Entries of v0 and v1; returns the position behind them."""
        high = self._range.end
        try:
            run = read_run(data, position, end, high)
        except (CorruptRecord, CompressionError) as failure:
            raise CorruptSegment(f"{where}: the entry at byte {position}: {failure}") from None
        yield from self.add(np.frombuffer(run.batch, np.uint8), 0, len(run.batch), where)
        if run.last_offset >= high - 1:
            self.next_offset = high
        return run.end

    def _take(self, source: Any, last: int, where: str) -> None:
        try:
            self._chunk.take(source, last)
        except CorruptRecord as failure:
            raise CorruptSegment(f"{where}: {failure}") from None
        if last:
            self.next_offset = max(self.next_offset, int(self._chunk.columns[OFFSET, last - 1]) + 1)

    def _flush(self, wanted_rows: int) -> Iterator[pa.RecordBatch]:
        if self._chunk.rows:
            yield self._chunk.batch()
        self._chunk = self._new(max(self._rows_per_batch, wanted_rows))

    def _new(self, capacity: int) -> Chunk:
        return Chunk(self._range.topic, self._range.partition, self._columns, capacity)


def _read_local(one: OffsetRange, directory: Path, rows: _Rows) -> Iterator[pa.RecordBatch]:
    try:
        bases = segment_bases(directory)
    except OSError:
        return  # renamed for deletion, or not readable by Spark's user: the rest comes over the network
    if not bases or bases[0] > rows.next_offset:
        return  # retention was faster: the leader knows what is lost
    for index, base in enumerate(bases):
        following = bases[index + 1] if index + 1 < len(bases) else None
        if base >= one.end or (following is not None and following <= rows.next_offset):
            continue
        try:
            segment = SegmentFile(directory, base)
        except OSError:
            return  # retired under us, or not readable: the same
        size = segment.size_bytes()
        if following is None and segment.find(one.end - 1, size) is None:
            return  # these files end below the range: ask the leader, rather than give less than was planned
        found = segment.find(rows.next_offset, size)
        if found is None:
            if following is not None:
                rows.next_offset = following
            continue
        # Unmapped when the last view of it goes: a query that stops early closes this generator with views
        # still out.
        mapped = mmap.mmap(segment.fd, size, access=mmap.ACCESS_READ)
        mapped.madvise(mmap.MADV_SEQUENTIAL)
        data = np.frombuffer(mapped, np.uint8)
        yield from rows.add(data, found[0], size, str(directory / f"{base:020d}.log"))
        del data, mapped
        if following is not None and rows.next_offset < following:
            rows.next_offset = min(following, one.end)
        elif following is None:
            rows.next_offset = one.end


def _read_remote(one: OffsetRange, rows: _Rows) -> Iterator[pa.RecordBatch]:
    name = TopicPartition(one.topic, one.partition)
    with Cluster(one.bootstrap_servers) as cluster:
        while rows.next_offset < one.end:
            try:
                for blob in cluster.fetch(name, rows.next_offset, one.end):
                    data = np.frombuffer(blob, np.uint8)
                    yield from rows.add(data, 0, len(data), f"fetch of {name}")
                rows.next_offset = one.end
            except KafkaError as failure:
                if failure.code != ErrorCode.OFFSET_OUT_OF_RANGE or one.fails_on_data_loss:
                    raise
                earliest = cluster.offsets({name: EARLIEST})[name]
                if earliest <= rows.next_offset:
                    raise
                rows.next_offset = min(earliest, one.end)


def _is_old_tail(data: Any, position: int, end: int) -> bool:
    """Whether fewer bytes than a batch's header are left, and may be an entry of v0 or v1."""
    return MAGIC_POSITION < end - position < HEADER_BYTES and data[position + MAGIC_POSITION] < MAGIC_V2

"""A reader of one topic: Arrow batches up to the high watermark as it is at the start, or on and on.

Runs in: any Python process with pyarrow; on a host with a node's segments it reads these. Keys and values are views into
the mapped segments (binary_view) where batches are not compressed: no byte of them is copied. Only the columns that are asked for
are built; `where` drops rows before they are handed on.

    plan (offsets of all partitions) -> each partition's range, batch by batch -> follow: plan again from where each ended

What it gives to others: a stream of the Arrow C interface (`__arrow_c_stream__`), which DuckDB, Polars and pandas take as it is.

Source: Arrow PyCapsule interface.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.arrow.column_types import arrow_schema, check_columns
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.planner import plan
from headrace.arrow.ranges import read_range
from headrace.arrow.read_places import ReadPlaces
from headrace.arrow.row_filter import RowFilter
from headrace.arrow.scan_options import Bound, ScanOptions
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.ids import TopicPartition

DEFAULT_COLUMNS = ("partition", "offset", "timestamp", "key", "value")
ROWS_PER_BATCH = 65_536
POLL_S = 0.01  # of a tail: between two looks at the high watermarks
METADATA_S = 1.0  # and at the partitions that there are
STARTS = {"earliest": EARLIEST, "latest": LATEST}


class Reader:
    """Batches of a topic, once through.

    schema    of every batch
    offsets   by partition, the end of what was handed on, or passed over, whole: it moves when all batches of the partition were, up
              to the high watermark as it was at their start. Where to begin the next time with the same `where` (what it rules out
              without reading does not count), as long as the topic is the same and its log was not truncated
    """

    def __init__(
        self,
        options: ScanOptions,
        columns: Sequence[str],
        where: RowFilter | None,
        follows: bool,
        rows: int,
        places: ReadPlaces,
    ) -> None:
        self._options = options
        self._columns = tuple(columns)
        self._where = where
        self._follows = follows
        self._rows = rows
        self._is_closed = False
        self._refresh_s = 0.0
        self._places = places
        self.schema: pa.Schema = arrow_schema(self._columns, are_views=True)
        self.offsets: dict[int, int] = {}

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """raises   as `headrace.arrow.ranges.read_range`: CorruptRange, TopicRecreated, DataLoss, KafkaError, ConnectionFailed, ..."""
        if not self._follows:
            yield from self._read(plan(self._options))
            return
        (topic,) = self._options.topics
        with Cluster(self._options.bootstrap_servers) as cluster:
            is_new = True
            cluster.retried(lambda: None, {topic})
            self._places.begin(cluster, self._options.start.offsets)
            while not self._is_closed:
                ranges = plan(self._options) if is_new else []
                if ranges:
                    self._places.check_plan(cluster, ranges, self._positions())
                    yield from self._read(ranges)
                    self._options = self._from_here()
                else:
                    time.sleep(POLL_S)
                is_new = not self._is_closed and self._has_news(cluster, topic)

    def _read(self, ranges: Sequence[OffsetRange]) -> Iterator[pa.RecordBatch]:
        for one in ranges:
            for batch in read_range(one, self._columns, self._rows, are_views=True):
                yield from self._kept(batch)
                if self._is_closed:
                    return
            self.offsets[one.partition] = one.end

    def _has_news(self, cluster: Cluster, topic: str) -> bool:
        """Whether a partition ends after what was read of it. raises   TopicRecreated, KafkaError, ConnectionFailed"""
        now_s = time.monotonic()
        if now_s >= self._refresh_s:
            cluster.refresh([topic])
            self._refresh_s = now_s + METADATA_S
            self._places.check_id(cluster.topic_ids.get(topic, ""))
        ends = _ends(cluster, self._options)
        known = self._options.start.offsets
        return any(end > self.offsets.get(name.partition, known.get(name, 0)) for name, end in ends.items())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, iter(self))
        return reader.__arrow_c_stream__(requested_schema)

    def read_all(self) -> pa.Table:
        """Everything up to the end; not of a tail, which has none. raises   ValueError"""
        if self._follows:
            raise ValueError("a reader that follows has no end: iterate over it, or open with follow=False")
        return pa.Table.from_batches(self, self.schema)

    def close(self) -> None:
        """No more batches; those that were handed on stay valid."""
        self._is_closed = True

    def _kept(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self._where is not None:
            batch = self._where.kept(batch)
        if batch.num_rows:
            yield batch

    def _positions(self) -> dict[int, int]:
        """Where partitions are read on, of those of which that is known."""
        starts = {name.partition: offset for name, offset in self._options.start.offsets.items() if offset > 0}
        return starts | self.offsets

    def _from_here(self) -> ScanOptions:
        """The options of the next plan: partitions that are new by then are read from their beginning."""
        (topic,) = self._options.topics
        before = {name: offset for name, offset in self._options.start.offsets.items() if name.topic == topic}
        now = before | {TopicPartition(topic, index): offset for index, offset in self.offsets.items()}
        return dataclasses.replace(self._options, start=Bound(EARLIEST, offsets=now))


def open(  # as in `io.open`: it is used with its module's name
    topic: str,
    *,
    bootstrap_servers: str = "127.0.0.1:9092",
    columns: str | Sequence[str] = DEFAULT_COLUMNS,
    start: str | Mapping[int, int] = "earliest",
    end: Mapping[int, int] | None = None,
    where: pc.Expression | None = None,
    follow: bool = False,
    rows_per_batch: int = ROWS_PER_BATCH,
    check_crcs: bool = True,
    read_committed: bool = False,
) -> Reader:
    """Read a topic.

    columns          of partition, offset, timestamp, key, value, topic, timestampType, headers, key_length, value_length
    start            "earliest", "latest", or an offset by partition; partitions that it leaves out: from the beginning
    end              an offset by partition; else the high watermark as it is when the first batch is asked for
    where            an expression of pyarrow.compute over the columns; keys and values are binary to it
    follow           continue with what is written from then on, new partitions too; `close` ends it
    rows_per_batch   at most, but for a record batch that has more
    check_crcs       compare each batch with its checksum
    read_committed   without records of aborted transactions, and up to the last stable offset

    raises   ValueError, naming what is wrong with an argument
    """
    if not isinstance(topic, str) or not topic or "," in topic:
        raise ValueError(f"topic {topic!r}: expected the name of one topic")
    if isinstance(start, str) and start not in STARTS:
        raise ValueError(f"start {start!r}: expected earliest, latest, or offsets by partition")
    if follow and end is not None:
        raise ValueError("end and follow: a reader that follows has no end")
    if where is not None and not isinstance(where, pc.Expression):
        raise ValueError(
            f"where {where!r}: expected an expression, such as pyarrow.compute.field('value_length') > 100"
        )
    if rows_per_batch < 1:
        raise ValueError(f"rows_per_batch {rows_per_batch}: expected at least 1")
    begin = Bound(STARTS[start]) if isinstance(start, str) else _bound(topic, start, EARLIEST)
    options = ScanOptions(
        bootstrap_servers,
        (topic,),
        start=begin,
        end=_bound(topic, end or {}, LATEST),
        checks_crcs=check_crcs,
        read_committed=read_committed,
    )
    names = check_columns(columns)
    row_filter = None if where is None else RowFilter(where, arrow_schema(names, are_views=True))
    if row_filter is not None and not follow:  # a tail goes by what it has read
        options = dataclasses.replace(options, where=where, where_schema=row_filter.schema)
    places = ReadPlaces(topic)
    if follow and start == "latest":
        options = _pinned(options, places)
    return Reader(options, names, row_filter, follow, rows_per_batch, places)


def _bound(topic: str, offsets: Mapping[int, int], default: int) -> Bound:
    return Bound(default, offsets={TopicPartition(topic, index): offset for index, offset in offsets.items()})


def _pinned(options: ScanOptions, places: ReadPlaces) -> ScanOptions:
    """A tail begins where the log ends now, not where it ends when the first batch is asked for. `places` gets to know what is there."""
    (topic,) = options.topics
    with Cluster(options.bootstrap_servers) as cluster:
        cluster.refresh([topic])
        now = _ends(cluster, options)
        places.begin(cluster, now)
    return dataclasses.replace(options, start=Bound(EARLIEST, offsets=now))


def _ends(cluster: Cluster, options: ScanOptions) -> dict[TopicPartition, int]:
    """Where each partition that the metadata knows ends now. raises KafkaError, ConnectionFailed"""
    names = [name for name in cluster.partitions if name.topic in options.topics]
    return cluster.offsets(dict.fromkeys(names, LATEST), options.read_committed)

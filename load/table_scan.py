"""A moment of a table, and a scan of it: the rows of history and log under a projection and a filter.

    filter -> what need not be read (`pruning.py`)
    history   files whose rows all match, where only topic and partition are wanted: as many rows as their commits say, none is opened
              other files: pyarrow's scan of the columns that are wanted, or that the filter names
    log       the ranges of the moment, narrowed; only these columns are decoded, and then filtered

Rows come in the order of files and ranges. A scan runs in the thread that takes its batches: DuckDB's, Polars', the caller's. It has the
methods of a pyarrow Scanner that such readers call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from headrace.arrow.errors import DataLoss
from headrace.arrow.planner import patiently
from headrace.arrow.pushdown import narrowed_to
from headrace.arrow.ranges import OffsetRange
from headrace.arrow.scan_options import ScanOptions
from headrace.client.cluster import Cluster
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import LOAD_LIST_TRIES_MAX
from headrace.load.commits import DataFile, Snapshot
from headrace.load.contents import Contents
from headrace.load.pruning import Pruning
from headrace.load.table_rows import rows_of
from headrace.load.target import Target

CONSTANT = {"topic", "partition"}  # in all rows of a file of ours
ROWS_PER_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class Moment:
    """One commit's table, and the log after it.

    ranges   from the commit's offsets to the high watermarks as they were
    schema   of the rows of both
    """

    snapshot: Snapshot
    ranges: tuple[OffsetRange, ...]
    schema: pa.Schema

    def ends(self, topic: str) -> dict[int, int]:
        """By partition, the offset after the last one that it has."""
        known = self.snapshot.offsets.get(topic)
        loaded = dict(known.next_offsets) if known else {}
        return dict(sorted((loaded | {one.partition: one.end for one in self.ranges}).items()))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table's rows come from."""

    topic: str
    target: Target
    contents: Contents
    bootstrap_servers: str


class TableScan:
    """The rows of one moment.

    columns   in this order
    pruning   of the filter over the moment's columns
    again     another moment, where a file was removed before the first row; None: there is only this one
    """

    def __init__(
        self,
        place: Place,
        moment: Moment,
        columns: Sequence[str],
        pruning: Pruning,
        again: Callable[[], Moment] | None = None,
    ) -> None:
        self._place = place
        self._moment = moment
        self._pruning = pruning
        self._again = again
        self._names = list(columns) or ["topic"]  # of no column there are only rows, which any column counts
        self._has_none = not columns
        others = pruning.used - {*self._names}
        needed = [*self._names, *(name for name in moment.schema.names if name in others)]
        if pruning.is_opaque:
            needed = moment.schema.names  # all, in their places
        self._needed = pa.schema([_field(moment.schema, name) for name in needed])
        self.dataset_schema = moment.schema
        self.projected_schema = pa.schema([moment.schema.field(name) for name in columns])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """raises   DataLoss, BrokenTarget, what `read_range` raises; FileNotFoundError, for a file that was removed long after a merge"""
        moment = self._moment
        for tries_left in range(LOAD_LIST_TRIES_MAX - 1, -1, -1):
            has_rows = False
            try:
                for batch in self._rows(moment):
                    if batch.num_rows:
                        has_rows = True
                        yield _rows_alone(batch.num_rows) if self._has_none else batch
                return
            except FileNotFoundError as failure:
                if self._again is None or has_rows or not tries_left:
                    raise _removed(self._place.target, moment, failure) from None
                moment = self._again()

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        batches = list(self.to_batches())
        if self._has_none:
            return _rows_alone_table(sum(batch.num_rows for batch in batches))
        return pa.Table.from_batches(batches, self.projected_schema)

    def count_rows(self) -> int:
        alone = TableScan(self._place, self._moment, (), self._pruning, self._again)
        return sum(batch.num_rows for batch in alone.to_batches())

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; not more is read than they need."""
        found: list[pa.RecordBatch] = []
        left = num_rows
        with_rows = self.to_batches()
        while left > 0 and (batch := next(with_rows, None)) is not None:
            found.append(batch.slice(0, left))
            left -= found[-1].num_rows
        return pa.Table.from_batches(found, self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """Rows by their places, after all were read."""
        return self.to_table().take(indices)

    def _rows(self, moment: Moment) -> Iterator[pa.RecordBatch]:
        return itertools.chain(self._past(moment.snapshot), self._live(moment.ranges))

    def _past(self, snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
        topic, pruning = self._place.topic, self._pruning
        partly, whole = pruning.files(one for one in snapshot.files.values() if not one.is_bad and one.topic == topic)
        if CONSTANT.issuperset(self._names):
            yield from self._counted(whole)
        else:
            partly += whole
        others = tuple(one for one in snapshot.others if one.topic in ("", topic))
        if partly:
            ours = replace(snapshot, files={one.path: one for one in partly}, others=())
            yield from self._scanned(self._dataset(ours), None, pruning.is_pushed)
        if others:
            theirs = self._dataset(replace(snapshot, files={}, others=others))
            is_plain = not _have_views(theirs, pruning.used)
            yield from self._scanned(theirs, ds.field("topic") == topic, pruning.is_pushed and is_plain)

    def _dataset(self, snapshot: Snapshot) -> ds.Dataset:
        schema = self._needed
        with_topic = schema if "topic" in schema.names else schema.append(pa.field("topic", pa.string()))
        return rows_of(self._place.target, snapshot, with_topic, self._place.topic)

    def _scanned(self, rows: ds.Dataset, wanted: pc.Expression | None, is_pushed: bool) -> Iterator[pa.RecordBatch]:
        """wanted   the rows of this table, whatever is asked for"""
        if is_pushed:
            where = self._pruning.where if wanted is None else wanted & self._pruning.where
            yield from rows.to_batches(columns=self._names, filter=where)
            return
        for batch in rows.to_batches(columns=self._needed.names, filter=wanted):
            yield self._matching(batch)

    def _counted(self, files: Iterable[DataFile]) -> Iterator[pa.RecordBatch]:
        """As many rows as files have, of constants."""
        counts: dict[int, int] = {}
        for one in files:
            counts[one.partition] = counts.get(one.partition, 0) + one.rows
        for partition, count in sorted(counts.items()):
            values = {"topic": self._place.topic, "partition": partition}
            size = min(count, ROWS_PER_BATCH)
            kinds = [self._needed.field(name).type for name in self._names]
            columns = [
                pa.repeat(pa.scalar(values[name], kind), size) for name, kind in zip(self._names, kinds, strict=True)
            ]
            batch = pa.RecordBatch.from_arrays(columns, self._names)
            for done in range(0, count, ROWS_PER_BATCH):
                yield batch.slice(0, count - done)

    def _live(self, ranges: Sequence[OffsetRange]) -> Iterator[pa.RecordBatch]:
        place, schema = self._place, self._needed
        known = place.contents.schema().names
        names = tuple(name for name in schema.names if name in known)  # others are of the history alone
        contents = replace(place.contents, names=names, span=place.target.time_span)
        for one in self._narrowed(ranges):
            try:
                for batch, _dead in contents.batches(one):
                    yield self._matching(conformed(batch, schema))
            except KafkaError as failure:
                if failure.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise
                raise DataLoss(
                    f"{one.topic}-{one.partition}: offsets {one.start} to {one.end - 1} were in the log at this moment, and are no "
                    f"longer all there: retention or DeleteRecords removed some ({failure}); a new snapshot begins at the last commit"
                ) from None

    def _narrowed(self, ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
        """What of the ranges can match. raises KafkaError, ConnectionFailed"""
        pruning = self._pruning
        if pruning.where is None or not ranges:
            return list(ranges)
        by_name = {TopicPartition(one.topic, one.partition): one for one in ranges}
        bounds = {name: (one.start, one.end) for name, one in by_name.items()}
        found = pruning.may
        if self._place.contents.bad_times in ("null", "nearest"):
            found = replace(found, earliest_us=None)  # the column has other times than the log
        left = [name for name in by_name if name in pruning.partitions(by_name)]
        narrow = narrowed_to(self._offsets_at, found, left, bounds)
        return [replace(by_name[name], start=start, end=end) for name, (start, end) in narrow.items()]

    def _offsets_at(self, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        def ask() -> dict[TopicPartition, int]:
            with Cluster(servers) as cluster:
                cluster.refresh([self._place.topic])
                return cluster.offsets(wanted)

        servers = self._place.bootstrap_servers
        return patiently(ask, ScanOptions(servers))

    def _matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that match, of the columns that are wanted."""
        if self._pruning.where is not None:
            batch = batch.filter(self._pruning.where)
        return batch if batch.schema.names == self._names else batch.select(self._names)


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows in the table's types: a live column may be narrower, and of columns that other programs added there is none."""
    if batch.schema.equals(schema):
        return batch
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _have_views(rows: ds.Dataset, used: Iterable[str]) -> bool:
    """Whether files of others have, in these columns, the views of delta-rs: Arrow compares none with a string."""
    some = [name for name in used if not pa.types.is_primitive(rows.schema.field(name).type)]
    return any(_is_view(one.physical_schema, name) for one in rows.get_fragments() for name in some)


def _is_view(schema: pa.Schema, name: str) -> bool:
    kind = schema.field(name).type if name in schema.names else None
    return kind is not None and (pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _field(schema: pa.Schema, name: str) -> pa.Field:
    """Of a column; the topic there always is."""
    return schema.field(name) if name in schema.names or name != "topic" else pa.field("topic", pa.string())


def _rows_alone(count: int) -> pa.RecordBatch:
    """Rows without columns."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), count, [None]))


def _rows_alone_table(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])


def _removed(target: Target, moment: Moment, failure: FileNotFoundError) -> FileNotFoundError:
    return FileNotFoundError(
        f"{target.name}: a file of commit {moment.snapshot.number} is gone: a merge replaced it more than an hour"
        f" ago, or another program (VACUUM) removed it: read the table again, or take a new snapshot ({failure})"
    )

"""A table's rows against the records of the log, offset by offset, where the log still has them.

    in the log, not in the table
        dead letter           it is among the dead letters
        deleted               a commit of ours deleted it (`deleted_rows.py`)
        deleted by others     it was in a file of ours that the table's own log no longer has: a DELETE, a MERGE
        aborted               of a transaction that was aborted, and the table was loaded without such
        passed over           the load had no access to it (a gap)
        LOST                  none of these: a fault
    in the table, not in the log
        aborted               of such a transaction, and the table was loaded with such
        compacted             the topic is compacted
        not of the log        neither: a fault
    deleted, and in the table again: a fault

Read by windows of offsets, one partition after the other. What is compared lies between the log's start and the offset where the load
continues; what does not is named, so that nobody takes it for compared. Values are compared where they are asked for: rows of our
files, in columns that have keys and values as they came.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from headrace.arrow.planner import ranges_between
from headrace.arrow.ranges import OffsetRange, read_range
from headrace.arrow.scan_options import ScanOptions
from headrace.client.admin import Admin
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.load.commits import DataFile, LoadedRange, Snapshot, same_topic
from headrace.load.contents import DEAD_SCHEMA, RAW
from headrace.load.deleted_rows import marked, runs_of
from headrace.load.schemas import schema_from_text
from headrace.load.table_rows import rows_of
from headrace.load.target import Target

WINDOW = 4 << 20  # offsets that are compared at once
NAMED_MOST = 5  # runs of offsets in one fault
PLACES = pa.schema([(name, DEAD_SCHEMA.field(name).type) for name in ("topic", "partition", "offset")])


@dataclass
class LogComparison:
    """Offsets start <= offset < end of a partition.

    records   that the log has there; all but `rows` are in one of the counts after it
    rows      of these, that the table has

    The counts that begin with `extra` are of rows that the log does not have.
    """

    topic: str
    partition: int
    start: int
    end: int
    records: int = 0
    rows: int = 0
    dead_letters: int = 0
    deleted: int = 0
    deleted_by_others: int = 0
    aborted: int = 0
    passed_over: int = 0
    lost: int = 0
    extra_aborted: int = 0
    extra_compacted: int = 0
    extra_unknown: int = 0

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} {self.start}..{self.end}"


@dataclass
class LogFindings:
    """What a comparison found, and what it could not compare."""

    comparisons: list[LogComparison] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)


def compared_with_log(target: Target, snapshot: Snapshot, bootstrap_servers: str, is_deep: bool) -> LogFindings:
    """raises   KafkaError, ConnectionFailed: where no broker can be asked"""
    found = LogFindings()
    with Cluster(bootstrap_servers) as cluster:
        bounds = _bounds(cluster, snapshot, found)
        options = ScanOptions(
            bootstrap_servers, max_records_per_partition=WINDOW, read_committed=snapshot.is_read_committed
        )
        ranges = ranges_between(cluster, options, bounds, cluster.log_directories(), 1) if bounds else []
        policies = _policies(cluster, {name.topic for name in bounds})
    for name, (start, end) in bounds.items():
        table = _Table(target, snapshot, name)
        one = LogComparison(name.topic, name.partition, start, end)
        lost: list[np.ndarray] = []
        found.comparisons.append(one)
        for part in ranges:
            if (part.topic, part.partition) != name:
                continue
            try:
                lost.append(_compare(part, one, table, policies.get(name.topic, ""), found))
                if is_deep:
                    _compare_values(part, table, found)
            except (HeadraceError, OSError) as failure:
                found.uncompared.append(f"{name} {part.start}..{part.end}: the log can't be read: {failure}")
        offsets = np.concatenate(lost) if lost else np.empty(0, np.int64)
        if len(offsets):
            one.lost = len(offsets)
            found.faults.append(
                f"{name}: {len(offsets)} records LOST: they were loaded, the log has them, and the table lacks them, although nothing "
                f"deleted them: offsets {_named(offsets)}"
            )
    return found


def _bounds(cluster: Cluster, snapshot: Snapshot, found: LogFindings) -> dict[TopicPartition, tuple[int, int]]:
    """What both may have."""
    cluster.refresh(None)
    names = []
    for name in sorted(snapshot.next_offsets()):
        if name not in cluster.partitions:
            found.uncompared.append(f"{name}: the cluster has no such partition")
        elif not same_topic(snapshot.offsets[name.topic].topic_id, cluster.topic_ids.get(name.topic, "")):
            found.uncompared.append(f"{name}: the topic was deleted and created again")
        else:
            names.append(name)
    lows, failed = cluster.reachable_offsets(dict.fromkeys(names, EARLIEST)) if names else ({}, {})
    highs, more = cluster.reachable_offsets(dict.fromkeys(lows, LATEST)) if lows else ({}, {})
    found.uncompared += [f"{name}: {failure}" for name, failure in sorted({**failed, **more}.items())]
    bounds = {}
    for name, high in sorted(highs.items()):
        known = [one for one in snapshot.ranges if _is_of(one, snapshot, name)]
        first, after = (known[0].start, known[-1].end) if known else (0, 0)
        if high < after:
            found.faults.append(f"{name}: the table was loaded up to {after}, the log ends at {high}: it was truncated")
        start, end = max(first, lows[name]), min(after, high)
        if first < min(lows[name], after):
            found.uncompared.append(f"{name} {first}..{min(lows[name], after)}: no longer in the log")
        if start < end:
            bounds[name] = (start, end)
    old = {
        (one.topic, one.topic_id)
        for one in snapshot.ranges
        if one.topic in snapshot.offsets and one.topic_id != snapshot.offsets[one.topic].topic_id
    }
    found.uncompared += [
        f"{topic}: records loaded from the topic with id {topic_id}" for topic, topic_id in sorted(old)
    ]
    return bounds


def _is_of(one: DataFile | LoadedRange, snapshot: Snapshot, name: TopicPartition) -> bool:
    return (one.topic, one.partition) == name and one.topic_id == snapshot.offsets[name.topic].topic_id


def _policies(cluster: Cluster, topics: Iterable[str]) -> dict[str, str]:
    """cleanup.policy by topic, as far as the cluster says."""
    try:
        found = Admin(cluster).describe_configs(sorted(topics), ["cleanup.policy"], may_be_gone=True)
    except HeadraceError:
        return {}
    return {topic: some[0].value or "" for topic, some in found.items() if some}


class _Table:
    """A partition's rows, by offset."""

    def __init__(self, target: Target, snapshot: Snapshot, name: TopicPartition) -> None:
        self.name = name
        self.root = target.root
        self.files = [one for one in snapshot.files.values() if _is_of(one, snapshot, name)]
        self.gone = [one for one in snapshot.gone if _is_of(one, snapshot, name)]
        self.deleted = [
            one
            for one in snapshot.deleted
            if (one.topic, one.partition) == name and one.topic_id == snapshot.offsets[name.topic].topic_id
        ]
        self.gaps = [one for one in snapshot.ranges if one.is_gap and _is_of(one, snapshot, name)]
        self.schema = schema_from_text(snapshot.schema)
        others = dataclasses.replace(snapshot, files={})
        self._others = rows_of(target, others, PLACES, name.topic) if others.others else None

    def counts(self, start: int, end: int) -> np.ndarray:
        """How many rows each offset has."""
        found = np.zeros(end - start, np.int16)
        for one in self.files:
            if not one.is_bad:
                np.add.at(found, self._offsets(one, start, end) - start, 1)
        if self._others is not None:
            where = (
                (ds.field("topic") == self.name.topic)
                & (ds.field("partition") == self.name.partition)
                & (ds.field("offset") >= start)
                & (ds.field("offset") < end)
            )
            offsets = self._others.to_table(columns=["offset"], filter=where)["offset"].to_numpy()
            np.add.at(found, offsets - start, 1)
        return found

    def marks(self, files: Iterable[DataFile], start: int, end: int) -> np.ndarray:
        """Which offsets files have, or had; of one that can't be read: all between its first and its last."""
        found = np.zeros(end - start, bool)
        for one in files:
            found[self._offsets(one, start, end, is_needed=False) - start] = True
        return found

    def _offsets(self, one: DataFile, start: int, end: int, is_needed: bool = True) -> np.ndarray:
        """Of a file, within a window; of one that is needed and can't be read: none, which is a fault of its own."""
        nothing = np.empty(0, np.int64)
        if one.first_offset >= end or one.last_offset < start:
            return nothing
        try:
            with pq.ParquetFile(self.root / one.path) as file:
                found = file.read(columns=["offset"])["offset"].to_numpy()
        except (OSError, ValueError, KeyError):
            found = nothing if is_needed else np.arange(one.first_offset, one.last_offset + 1)
        return np.asarray(found[(found >= start) & (found < end)])


def _compare(part: OffsetRange, one: LogComparison, table: _Table, policy: str, found: LogFindings) -> np.ndarray:
    """Offsets of records that are lost."""
    start, end = part.start, part.end
    in_log = _in_log(part)
    counts = table.counts(start, end)
    in_table = counts > 0
    bad = table.marks([file for file in table.files if file.is_bad], start, end)
    deleted = np.zeros(end - start, bool)
    for some in table.deleted:
        deleted |= marked(some.row_runs, start, end) | marked(some.bad_runs, start, end)
    one.records += int(in_log.sum())
    one.rows += int((in_log & in_table).sum())
    _check_rows(table.name, start, counts, in_table & deleted, found)
    left = in_log & ~in_table
    one.dead_letters += int((left & bad).sum())
    left &= ~bad
    one.deleted += int((left & deleted).sum())
    left &= ~deleted
    by_others = left & table.marks(table.gone, start, end)
    one.deleted_by_others += int(by_others.sum())
    left &= ~by_others
    gaps = runs_of(np.empty(0, np.int64)) if not table.gaps else np.array([(gap.start, gap.end) for gap in table.gaps])
    passed = left & marked(gaps, start, end)
    one.passed_over += int(passed.sum())
    left &= ~passed
    extra = in_table & ~in_log
    if (left.any() and not part.read_committed) or (extra.any() and part.read_committed):
        other = _in_log(dataclasses.replace(part, read_committed=not part.read_committed))
        one.aborted += int((left & ~other).sum())
        one.extra_aborted += int((extra & other).sum())
        left, extra = left & other if not part.read_committed else left, extra & ~other
    _note_extra(one, extra, start, policy, found)
    return np.flatnonzero(left) + start


def _check_rows(name: TopicPartition, start: int, counts: np.ndarray, again: np.ndarray, found: LogFindings) -> None:
    twice = np.flatnonzero(counts > 1) + start
    if len(twice):
        found.faults.append(f"{name}: {len(twice)} offsets have more than one row: {_named(twice)}")
    back = np.flatnonzero(again) + start
    if len(back):
        found.faults.append(f"{name}: {len(back)} rows that were deleted are in the table again: {_named(back)}")


def _note_extra(one: LogComparison, extra: np.ndarray, start: int, policy: str, found: LogFindings) -> None:
    count = int(extra.sum())
    if not count:
        return
    name = f"{one.topic}-{one.partition}"
    if "compact" in policy:
        one.extra_compacted += count
        return
    one.extra_unknown += count
    offsets = _named(np.flatnonzero(extra) + start)
    if policy:
        found.faults.append(f"{name}: {count} rows are not in the log, which is not compacted: offsets {offsets}")
    else:
        found.uncompared.append(
            f"{name}: {count} rows that the log does not have, offsets {offsets}: the cluster does not say whether it is compacted"
        )


def _in_log(part: OffsetRange) -> np.ndarray:
    """Which offsets of a range have a record."""
    found = np.zeros(part.end - part.start, bool)
    for batch in read_range(part, ("offset",)):
        found[batch.column("offset").to_numpy() - part.start] = True
    return found


def _compare_values(part: OffsetRange, table: _Table, found: LogFindings) -> None:
    """Keys and values of rows of our files with those of the log."""
    names = [
        name
        for name in RAW
        if name in table.schema.names and table.schema.field(name).type == DEAD_SCHEMA.field(name).type
    ]
    files = [
        one for one in table.files if not one.is_bad and one.first_offset < part.end and one.last_offset >= part.start
    ]
    if not names or not files:
        return
    kinds = pa.schema([DEAD_SCHEMA.field(name) for name in ("offset", *names)])
    rows = ds.dataset([str(table.root / one.path) for one in files], schema=kinds, format="parquet", partitioning=None)
    differing: list[np.ndarray] = []
    try:
        for batch in read_range(part, ("offset", *names)):
            if batch.num_rows:
                differing.append(_differing(pa.table(batch), rows, names))
    except (OSError, ValueError) as failure:  # ArrowInvalid is a ValueError
        found.uncompared.append(f"{table.name} {part.start}..{part.end}: values of files that can't be read: {failure}")
    offsets = np.concatenate(differing) if differing else np.empty(0, np.int64)
    if len(offsets):
        found.faults.append(
            f"{table.name}: {len(offsets)} rows have another key or value than the log: offsets {_named(offsets)}"
        )


def _differing(log: pa.Table, rows: ds.Dataset, names: list[str]) -> np.ndarray:
    """Offsets at which rows are not as the log has them."""
    offsets = log["offset"]
    where = (ds.field("offset") >= offsets[0]) & (ds.field("offset") <= offsets[-1])
    ours = rows.to_table(filter=where)
    there = pc.index_in(ours["offset"], value_set=offsets.combine_chunks())
    ours, there = ours.filter(pc.is_valid(there)), pc.drop_null(there)
    logs = log.take(there)
    differs = np.zeros(ours.num_rows, bool)
    for name in names:
        equal = pc.if_else(
            pc.and_(pc.is_null(ours[name]), pc.is_null(logs[name])),
            True,
            pc.fill_null(pc.equal(ours[name], logs[name]), False),
        )
        differs |= ~np.asarray(equal.to_numpy(), bool)
    return np.asarray(ours["offset"].to_numpy()[differs])


def _named(offsets: np.ndarray) -> str:
    """The first runs of offsets."""
    runs = runs_of(offsets)
    texts = [str(start) if end == start + 1 else f"{start}..{end - 1}" for start, end in runs[:NAMED_MOST].tolist()]
    return ", ".join(texts) + (", ..." if len(runs) > NAMED_MOST else "")

"""Whether a table has what its commits say: counts by topic and hour against the files, files against offsets.

counts    records by topic and hour, as the commits counted them = the rows that the files' footers have, and those of files
          that the table no longer has
changes   what other programs deleted or added (DELETE, UPDATE, MERGE): the offsets of all rows that the table has, of each partition
          of which such a program wrote files, against what was loaded. No offset is there twice
files     each is there, with its size; its footer's offsets lie in its range; with `is_deep` its checksum
offsets   the ranges of each partition follow one another up to the committed offset; what they counted is in the files
log       where it is asked: each offset that it still has is a row of the table, or it is known why not (`log_audit.py`)
orphans   files that no commit names (said, and no fault: a loader may be writing them)
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.ids import TopicPartition
from headrace.load.commits import DataFile, LiveFile, LoadedRange, Snapshot
from headrace.load.committed_rows import checksum_of
from headrace.load.errors import BrokenTarget
from headrace.load.log_audit import LogComparison, compared_with_log
from headrace.load.orphans import orphans
from headrace.load.others_rows import places_in
from headrace.load.target import Target
from headrace.load.targets import open_target


@dataclass(frozen=True, slots=True)
class HourCount:
    """Records of a topic and an hour: as committed, as our files have them, and of files that other programs took from the table."""

    topic: str
    hour: str
    records: int
    dead_letters: int
    in_files: int
    taken: int = 0

    @property
    def agrees(self) -> bool:
        return self.records == self.in_files + self.taken


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """What of a partition was loaded: offsets start <= offset < end, but for gaps.

    deleted   of the records, by expire and delete
    """

    topic: str
    partition: int
    start: int
    end: int
    records: int
    gaps: tuple[tuple[int, int], ...] = ()
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class TableChange:
    """What other programs did to a partition's rows.

    loaded    rows that the commits count, less those that commits of ours deleted
    present   rows that the table has, by reading them
    """

    topic: str
    partition: int
    loaded: int
    present: int

    def __str__(self) -> str:
        what = f"{abs(self.loaded - self.present)} rows {'deleted' if self.present < self.loaded else 'added'}"
        if self.present == self.loaded:
            return f"{self.topic}-{self.partition}: rewritten by other programs, with all {self.loaded} rows"
        return f"{self.topic}-{self.partition}: {what} by other programs: {self.loaded} were loaded, {self.present} are there"


@dataclass
class Audit:
    """What was found; no fault: it agrees, but for what other programs changed."""

    commits: int
    hours: list[HourCount] = field(default_factory=list)
    partitions: list[PartitionOffsets] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    changes: list[TableChange] = field(default_factory=list)
    log: list[LogComparison] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)

    @property
    def records(self) -> int:
        return sum(one.records for one in self.hours)

    @property
    def verdict(self) -> str:
        """What holds, and of what: nothing agrees that was not compared."""
        if self.faults:
            return f"FAULTS: {len(self.faults)}; compared: {'; '.join(self.compared)}"
        said = "other programs changed rows, the rest agrees" if self.changes else "all agree"
        rest = f"; not compared: {'; '.join(self.uncompared)}" if self.uncompared else ""
        return f"{said}; compared: {'; '.join(self.compared)}{rest}"


def audit(to: str | os.PathLike[str] | Target, is_deep: bool = False, bootstrap_servers: str | None = None) -> Audit:
    """Check a target as of its last commit.

    is_deep             read all bytes of all files and compare their checksums; with the log also keys and values
    bootstrap_servers   of a cluster whose log is compared with the table, as far as it has the records; None: it is not
    raises              ValueError, BrokenTarget (the commits themselves contradict each other); KafkaError, ConnectionFailed
    """
    target = open_target(to)
    snapshot = target.read()
    found = Audit(snapshot.number)
    rows: dict[tuple[str, str], int] = {}
    for one in snapshot.files.values():
        fault, count = _file_fault(target, one, is_deep)
        rows[one.topic, one.hour] = rows.get((one.topic, one.hour), 0) + count
        if fault:
            found.faults.append(f"{one.path}: {fault}")
    taken: dict[tuple[str, str], int] = {}
    for one in snapshot.gone:
        taken[one.topic, one.hour] = taken.get((one.topic, one.hour), 0) + one.rows
    for hour in sorted(snapshot.counts.keys() | rows.keys()):
        found.hours.append(HourCount(*hour, *snapshot.counts.get(hour, (0, 0)), rows.get(hour, 0), taken.get(hour, 0)))
    found.faults += [
        f"{one.topic} {one.hour}: {one.records} records were committed, the files have {one.in_files + one.taken}"
        for one in found.hours
        if not one.agrees
    ]
    present = _present(target, snapshot, found)
    _check_offsets(snapshot, found, present)
    found.orphans = orphans(target)
    found.compared.append(
        f"commits, with {'all bytes' if is_deep else 'sizes and footers'} of {len(snapshot.files)} files"
    )
    if not is_deep:
        found.uncompared.append("the bytes of the files (--deep)")
    _compare_with_log(target, snapshot, found, is_deep, bootstrap_servers)
    return found


def _compare_with_log(
    target: Target, snapshot: Snapshot, found: Audit, is_deep: bool, bootstrap_servers: str | None
) -> None:
    if bootstrap_servers is None:
        found.uncompared.append("the log (--bootstrap-servers)")
        return
    if not snapshot.number:
        return
    log = compared_with_log(target, snapshot, bootstrap_servers, is_deep)
    found.log = log.comparisons
    found.faults += log.faults
    what = "offsets, keys and values" if is_deep else "offsets"
    found.compared += [f"{what} {one} with the log" for one in log.comparisons]
    found.uncompared += log.uncompared
    if not is_deep and log.comparisons:
        found.uncompared.append("keys and values of the log (--deep)")


def _file_fault(target: Target, one: DataFile, is_deep: bool) -> tuple[str, int]:
    """(what is wrong or '', rows by the footer)."""
    path = target.root / one.path
    try:
        size = path.stat().st_size
        if size != one.bytes:
            return f"{size} bytes, {one.bytes} were committed", 0
        footer = pq.read_metadata(path)
        if footer.num_rows != one.rows:
            return f"{footer.num_rows} rows by its footer, {one.rows} were committed", footer.num_rows
        offsets = _offsets_in(footer)
        if offsets is not None and offsets != (one.first_offset, one.last_offset):
            return f"offsets {offsets} by its footer, {one.first_offset}..{one.last_offset} were committed", one.rows
        if is_deep and checksum_of(path)[1] != one.checksum:
            return "its checksum is not the one that was committed", one.rows
    except FileNotFoundError:
        return "is missing", 0
    except (OSError, ValueError) as failure:  # ArrowInvalid is a ValueError
        return f"can't be read: {failure}", 0
    return "", one.rows


def _offsets_in(footer: pq.FileMetaData) -> tuple[int, int] | None:
    """Least and greatest offset by the statistics; None where it has none."""
    index = footer.schema.names.index("offset")
    found = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        column = next(group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == "offset")
        if column.statistics is None or not column.statistics.has_min_max:
            return None
        found += [column.statistics.min, column.statistics.max]
    assert index >= 0
    return (min(found), max(found)) if found else None


def _present(target: Target, snapshot: Snapshot, found: Audit) -> dict[TopicPartition, int]:
    """Rows that the table has of partitions of which other programs wrote, or took, files; by reading where they are."""
    named = {TopicPartition(one.topic, one.partition) for one in snapshot.gone}
    parts: list[pa.Table] = []
    for one in snapshot.others:
        try:
            parts.append(places_in(target.root, one))
        except (OSError, ValueError, BrokenTarget) as failure:
            found.faults.append(f"{one.path}: can't be read: {failure}")
    for part in parts:
        pairs = part.select(["topic", "partition"]).group_by(["topic", "partition"]).aggregate([])
        named.update(TopicPartition(*pair) for pair in zip(*(pairs[i].to_pylist() for i in range(2)), strict=True))
    for own in snapshot.files.values():
        if not own.is_bad and TopicPartition(own.topic, own.partition) in named:
            try:
                parts.append(places_in(target.root, LiveFile(own.path, own.topic, own.hour, own.rows, own.bytes)))
            except (OSError, ValueError):
                continue  # a fault of its own
    counts = dict.fromkeys(named, 0)
    if not parts:
        return counts
    grouped = (
        pa.concat_tables(parts)
        .group_by(["topic", "partition"])
        .aggregate([("offset", "count"), ("offset", "count_distinct")])
    )
    for row in grouped.to_pylist():
        name = TopicPartition(row["topic"], row["partition"])
        counts[name] = row["offset_count"]
        if row["offset_count"] != row["offset_count_distinct"]:
            found.faults.append(
                f"{name}: {row['offset_count']} rows of {row['offset_count_distinct']} offsets: another program wrote some twice"
            )
    return counts


def _check_offsets(snapshot: Snapshot, found: Audit, present: Mapping[TopicPartition, int]) -> None:
    """present   rows of partitions that other programs changed"""
    in_files: dict[tuple[str, str, int], int] = {}
    for one in snapshot.files.values():
        key = (one.topic, one.topic_id, one.partition)
        in_files[key] = in_files.get(key, 0) + one.rows
    deleted_by_us = {(one.topic, one.topic_id, one.partition): one.count() for one in snapshot.deleted}
    for (topic, topic_id, partition), ranges in _by_partition(snapshot):
        name = f"{topic}-{partition}"
        records = sum(one.rows for one in ranges)
        bad = sum(one.bad for one in ranges)
        rows = present.get(TopicPartition(topic, partition))
        deleted, deleted_bad = deleted_by_us.get((topic, topic_id, partition), (0, 0))
        in_own = in_files.get((topic, topic_id, partition), 0)
        if rows is not None:
            found.changes.append(TableChange(topic, partition, records - bad - deleted, rows))
        elif records != in_own + deleted + deleted_bad:
            found.faults.append(
                f"{name}: its ranges have {records} records, its files {in_own}, and {deleted + deleted_bad} were deleted"
            )
        found.faults += [
            f"{name}: offsets {before.end}..{after.start} are in no range, or in two"
            for before, after in itertools.pairwise(ranges)
            if before.end != after.start
        ]
        found.faults += [
            f"{name}: {one.rows} records in the offsets {one.start}..{one.end}"
            for one in ranges
            if one.rows > one.end - one.start
        ]
        current = snapshot.offsets.get(topic)
        if current is not None and current.topic_id == topic_id:
            end = current.next_offsets.get(partition)
            if end != ranges[-1].end:
                found.faults.append(f"{name}: loaded up to {ranges[-1].end}, the committed offset is {end}")
        gaps = tuple((one.start, one.end) for one in ranges if one.is_gap)
        found.partitions.append(
            PartitionOffsets(topic, partition, ranges[0].start, ranges[-1].end, records, gaps, deleted + deleted_bad)
        )


def _by_partition(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str, int], list[LoadedRange]]]:
    grouped: dict[tuple[str, str, int], list[LoadedRange]] = {}
    for one in snapshot.ranges:
        grouped.setdefault((one.topic, one.topic_id, one.partition), []).append(one)
    yield from grouped.items()

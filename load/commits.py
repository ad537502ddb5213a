"""What a commit says, and what all commits together say: pure values, no files.

    Change    what one commit does: files added and removed, ranges loaded, offsets after it
    Snapshot  the sum of all changes: files, offsets, what was loaded, counts by topic and hour

    snapshot N  --apply(change)-->  snapshot N + 1

A target stores changes (`parquet_target.py`: one file each; `delta_target.py`, `iceberg_target.py`: beside their own
commits). The offsets of a snapshot are where the next load begins: nothing else says that.

    range    offsets start <= offset < end of a partition, which one task read and wrote
    gap      such a range of which nothing was read: the log no longer had it
    hour     YYYY-MM-DD-HH of the records' time, UTC
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headrace.ids import TopicPartition
from headrace.load.deleted_rows import DeletedRows, before, summed
from headrace.load.errors import BrokenTarget, Gap

FORMAT = 1
COMPACT = "compact"
DELETE = "delete"
EXPIRE = "expire"
LOAD = "load"
REWIND = "rewind"
UPKEEP = (
    COMPACT,
    DELETE,
    EXPIRE,
)  # what leaves offsets and ranges as they are, so that a load may follow it, and it a load
Positions = bytes  # int64 each
RETIRED_KNOWN_MS = 7 * 86_400_000  # for this time commits know what they removed


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of records of one partition and one hour.

    path       below the target's directory
    start      of the range whose records of that hour it has
    checksum   CRC-32C of its bytes
    is_bad     records that did not decode: of the dead letters, not of the table
    """

    path: str
    topic: str
    topic_id: str
    partition: int
    hour: str
    start: int
    end: int
    rows: int
    bytes: int
    first_offset: int
    last_offset: int
    checksum: int
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class LoadedRange:
    """A range that was read, or a gap."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    rows: int
    bad: int = 0
    is_gap: bool = False


@dataclass(frozen=True, slots=True)
class TopicOffsets:
    """The next offset of each partition of a topic, which its id tells from another of its name.

    epochs   the leader epoch of the last record before that offset, by partition, as far as it is known: commits of earlier
             versions have none
    waiting  partitions that there were at the topic's first load, and had no leader: they begin where the load says. All others
             without an offset came later, and begin at 0
    """

    topic_id: str
    next_offsets: Mapping[int, int]
    epochs: Mapping[int, int] = field(default_factory=dict)
    waiting: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file that a table has by its own log, of ours or of another program.

    path          below the target's directory
    topic, hour   of its partition; '': the partition does not say
    rows          by its statistics, -1: not known
    bytes         its size
    deletes       paths of files that delete rows of it (Iceberg's merge on read)
    positions     of rows that are deleted, as int64 in order (Delta's deletion vectors)
    """

    path: str
    topic: str
    hour: str
    rows: int
    bytes: int
    deletes: tuple[str, ...] = ()
    positions: Positions = b""

    @property
    def is_partly(self) -> bool:
        """Whether not all of its rows count."""
        return bool(self.deletes or self.positions)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file of others, from which a commit of ours takes rows.

    was       the file
    becomes   the rest of its rows, in a file that is no one of ours either; None: none was left
    """

    was: LiveFile
    becomes: LiveFile | None


Offsets = Mapping[str, TopicOffsets]
Counts = Mapping[tuple[str, str], tuple[int, int]]  # (topic, hour) -> records, of them dead letters


@dataclass(frozen=True, slots=True)
class Change:
    """One commit.

    loader    who made it
    at_ms     when
    reason    load, rewind, fence; compact: the same records in other files; delete, expire: without rows that a user named
    removed   paths of files that the table no longer has; their bytes stay for readers of earlier snapshots
    forgotten ranges of the snapshot that others, or none, replace
    schema    of the table from this commit on, serialized by Arrow and in hex; '' if it stays
    is_read_committed   of a load: it read up to the last stable offset, without records of aborted transactions
    rewritten  files of others, of a rewind or a deletion
    deleted   rows that it takes from the table, not to be loaded again
    """

    loader: str
    at_ms: int
    reason: str
    offsets: Offsets
    ranges: tuple[LoadedRange, ...] = ()
    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()
    forgotten: tuple[LoadedRange, ...] = ()
    schema: str = ""
    is_read_committed: bool = False
    rewritten: tuple[Rewritten, ...] = ()
    deleted: tuple[DeletedRows, ...] = ()

    def counts(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Records by topic and hour, in the files that it adds."""
        return counted(self.added)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The sum of the commits up to `number`; 0: none.

    epoch     how many of them were no upkeep (UPKEEP): what a loader's next commit is conditional on
    ranges    what was loaded, neighbours joined
    counts    records by topic and hour, as the commits counted them: the audit compares them with the files
    retired   files that were removed, with the time in ms
    is_read_committed   as the last load read
    others, gone   what the table has beside our files, written by other programs in their place, and files of ours that it has no longer
              (`live_files.py`); no part of a commit
    deleted   rows of the ranges that commits of ours deleted, one entry for each partition
    foreign, missing   columns that other programs added to the table, and those of ours that it has no longer (`table_columns.py`);
              no part of a commit either
    column_ids   numbers of the columns, where names alone don't tell which is which in files of others; else empty
    """

    number: int = 0
    epoch: int = 0
    offsets: Offsets = field(default_factory=dict)
    files: Mapping[str, DataFile] = field(default_factory=dict)
    ranges: tuple[LoadedRange, ...] = ()
    counts: Counts = field(default_factory=dict)
    retired: Mapping[str, int] = field(default_factory=dict)
    schema: str = ""
    is_read_committed: bool = False
    others: tuple[LiveFile, ...] = ()
    gone: tuple[DataFile, ...] = ()
    deleted: tuple[DeletedRows, ...] = ()
    foreign: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    column_ids: Mapping[str, int] = field(default_factory=dict)

    def next_offset(self, name: TopicPartition) -> int | None:
        """Where loading continues; None for a partition that was never loaded."""
        known = self.offsets.get(name.topic)
        return None if known is None else known.next_offsets.get(name.partition)

    def next_offsets(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(topic, index): offset
            for topic, one in self.offsets.items()
            for index, offset in one.next_offsets.items()
        }

    def epochs(self) -> dict[TopicPartition, int]:
        """Leader epochs of the last records that were loaded, where they are known."""
        return {
            TopicPartition(topic, index): epoch
            for topic, one in self.offsets.items()
            for index, epoch in one.epochs.items()
        }


def may_follow(change: Change, expected: Snapshot, found: Snapshot) -> bool:
    """Whether a change that was made for one snapshot may be committed after a later one: where only upkeep is between
    them, or it is such, and the files that it removes are as they were. One that the table had then and has no longer was
    rewritten by another program: its rows are in files of others now, and a copy of it would bring them twice."""
    is_free = change.reason in UPKEEP or found.epoch == expected.epoch
    gone = {one.path for one in found.gone}
    others = {one.path: one for one in found.others}
    return (
        is_free
        and all(path in found.files or (path in gone and path not in expected.files) for path in change.removed)
        and all(others.get(one.was.path) == one.was for one in change.rewritten)
    )


def rebased(change: Change, found: Snapshot) -> Change:
    """A change as it is committed after a snapshot: upkeep says the offsets that were committed by then."""
    return replace(change, offsets=found.offsets) if change.reason in UPKEEP else change


def counted(files: Iterable[DataFile]) -> dict[tuple[str, str], tuple[int, int]]:
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for one in files:
        records, bad = found.get((one.topic, one.hour), (0, 0))
        found[one.topic, one.hour] = (records + one.rows, bad + one.rows * one.is_bad)
    return found


def same_topic(known_id: str, topic_id: str) -> bool:
    """Whether two ids may be one topic's; a cluster without ids gives ''."""
    return not known_id or not topic_id or known_id == topic_id


def apply(snapshot: Snapshot, change: Change) -> Snapshot:
    """The snapshot after a commit.

    raises   BrokenTarget, for a change that does not follow from the snapshot
    """
    files = dict(snapshot.files)
    counts = dict(snapshot.counts)
    gone = []
    removed = set(change.removed)
    known_gone = {one.path: one for one in snapshot.gone}
    for path in change.removed:
        if path not in files and path not in known_gone:
            raise BrokenTarget(f"commit {snapshot.number + 1} removes {path}, which no commit before it added")
        gone.append(files.pop(path) if path in files else known_gone[path])
    for one in change.added:
        if one.path in files or one.path in snapshot.retired:
            raise BrokenTarget(f"commit {snapshot.number + 1} adds {one.path} a second time")
        files[one.path] = one
    for sign, some in ((-1, counted(gone)), (1, change.counts())):
        for key, (records, bad) in some.items():
            before = counts.get(key, (0, 0))
            counts[key] = (before[0] + sign * records, before[1] + sign * bad)
    is_upkeep = change.reason in UPKEEP
    offsets = snapshot.offsets if is_upkeep else change.offsets
    forgotten = set(change.forgotten)
    return Snapshot(
        snapshot.number + 1,
        snapshot.epoch + (not is_upkeep),
        offsets,
        files,
        joined([*(one for one in snapshot.ranges if one not in forgotten), *change.ranges]),
        {key: value for key, value in counts.items() if value[0]},
        {
            **{path: at_ms for path, at_ms in snapshot.retired.items() if change.at_ms - at_ms < RETIRED_KNOWN_MS},
            **dict.fromkeys(change.removed, change.at_ms),
        },
        change.schema or snapshot.schema,
        change.is_read_committed if change.reason == LOAD else snapshot.is_read_committed,
        _without(snapshot.others, change.rewritten),
        tuple(one for one in snapshot.gone if one.path not in removed),
        _deleted_after(snapshot, change, offsets),
        snapshot.foreign,
        snapshot.missing,
        snapshot.column_ids,
    )


def _deleted_after(snapshot: Snapshot, change: Change, offsets: Offsets) -> tuple[DeletedRows, ...]:
    """raises   BrokenTarget"""
    if change.reason != REWIND and not change.deleted:
        return snapshot.deleted
    found = []
    try:
        for one in summed((*snapshot.deleted, *change.deleted)):
            now = offsets.get(one.topic)
            end = None if now is None or now.topic_id != one.topic_id else now.next_offsets.get(one.partition)
            kept = one if end is None else before(one, end)
            if kept.rows or kept.bad:
                found.append(kept)
    except ValueError as failure:
        raise BrokenTarget(f"commit {snapshot.number + 1}: {failure}") from None
    return tuple(found)


def _without(others: tuple[LiveFile, ...], rewritten: tuple[Rewritten, ...]) -> tuple[LiveFile, ...]:
    """Files of others after a rewind."""
    was = {one.was.path for one in rewritten}
    return (
        *(one for one in others if one.path not in was),
        *(one.becomes for one in rewritten if one.becomes is not None),
    )


def joined(ranges: Iterable[LoadedRange]) -> tuple[LoadedRange, ...]:
    """Neighbours of one partition as one; in order."""
    found: list[LoadedRange] = []
    for one in sorted(ranges, key=lambda one: (one.topic, one.topic_id, one.partition, one.start)):
        last = found[-1] if found else None
        is_same = last is not None and (last.topic, last.topic_id, last.partition, last.end, last.is_gap) == (
            one.topic,
            one.topic_id,
            one.partition,
            one.start,
            one.is_gap,
        )
        if last is not None and is_same:
            found[-1] = LoadedRange(
                one.topic,
                one.topic_id,
                one.partition,
                last.start,
                one.end,
                last.rows + one.rows,
                last.bad + one.bad,
                one.is_gap,
            )
        else:
            found.append(one)
    return tuple(found)


def check_change(snapshot: Snapshot, change: Change) -> None:
    """That the ranges of a load lead from the snapshot's offsets to the new ones, and that the files fill the ranges.

    raises   Gap
    """
    by_partition: dict[tuple[str, int], list[LoadedRange]] = {}
    for one in change.ranges:
        by_partition.setdefault((one.topic, one.partition), []).append(one)
    for topic, after in change.offsets.items():
        before = snapshot.offsets.get(topic)
        for partition, end in after.next_offsets.items():
            is_known = before is not None and same_topic(before.topic_id, after.topic_id)
            start = before.next_offsets.get(partition) if before is not None and is_known else None
            _check_chain(f"{topic}-{partition}", start, end, by_partition.pop((topic, partition), []))
    if by_partition:
        raise Gap(f"ranges of {sorted(by_partition)} are loaded, and their offsets are not committed")
    rows: dict[tuple[str, int, int, int], list[int]] = {}
    for file in change.added:
        found = rows.setdefault((file.topic, file.partition, file.start, file.end), [0, 0])
        found[0] += file.rows
        found[1] += file.rows * file.is_bad
        if not file.start <= file.first_offset <= file.last_offset < file.end:
            raise Gap(f"{file.path} has offsets {file.first_offset}..{file.last_offset}, outside of its range")
    for one in change.ranges:
        in_files = rows.pop((one.topic, one.partition, one.start, one.end), [0, 0])
        if in_files != [one.rows, one.bad]:
            raise Gap(
                f"{one.topic}-{one.partition} {one.start}..{one.end}: {one.rows} records were read, {one.bad} of them bad; "
                f"the files have {in_files[0]} and {in_files[1]}"
            )
    if rows:
        raise Gap(f"files of {sorted(rows)} belong to no range of the commit")


def _check_chain(name: str, start: int | None, end: int, ranges: list[LoadedRange]) -> None:
    """raises   Gap"""
    ranges = sorted(ranges, key=lambda one: one.start)
    at = start if start is not None else (ranges[0].start if ranges else end)
    for one in ranges:
        if one.start != at or one.end <= one.start:
            raise Gap(f"{name}: a range {one.start}..{one.end} where {at} is next")
        at = one.end
    if at != end:
        raise Gap(f"{name}: the ranges end at {at}, the offset to commit is {end}")


def change_to_json(change: Change) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "loader": change.loader,
        "at_ms": change.at_ms,
        "reason": change.reason,
        "offsets": _offsets_to_json(change.offsets),
        "ranges": [asdict(one) for one in change.ranges],
        "added": [asdict(one) for one in change.added],
        "removed": list(change.removed),
        "forgotten": [asdict(one) for one in change.forgotten],
        "schema": change.schema,
        "read_committed": change.is_read_committed,
        "audit": _counts_to_json(change.counts()),
        **_deleted_to_json(change.deleted),
    }


def change_from_json(found: Mapping[str, Any]) -> Change:
    """raises   BrokenTarget"""
    try:
        _check_format(found)
        change = Change(
            found["loader"],
            found["at_ms"],
            found["reason"],
            _offsets_from_json(found["offsets"]),
            tuple(LoadedRange(**one) for one in found["ranges"]),
            tuple(DataFile(**one) for one in found["added"]),
            tuple(found["removed"]),
            tuple(LoadedRange(**one) for one in found["forgotten"]),
            found["schema"],
            found.get("read_committed", False),
            deleted=tuple(DeletedRows(**one) for one in found.get("deleted", ())),
        )
        audit = _counts_from_json(found["audit"])
    except (KeyError, TypeError, ValueError) as failure:
        raise BrokenTarget(f"a commit can't be read: {failure!r}") from None
    if audit != change.counts():
        raise BrokenTarget(f"the counts of a commit by {change.loader} are not those of the files that it adds")
    return change


def snapshot_to_json(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "number": snapshot.number,
        "epoch": snapshot.epoch,
        "offsets": _offsets_to_json(snapshot.offsets),
        "files": [asdict(one) for one in snapshot.files.values()],
        "ranges": [asdict(one) for one in snapshot.ranges],
        "audit": _counts_to_json(snapshot.counts),
        "retired": dict(snapshot.retired),
        "schema": snapshot.schema,
        "read_committed": snapshot.is_read_committed,
        **_deleted_to_json(snapshot.deleted),
    }


def snapshot_from_json(found: Mapping[str, Any]) -> Snapshot:
    """raises   BrokenTarget"""
    try:
        _check_format(found)
        return Snapshot(
            found["number"],
            found["epoch"],
            _offsets_from_json(found["offsets"]),
            {one["path"]: DataFile(**one) for one in found["files"]},
            tuple(LoadedRange(**one) for one in found["ranges"]),
            _counts_from_json(found["audit"]),
            dict(found["retired"]),
            found["schema"],
            found.get("read_committed", False),
            deleted=tuple(DeletedRows(**one) for one in found.get("deleted", ())),
        )
    except (KeyError, TypeError, ValueError) as failure:
        raise BrokenTarget(f"a checkpoint can't be read: {failure!r}") from None


def _deleted_to_json(deleted: tuple[DeletedRows, ...]) -> dict[str, Any]:
    """Earlier versions pass it over."""
    return {"deleted": [asdict(one) for one in deleted]} if deleted else {}


def _check_format(found: Mapping[str, Any]) -> None:
    """raises   BrokenTarget"""
    if found.get("format") != FORMAT:
        raise BrokenTarget(f"format {found.get('format')!r} of the commit log: this version reads {FORMAT}")


def _offsets_to_json(offsets: Offsets) -> dict[str, Any]:
    """Earlier versions pass `epochs` and `waiting` over."""
    found: dict[str, Any] = {}
    for topic, one in sorted(offsets.items()):
        found[topic] = {"id": one.topic_id, "next": _by_text(one.next_offsets)}
        if one.epochs:
            found[topic]["epochs"] = _by_text(one.epochs)
        if one.waiting:
            found[topic]["waiting"] = sorted(one.waiting)
    return found


def _offsets_from_json(found: Mapping[str, Any]) -> Offsets:
    return {
        topic: TopicOffsets(
            one["id"],
            _by_number(one["next"]),
            _by_number(one.get("epochs", {})),
            frozenset(map(int, one.get("waiting", ()))),
        )
        for topic, one in found.items()
    }


def _by_text(numbers: Mapping[int, int]) -> dict[str, int]:
    return {str(index): number for index, number in sorted(numbers.items())}


def _by_number(found: Mapping[str, Any]) -> dict[int, int]:
    return {int(index): int(number) for index, number in found.items()}


def _counts_to_json(counts: Counts) -> list[list[Any]]:
    return [[topic, hour, records, bad] for (topic, hour), (records, bad) in sorted(counts.items())]


def _counts_from_json(found: Iterable[Any]) -> Counts:
    return {(topic, hour): (records, bad) for topic, hour, records, bad in found}

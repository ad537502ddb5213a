"""Small files of one partition and hour merged, in one commit that replaces them.

    clicks-0-0-100-a.0      \\
    clicks-0-100-200-b.3     }  clicks-0-0-300-c.0, rows in the order of offsets
    clicks-0-200-300-b.7    /

Offsets, counts and ranges stay as they are. A loader may commit meanwhile: each may follow the other (`commits.may_follow`), unless
one of the files is gone. The merged files stay for a while, for readers of earlier snapshots.

A file whose bytes are not those that were committed is not merged (`committed_rows.py`), and its group with it: what changed would
be right from then on.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from headrace.load.commits import COMPACT, Change, DataFile, Snapshot
from headrace.load.committed_rows import committed_rows
from headrace.load.contents import DEAD_SCHEMA
from headrace.load.data_file_writer import ROW_GROUP_BYTES, DataFileWriter
from headrace.load.data_files import Attempt, file_name, folder_of
from headrace.load.durable import sync_directory
from headrace.load.errors import BrokenTarget, DamagedFile
from headrace.load.orphans import remove_retired, run_of
from headrace.load.table_columns import own_columns
from headrace.load.target import Target
from headrace.load.targets import open_target

SMALL_BYTES = 32 << 20
MERGED_BYTES = 128 << 20
ALIKE = 4  # times as large is about as large
ALIKE_FROM_BYTES = 8 << 10  # below it a footer is most of a file

_log = logging.getLogger("headrace.load")


def compact(
    to: str | os.PathLike[str] | Target,
    *,
    small_bytes: int = SMALL_BYTES,
    compression: str = "snappy",
    retired_s: float = 3600.0,
) -> Snapshot:
    """Merge the files of a target that are smaller than `small_bytes`.

    retired_s   for which files that were merged, now or before, stay for readers
    raises      ValueError, BrokenTarget, LoadFenced (files were removed meanwhile); DamagedFile, when the others are merged
    """
    target = open_target(to)
    snapshot = target.read()
    if not snapshot.number:
        return snapshot
    damaged: dict[str, DamagedFile] = {}
    with run_of(target) as run:
        snapshot = compacted(target, run.id, snapshot, compression, mergeable(snapshot, small_bytes), damaged)
        remove_retired(target, snapshot, retired_s)
    if damaged:
        raise next(iter(damaged.values()))
    return snapshot


def compacted(
    target: Target,
    run_id: str,
    snapshot: Snapshot,
    compression: str,
    groups: Sequence[Sequence[DataFile]],
    damaged: dict[str, DamagedFile],
) -> Snapshot:
    """The snapshot after a commit that makes one file of each group; the same one where there is none.

    damaged   gets files, by path, whose bytes are not those that were committed; their groups are left out
    raises    LoadFenced
    """
    number = 1 << 40 | snapshot.number << 16  # beside those of tasks
    added, merged = [], []
    for index, group in enumerate(groups):
        try:
            added.append(_merged(target, snapshot, group, Attempt(run_id, number + index), compression))
        except DamagedFile as failure:
            damaged[failure.path] = failure
            _log.error("%d files not merged because one of them is damaged: %s", len(group), failure)
            continue
        merged.append(group)
    if not merged:
        return snapshot
    for folder in {(target.root / one.path).parent for one in added}:
        sync_directory(folder)
    target.step("merged")
    removed = tuple(one.path for group in merged for one in group)
    change = Change(run_id, int(time.time() * 1000), COMPACT, snapshot.offsets, (), tuple(added), removed)
    return target.commit(change, snapshot)


def mergeable(snapshot: Snapshot, small_bytes: int) -> list[list[DataFile]]:
    """Small files side by side, up to MERGED_BYTES together; at least two."""
    found: list[list[DataFile]] = []
    for row in _small_neighbours(snapshot, small_bytes):
        size = MERGED_BYTES
        for one in row:
            if size + one.bytes > MERGED_BYTES:
                found.append([])
                size = 0
            found[-1].append(one)
            size += one.bytes
    return [group for group in found if len(group) > 1]


def ripe(
    snapshot: Snapshot, least: int, small_bytes: int = SMALL_BYTES, damaged: Collection[str] = ()
) -> list[list[DataFile]]:
    """What a loader merges after a commit: runs of at least `least` small files, side by side and about as large; of fewer, where
    no further one has room in MERGED_BYTES beside them.

    From the newest to the oldest, a file joins those after it unless it is more than ALIKE times as large as any: it then begins the
    next run. So sixteen small files become one, sixteen of these one again, and a record is rewritten once for each such step,
    not with each merge.

    damaged   paths of files that are not merged, nor over them
    """
    found: list[list[DataFile]] = []
    for row in _small_neighbours(snapshot, small_bytes, damaged):
        run: list[DataFile] = []
        size, largest = 0, ALIKE_FROM_BYTES
        for one in reversed(row):
            is_full = size + one.bytes > MERGED_BYTES
            if is_full or one.bytes > ALIKE * largest:
                if is_full or len(run) >= least:
                    found.append(run)
                run, size, largest = [], 0, ALIKE_FROM_BYTES
            run.append(one)
            size += one.bytes
            largest = max(largest, one.bytes)
        if len(run) >= least:
            found.append(run)
    return [run[::-1] for run in found if len(run) > 1]


def _small_neighbours(snapshot: Snapshot, small_bytes: int, damaged: Collection[str] = ()) -> Iterator[list[DataFile]]:
    """Files below `small_bytes` of one partition, hour and kind, with none between them, in the order of their offsets."""
    order = sorted(snapshot.files.values(), key=lambda one: (_kind(one), one.start, one.first_offset))
    for (_, is_small), row in groupby(
        order, key=lambda one: (_kind(one), one.bytes < small_bytes and one.path not in damaged)
    ):
        if is_small:
            yield list(row)


def _kind(one: DataFile) -> tuple[object, ...]:
    return (one.topic, one.topic_id, one.partition, one.hour, one.is_bad)


def _merged(
    target: Target, snapshot: Snapshot, group: Sequence[DataFile], attempt: Attempt, compression: str
) -> DataFile:
    """raises   DamagedFile; BrokenTarget, where the files don't have the rows that were committed"""
    first = group[0]
    start, end = min(one.start for one in group), max(one.end for one in group)
    schema = DEAD_SCHEMA if first.is_bad else own_columns(snapshot)
    name = file_name(first.topic, first.partition, start, end, attempt)
    path = f"{folder_of(first.topic, first.hour, first.is_bad)}/{name}"
    writer = DataFileWriter(target.root / path, schema, compression, 0)
    try:
        for one in group:
            for batch in committed_rows(target.root, one, schema):
                writer.add(batch)
                if writer.waiting_bytes >= ROW_GROUP_BYTES:
                    writer.write()
        rows = sum(one.rows for one in group)
        if writer.rows != rows:
            raise BrokenTarget(f"{path}: {writer.rows} rows in the files to merge, {rows} were committed")
        size, checksum = writer.finish()
    except BaseException:
        writer.discard()
        raise
    return DataFile(
        path,
        first.topic,
        first.topic_id,
        first.partition,
        first.hour,
        start,
        end,
        rows,
        size,
        writer.first_offset,
        writer.last_offset,
        checksum,
        first.is_bad,
    )

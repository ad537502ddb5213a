"""Rows taken out of a table, in one commit: what `headrace load expire` and `headrace load delete` have in common.

    choose     which rows of each file go                      nothing is written yet: a dry run ends here
    rewrite    files that lose some rows, without these        a file that loses all of them is not written again
    commit     old files out, new ones in, deleted offsets     or nothing, where the table lost one of the files meanwhile

Our files keep what they are: partition, hour and range; with fewer rows. Files of others are written again as files of others.
Offsets and ranges stay, so a load continues, and nothing of it comes back. A load may commit meanwhile. Where another program, or
a merge, replaced one of the files, all of it is done again on what there is now, LOAD_UPKEEP_TRIES_MAX times at most.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.ids import TopicPartition
from headrace.limits import LOAD_UPKEEP_TRIES_MAX
from headrace.load.commits import Change, DataFile, LiveFile, Rewritten, Snapshot
from headrace.load.committed_rows import known_offsets
from headrace.load.contents import DEAD_SCHEMA
from headrace.load.data_files import Attempt
from headrace.load.deleted_rows import DeletedRows, deleted_rows, summed
from headrace.load.durable import sync_directory
from headrace.load.errors import DamagedFile, LoadFenced
from headrace.load.orphans import run_of
from headrace.load.others_rows import discard, instants_of, places_in, without
from headrace.load.partial_copy import partial_copy
from headrace.load.schemas import schema_from_text
from headrace.load.table_rows import deleted_positions
from headrace.load.target import Target

_log = logging.getLogger("headrace.load")


class Choice(Protocol):
    """Which rows go: for each file a mark for each of its rows, or None where all stay."""

    def of_ours(self, target: Target, one: DataFile, schema: pa.Schema) -> np.ndarray | None: ...

    def of_others(self, target: Target, one: LiveFile, schema: pa.Schema) -> np.ndarray | None: ...

    def takes_gone(self, one: DataFile) -> bool:
        """Whether all rows go of a file that another program took from the table: what it left of them, and what it deleted."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file of ours or of others, and what goes.

    goes   by position
    rows   that count and go; fewer than marks where another file deleted some of them
    """

    file: DataFile | LiveFile
    goes: np.ndarray
    rows: int

    @property
    def is_whole(self) -> bool:
        return bool(self.goes.all())

    @property
    def is_bad(self) -> bool:
        return isinstance(self.file, DataFile) and self.file.is_bad


@dataclass(frozen=True, slots=True)
class Removal:
    """What a commit took from a table.

    commit         its number; 0: none was made, since there was nothing to take, or it was a dry run
    rows           of the table
    dead_letters   beside them
    files          that had any of these
    bytes          of those files, less what was written again; in a dry run all of theirs
    deleted        offsets by partition
    """

    commit: int
    rows: int
    dead_letters: int
    files: int
    bytes: int
    deleted: tuple[DeletedRows, ...] = ()


def removed(
    target: Target, reason: str, choice: Choice, is_dry_run: bool = False
) -> tuple[Removal, list[Chosen], Snapshot]:
    """Take what is chosen out of the table.

    returns   what was taken, from which files, and the table's snapshot after it
    raises    LoadFenced, where files were replaced again and again; BrokenTarget, DamagedFile, OSError, and the target's own errors:
              nothing was changed
    """
    for tries_left in range(LOAD_UPKEEP_TRIES_MAX - 1, -1, -1):
        snapshot = target.read()
        try:
            chosen = choose(target, snapshot, choice)
            if is_dry_run or not chosen:
                return replace(removal_of(chosen), deleted=_deleted(target, snapshot, chosen)), chosen, snapshot
            with run_of(target) as run:
                found, after = remove(target, run.id, snapshot, reason, chosen, choice)
            return found, chosen, after
        except (LoadFenced, FileNotFoundError, DamagedFile) as failure:
            if not tries_left or target.read() == snapshot:  # else a file was replaced, and then a vacuum took it
                raise
            _log.info("%s of %s starts over because its files were replaced: %s", reason, target.name, failure)
    raise AssertionError("unreachable")


def choose(target: Target, snapshot: Snapshot, choice: Choice) -> list[Chosen]:
    """Files of which rows go. raises BrokenTarget, OSError"""
    found: list[Chosen] = []
    schema = schema_from_text(snapshot.schema) if snapshot.schema else pa.schema([])
    for one in snapshot.files.values():
        goes = choice.of_ours(target, one, DEAD_SCHEMA if one.is_bad else schema)
        if goes is not None and goes.any():
            found.append(Chosen(one, goes, int(goes.sum())))
    for other in snapshot.others:
        goes = choice.of_others(target, other, schema)
        if goes is not None:
            rows = int(np.delete(goes, deleted_positions(target.root, other)).sum())
            if rows:
                found.append(Chosen(other, goes, rows))
    return found


def removal_of(chosen: Sequence[Chosen]) -> Removal:
    """What would be taken."""
    return Removal(
        0,
        sum(one.rows for one in chosen if not one.is_bad),
        sum(one.rows for one in chosen if one.is_bad),
        len(chosen),
        sum(one.file.bytes for one in chosen),
    )


def remove(
    target: Target, run_id: str, snapshot: Snapshot, reason: str, chosen: Sequence[Chosen], choice: Choice
) -> tuple[Removal, Snapshot]:
    """One commit. raises LoadFenced, DamagedFile, and the target's own errors"""
    added: list[DataFile] = []
    rewritten: list[Rewritten] = []
    try:
        for one in chosen:
            if isinstance(one.file, LiveFile):
                rewritten.append(without(target.root, one.file, one.goes, instants_of(snapshot)))
            elif not one.is_whole:
                attempt = Attempt(run_id, len(added))
                added.append(partial_copy(target, snapshot, one.file, one.file.end, attempt, partial(_stay, one.goes)))
        for folder in {(target.root / one.path).parent for one in added}:
            sync_directory(folder)
        change = _change(target, run_id, snapshot, reason, chosen, choice, added, rewritten)
    except BaseException:
        discard(target.root, rewritten)
        raise
    target.step("rows removed")
    try:
        after = target.commit(change, snapshot)
    except LoadFenced:
        discard(target.root, rewritten)
        raise
    written = sum(one.bytes for one in added) + sum(one.becomes.bytes for one in rewritten if one.becomes is not None)
    found = removal_of(chosen)
    return replace(found, commit=after.number, bytes=found.bytes - written, deleted=change.deleted), after


def _change(
    target: Target,
    run_id: str,
    snapshot: Snapshot,
    reason: str,
    chosen: Sequence[Chosen],
    choice: Choice,
    added: Sequence[DataFile],
    rewritten: Sequence[Rewritten],
) -> Change:
    """raises   BrokenTarget, OSError; ValueError, for too many runs of deleted offsets"""
    gone = _gone(target, snapshot, choice)
    return Change(
        run_id,
        int(time.time() * 1000),
        reason,
        snapshot.offsets,
        (),
        tuple(added),
        (*(one.file.path for one in chosen if isinstance(one.file, DataFile)), *(one.path for one in gone)),
        rewritten=tuple(rewritten),
        deleted=summed((*_deleted(target, snapshot, chosen), *gone.values())),
    )


def _stay(goes: np.ndarray, rows: pa.RecordBatch, at: int) -> pa.Array:
    return pa.array(~goes[at : at + rows.num_rows])


def _deleted(target: Target, snapshot: Snapshot, chosen: Sequence[Chosen]) -> tuple[DeletedRows, ...]:
    """The offsets of rows that go. raises BrokenTarget, OSError"""
    rows: dict[tuple[str, str, int], list[np.ndarray]] = {}
    bad: dict[tuple[str, str, int], list[np.ndarray]] = {}
    for one in chosen:
        if isinstance(one.file, DataFile):
            key = (one.file.topic, one.file.topic_id, one.file.partition)
            (bad if one.is_bad else rows).setdefault(key, []).append(_own_offsets(target, one.file)[one.goes])
        else:
            for name, offsets in _others_offsets(target, one.file, one.goes):
                known = snapshot.offsets.get(name.topic)
                topic_id = "" if known is None else known.topic_id
                rows.setdefault((name.topic, topic_id, name.partition), []).append(offsets)
    return tuple(
        deleted_rows(*key, _concatenated(rows.get(key, ())), _concatenated(bad.get(key, ())))
        for key in sorted(rows.keys() | bad.keys())
    )


def _gone(target: Target, snapshot: Snapshot, choice: Choice) -> dict[DataFile, DeletedRows]:
    """Files that other programs took from the table, and that no longer count: their rows are deleted, by whichever program. One whose
    offsets are no longer known stays, and says that others took it."""
    found = {}
    for one in snapshot.gone:
        offsets = known_offsets(target.root, one) if choice.takes_gone(one) else None
        if offsets is not None:
            nothing = offsets[:0]
            rows, bad = (nothing, offsets) if one.is_bad else (offsets, nothing)
            found[one] = deleted_rows(one.topic, one.topic_id, one.partition, rows, bad)
    return found


def _own_offsets(target: Target, one: DataFile) -> np.ndarray:
    """Of each row. Where the file is lost, so that an hour can expire all the same: as many, from the first on, and the last."""
    found = known_offsets(target.root, one)
    if found is not None:
        return found
    _log.warning("%s can't be read, or does not have its %d rows: deleting them unread", one.path, one.rows)
    return np.append(np.arange(one.first_offset, one.first_offset + one.rows - 1), one.last_offset)


def _others_offsets(target: Target, one: LiveFile, goes: np.ndarray) -> Iterable[tuple[TopicPartition, np.ndarray]]:
    whole = replace(one, deletes=(), positions=b"")
    counts = goes.copy()
    counts[deleted_positions(target.root, one)] = False
    places = places_in(target.root, whole)
    offsets, partitions = places["offset"].to_numpy()[counts], places["partition"].to_numpy()[counts]
    topics = np.array(places["topic"].to_pylist(), object)[counts]
    for topic, partition in sorted(set(zip(topics.tolist(), partitions.tolist(), strict=True))):
        yield TopicPartition(topic, partition), offsets[(topics == topic) & (partitions == partition)]


def _concatenated(some: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(some) if some else np.empty(0, np.int64)

"""A table taken back to an earlier offset, so that the next load replays from there: records and offsets in one commit.

    clicks-0-0-300-a.0    rows 0..299   ->   clicks-0-0-120-b.0    rows 0..119, and the partition is at 120

A merged file may have rows from months, so it is not removed whole: those before the offset are copied. Where its bytes are not those that
were committed nothing can be copied (`committed_rows.py`), and the partition goes back to where the file begins. What the log no longer
has can't be replayed, and is not removed.

Files that other programs wrote in the place of ours (a DELETE, an OPTIMIZE) may have rows of several partitions: what stays of them is
written again, as a file of others. Records that such a program deleted are loaded again, where the log has them.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.leader_epochs import Epochs, RecordEpochs
from headrace.ids import TopicPartition
from headrace.load.commits import REWIND, Change, DataFile, Snapshot, TopicOffsets, same_topic
from headrace.load.committed_rows import is_as_committed, known_offsets
from headrace.load.data_files import Attempt
from headrace.load.deleted_rows import DeletedRows, deleted_rows, summed
from headrace.load.durable import sync_directory
from headrace.load.errors import LoadFenced, OutOfRange, TopicReplaced
from headrace.load.options import pattern_of, start_of
from headrace.load.orphans import run_of
from headrace.load.others_rows import count_within, discard, offsets_of, without_tails
from headrace.load.partial_copy import partial_copy
from headrace.load.target import Target, open_target


def rewind(
    topics: str | Sequence[str],
    to: str | os.PathLike[str] | Target,
    start: str | int,
    *,
    bootstrap_servers: str = "127.0.0.1:9092",
) -> dict[TopicPartition, int]:
    """Remove what was loaded from `start` on; the next load loads it again.

    start     "earliest", an offset, or "@" and milliseconds since 1970
    returns   the new offsets of the partitions that went back
    raises    ValueError; OutOfRange, where the log no longer has what would be removed; TopicReplaced; LoadFenced; KafkaError,
              ConnectionFailed
    """
    target = open_target(to)
    pattern = re.compile(pattern_of(topics))
    snapshot = target.read()
    names = sorted(name for name in snapshot.next_offsets() if pattern.fullmatch(name.topic))
    if not names:
        raise ValueError(f"topics {pattern.pattern!r}: no matching topic was loaded to {target.name}")
    with Cluster(bootstrap_servers) as cluster:
        earliest = cluster.offsets(dict.fromkeys(names, EARLIEST))
        _check_ids(snapshot, cluster.topic_ids, {name.topic for name in names})
        wanted = _wanted(cluster, names, start, earliest)
        next_offsets = snapshot.next_offsets()
        cuts = {
            name: _cut(target, snapshot, name, offset) for name, offset in wanted.items() if offset < next_offsets[name]
        }
        ends = cluster.offsets(dict.fromkeys(cuts, LATEST)) if cuts else {}
        epochs = RecordEpochs().before(cluster, {name: cut for name, cut in cuts.items() if cut <= ends[name]})
    lost = [
        f"{name} would go back to {cut}, the log begins at {earliest[name]}"
        for name, cut in cuts.items()
        if cut < earliest[name]
    ]
    if lost:
        raise OutOfRange(f"{'; '.join(lost)}: nothing was changed, because those records could not be loaded again")
    if cuts:
        _commit(target, snapshot, cuts, epochs)
    return cuts


def _commit(target: Target, snapshot: Snapshot, cuts: dict[TopicPartition, int], epochs: Epochs) -> None:
    """raises   LoadFenced, DamagedFile, and the target's own errors: nothing was changed"""
    with run_of(target) as run:
        change = _change(target, run.id, snapshot, cuts, epochs)
        try:
            target.commit(change, snapshot)
        except LoadFenced:
            discard(target.root, change.rewritten)
            raise


def _check_ids(snapshot: Snapshot, found: Mapping[str, str], topics: set[str]) -> None:
    """raises   TopicReplaced"""
    for topic in sorted(topics):
        known, present = snapshot.offsets[topic].topic_id, found.get(topic, "")
        if not same_topic(known, present):
            raise TopicReplaced(
                f"{topic} was deleted and created again: the target has records of the topic with id {known}, it is"
                f" {present} now. Nothing was changed, because those records could not be loaded again"
            )


def _wanted(
    cluster: Cluster, names: list[TopicPartition], start: str | int, earliest: dict[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """raises   ValueError"""
    kind, number = start_of(start)
    if kind == "time":
        found = cluster.offsets(dict.fromkeys(names, number))
        return {name: offset for name, offset in found.items() if offset >= 0}
    if kind == "earliest":
        return earliest
    if kind == "offset":
        return dict.fromkeys(names, number)
    raise ValueError(f"start {start!r}: earliest, an offset, or @ and milliseconds since 1970")


def _cut(target: Target, snapshot: Snapshot, name: TopicPartition, offset: int) -> int:
    """The greatest offset at or before `offset` before which the rows of all files can be kept."""
    while True:
        damaged = [
            one.start for one in _split_by(_files(snapshot, name), offset) if not is_as_committed(target.root, one)
        ]
        if not damaged:
            return offset
        offset = min(damaged)


def _files(snapshot: Snapshot, name: TopicPartition) -> list[DataFile]:
    return [one for one in snapshot.files.values() if _is_of(one, snapshot, name)]


def _is_of(one: DataFile | DeletedRows, snapshot: Snapshot, name: TopicPartition) -> bool:
    key = (name.topic, snapshot.offsets[name.topic].topic_id, name.partition)
    return (one.topic, one.topic_id, one.partition) == key


def _split_by(files: list[DataFile], cut: int) -> list[DataFile]:
    return [one for one in files if one.first_offset < cut <= one.last_offset]


def _change(target: Target, run_id: str, snapshot: Snapshot, cuts: dict[TopicPartition, int], epochs: Epochs) -> Change:
    """raises   DamagedFile"""
    removed: list[str] = []
    added: list[DataFile] = []
    rewritten = without_tails(target, snapshot, cuts)
    forgotten, ranges, deleted = [], [], []
    for name, cut in cuts.items():
        files = _files(snapshot, name)
        heads: list[DataFile] = []
        for one in _split_by(files, cut):
            attempt = Attempt(run_id, len(added) + len(heads))
            heads.append(partial_copy(target, snapshot, one, cut, attempt, partial(_precede, cut)))
        added += heads
        removed += [one.path for one in files if one.last_offset >= cut]
        removed += [one.path for one in snapshot.gone if _is_of(one, snapshot, name)]
        kept = [one for one in files if one.last_offset < cut] + heads
        deleted.append(_deleted_by_others(target, snapshot, name, cut, kept))
        for found in snapshot.ranges:
            is_ours = (found.topic, found.partition) == name and found.topic_id == snapshot.offsets[name.topic].topic_id
            if is_ours and found.end > cut:
                forgotten.append(found)
                if found.start < cut:
                    rows, bad = (sum(_rows_from(target, one, found.start) for one in some) for some in _by_kind(kept))
                    rows += count_within(target.root, snapshot.others, name, found.start, cut)
                    known = (one for one in snapshot.deleted if _is_of(one, snapshot, name))
                    ours = [one.count(found.start, cut) for one in summed((*known, deleted[-1]))]
                    rows, bad = rows + sum(one[0] for one in ours), bad + sum(one[1] for one in ours)
                    ranges.append(replace(found, end=cut, rows=rows + bad, bad=bad))
    for folder in {(target.root / one.path).parent for one in added}:
        sync_directory(folder)
    at_ms = int(time.time() * 1000)
    return Change(
        "rewind",
        at_ms,
        REWIND,
        _offsets(snapshot, cuts, epochs),
        tuple(ranges),
        tuple(added),
        tuple(removed),
        tuple(forgotten),
        rewritten=rewritten,
        deleted=tuple(one for one in deleted if one.rows),
    )


def _deleted_by_others(
    target: Target, snapshot: Snapshot, name: TopicPartition, cut: int, kept: Sequence[DataFile]
) -> DeletedRows:
    """Rows before the cut that other programs deleted: the files that had them no longer count, so that the commit has to say it. Where
    it is no longer known which rows a file had, all between its first and its last that are not there.

    raises   BrokenTarget, OSError
    """
    topic_id = snapshot.offsets[name.topic].topic_id
    had, is_sure = [np.empty(0, np.int64)], True
    for one in snapshot.gone:
        if _is_of(one, snapshot, name):
            offsets = known_offsets(target.root, one)
            is_sure = is_sure and offsets is not None
            had.append(np.arange(one.first_offset, one.last_offset + 1) if offsets is None else offsets)
    missing = np.concatenate(had)
    missing = missing[missing < cut]
    if len(missing):
        missing = np.setdiff1d(missing, offsets_of(target.root, snapshot.others, name))
    for one in () if is_sure else kept:
        offsets = known_offsets(target.root, one)
        missing = missing if offsets is None else np.setdiff1d(missing, offsets)
    return deleted_rows(name.topic, topic_id, name.partition, missing, missing[:0])


def _by_kind(files: list[DataFile]) -> tuple[list[DataFile], list[DataFile]]:
    """Those of rows, and of dead letters."""
    return [one for one in files if not one.is_bad], [one for one in files if one.is_bad]


def _rows_from(target: Target, one: DataFile, start: int) -> int:
    """Rows of a file from an offset on: it may have been merged over a gap."""
    if one.first_offset >= start:
        return one.rows
    if one.last_offset < start:
        return 0
    offsets = pq.read_table(target.root / one.path, columns=["offset"], partitioning=None).column("offset")
    return int(pc.sum(pc.greater_equal(offsets, start)).as_py())


def _precede(cut: int, rows: pa.RecordBatch, _at: int) -> pa.Array:
    return pc.less(rows.column("offset"), cut)


def _offsets(snapshot: Snapshot, cuts: dict[TopicPartition, int], epochs: Epochs) -> dict[str, TopicOffsets]:
    kept_epochs = {name: epoch for name, epoch in snapshot.epochs().items() if name not in cuts} | epochs
    by_topic: dict[str, dict[int, int]] = {}
    for name, epoch in kept_epochs.items():
        by_topic.setdefault(name.topic, {})[name.partition] = epoch
    return {
        topic: TopicOffsets(
            one.topic_id,
            {index: cuts.get(TopicPartition(topic, index), offset) for index, offset in one.next_offsets.items()},
            by_topic.get(topic, {}),
            one.waiting,
        )
        for topic, one in snapshot.offsets.items()
    }

"""A table taken back to an earlier offset, so that the next load replays from there: records and offsets in one commit.

A file is removed whole or not at all, so a partition goes back to the start of the file that has the offset. What the log no longer has
can't be replayed, and is not removed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.leader_epochs import Epochs, RecordEpochs
from headrace.ids import TopicPartition
from headrace.load.commits import Change, LoadedRange, Snapshot, TopicOffsets, same_topic
from headrace.load.errors import OutOfRange, TopicReplaced
from headrace.load.options import pattern_of, start_of
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
        raise ValueError(f"topics {pattern.pattern!r}: nothing of them was loaded to {target.name}")
    with Cluster(bootstrap_servers) as cluster:
        earliest = cluster.offsets(dict.fromkeys(names, EARLIEST))
        _check_ids(snapshot, cluster.topic_ids, {name.topic for name in names})
        wanted = _wanted(cluster, names, start, earliest)
        cuts = {name: _cut(snapshot, name, offset) for name, offset in wanted.items()}
        next_offsets = snapshot.next_offsets()
        cuts = {name: cut for name, cut in cuts.items() if cut < next_offsets[name]}
        ends = cluster.offsets(dict.fromkeys(cuts, LATEST)) if cuts else {}
        epochs = RecordEpochs().before(cluster, {name: cut for name, cut in cuts.items() if cut <= ends[name]})
    lost = [
        f"{name} would go back to {cut}, the log begins at {earliest[name]}"
        for name, cut in cuts.items()
        if cut < earliest[name]
    ]
    if lost:
        raise OutOfRange(f"{'; '.join(lost)}: nothing was changed, since those records could not be loaded again")
    if cuts:
        target.commit(_change(snapshot, cuts, epochs), snapshot)
    return cuts


def _check_ids(snapshot: Snapshot, found: Mapping[str, str], topics: set[str]) -> None:
    """raises   TopicReplaced"""
    for topic in sorted(topics):
        known, present = snapshot.offsets[topic].topic_id, found.get(topic, "")
        if not same_topic(known, present):
            raise TopicReplaced(
                f"{topic} was deleted and created again: the target has records of the topic with id {known}, it is {present} now. Nothing "
                "was changed, since those records could not be loaded again"
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


def _cut(snapshot: Snapshot, name: TopicPartition, offset: int) -> int:
    """The greatest offset at or before `offset` that no file reaches over."""
    topic_id = snapshot.offsets[name.topic].topic_id
    spans = [
        (one.start, one.end)
        for one in snapshot.files.values()
        if (one.topic, one.topic_id, one.partition) == (name.topic, topic_id, name.partition)
    ]
    for start, end in sorted(spans, reverse=True, key=lambda span: span[1]):
        if start < offset < end:
            offset = start
    return offset


def _change(snapshot: Snapshot, cuts: dict[TopicPartition, int], epochs: Epochs) -> Change:
    removed, forgotten, kept = [], [], []
    for name, cut in cuts.items():
        topic_id = snapshot.offsets[name.topic].topic_id
        key = (name.topic, topic_id, name.partition)
        files = [one for one in snapshot.files.values() if (one.topic, one.topic_id, one.partition) == key]
        removed += [one.path for one in files if one.end > cut]
        for one in snapshot.ranges:
            if (one.topic, one.topic_id, one.partition) == key and one.end > cut:
                forgotten.append(one)
                if one.start < cut:
                    inside = [file for file in files if one.start <= file.start and file.end <= cut]
                    rows, bad = sum(file.rows for file in inside), sum(file.rows for file in inside if file.is_bad)
                    kept.append(
                        LoadedRange(name.topic, topic_id, name.partition, one.start, cut, rows, bad, one.is_gap)
                    )
    kept_epochs = {name: epoch for name, epoch in snapshot.epochs().items() if name not in cuts} | epochs
    by_topic: dict[str, dict[int, int]] = {}
    for name, epoch in kept_epochs.items():
        by_topic.setdefault(name.topic, {})[name.partition] = epoch
    offsets = {
        topic: TopicOffsets(
            one.topic_id,
            {index: cuts.get(TopicPartition(topic, index), offset) for index, offset in one.next_offsets.items()},
            by_topic.get(topic, {}),
            one.waiting,
        )
        for topic, one in snapshot.offsets.items()
    }
    return Change(
        "rewind", int(time.time() * 1000), "rewind", offsets, tuple(kept), (), tuple(removed), tuple(forgotten)
    )

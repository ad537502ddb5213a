"""What one round loads: from the target's last commit to the high watermarks, or a share of that.

Runs in: the driver. Where a partition begins, only the target says; policies say what happens where the log does not have it:

    last commit   log                        the round loads
    none          low..high                  from `start`; a partition that came later, as if the last commit were at 0
    at            low <= at <= high          at..high
    at < low      retention was faster       fail | earliest: a gap at..low, then low..high | skip: nothing of it
    at > high     the log was cut, or a new  nothing yet; when it stays so, an error | skip: nothing of it
                  leader does not know better
    other epochs  the log was cut, and has   the same
    before at     grown again
    other id      deleted and created again  refuse | load: of the new one as if the last commit were at 0
    no leader     a node is away, or its     nothing of it in this round; at a topic's first load the commit notes it, and it begins
                  directory is offline       from `start` later
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.leader_epochs import Epochs, Position, RecordEpochs, truncations
from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.load.commits import LoadedRange, Snapshot, TopicOffsets, same_topic
from headrace.load.errors import OutOfRange, TopicReplaced
from headrace.load.options import LoadOptions, start_of

_log = logging.getLogger("headrace.load")

Ends = dict[TopicPartition, int]


@dataclass(frozen=True)
class RoundPlan:
    """What a round is to do.

    bounds      start and end of what to read, by partition; none is empty
    gaps        what is passed over
    topic_ids   by topic; '' for a cluster that has none
    went_back   partitions whose log ends before the last commit, or has other records before it
    ends        high watermarks: what all rounds together load
    lows        where the logs begin
    epochs      leader epochs of the last records within the bounds, where they are known
    left        partitions whose leader can't be asked, with the reason
    refused     why nothing of some partitions or topics is loaded: raised when the others are
    """

    bounds: Mapping[TopicPartition, tuple[int, int]]
    gaps: tuple[LoadedRange, ...]
    topic_ids: Mapping[str, str]
    begun: Mapping[TopicPartition, int]
    went_back: tuple[str, ...]
    ends: Ends
    lows: Ends = field(default_factory=dict)
    epochs: Epochs = field(default_factory=dict)
    left: Mapping[TopicPartition, HeadraceError] = field(default_factory=dict)
    refused: tuple[OutOfRange | TopicReplaced, ...] = ()

    def without(self, changed: Mapping[TopicPartition, int], options: LoadOptions) -> RoundPlan:
        """The same for the other partitions.

        changed   partitions whose log has another record than the last that was loaded, with its offset
        """
        texts = [
            f"{name}: the log has another record at offset {offset} than the one that was loaded: it was truncated and has grown again"
            for name, offset in sorted(changed.items())
        ]
        if options.out_of_range == "skip":
            for text in texts:
                _log.warning("%s, left unchanged", text)
            texts = []
        return replace(
            self,
            bounds={name: bound for name, bound in self.bounds.items() if name not in changed},
            begun={name: offset for name, offset in self.begun.items() if name not in changed},
            went_back=(*self.went_back, *texts),
        )

    def offsets_after(self, snapshot: Snapshot) -> dict[str, TopicOffsets]:
        """The offsets to commit when all of it is loaded."""
        found = dict(snapshot.offsets)
        after = {**self.begun, **{name: end for name, (_start, end) in self.bounds.items()}}
        for name, offset in after.items():
            topic_id = self.topic_ids.get(name.topic, "")
            known = found.get(name.topic) or TopicOffsets(topic_id, {}, {}, self._left_of(name.topic))
            if not same_topic(known.topic_id, topic_id):
                known = TopicOffsets(topic_id, {})
            next_offsets, epochs = dict(known.next_offsets), dict(known.epochs)
            if next_offsets.get(name.partition) != offset:
                epochs.pop(name.partition, None)  # it is that of another record
                if name in self.epochs:
                    epochs[name.partition] = self.epochs[name]
            next_offsets[name.partition] = offset
            waiting = known.waiting - {name.partition}
            found[name.topic] = TopicOffsets(topic_id or known.topic_id, next_offsets, epochs, waiting)
        return found

    def _left_of(self, topic: str) -> frozenset[int]:
        return frozenset(name.partition for name in self.left if name.topic == topic)


def plan_round(
    cluster: Cluster, options: LoadOptions, snapshot: Snapshot, frozen: Ends | None, epochs: RecordEpochs
) -> RoundPlan:
    """Plan by fresh metadata.

    frozen   ends beyond which nothing is loaded; None: the high watermarks
    epochs   finds those of the records to load
    raises   KafkaError, ConnectionFailed: also where no leader at all can be asked
    """
    pattern = re.compile(options.pattern)
    topics = {topic for topic in cluster.refresh(None) if pattern.fullmatch(topic)} - cluster.internal_topics
    names = sorted(name for name in cluster.partitions if name.topic in topics)
    ids = {topic: cluster.topic_ids.get(topic, "") for topic in topics}
    replaced = _replaced(options, snapshot, ids)
    names = [name for name in names if name.topic not in replaced]
    if not names:
        return RoundPlan({}, (), ids, {}, (), {}, refused=tuple(replaced.values()))
    earliest, left = cluster.reachable_offsets(dict.fromkeys(names, EARLIEST))
    latest, more = cluster.reachable_offsets(dict.fromkeys(earliest, LATEST), options.read_committed)
    left |= more
    if not latest:
        raise next(iter(left.values()))
    highs = latest
    if options.read_committed:  # an earlier load may have read beyond the last stable offset: that is no loss
        highs, more = cluster.reachable_offsets(dict.fromkeys(latest, LATEST))
        left |= more
        latest = {name: offset for name, offset in latest.items() if name in highs}
    names = [name for name in names if name in latest]
    ends = {name: min(latest[name], frozen[name]) if frozen and name in frozen else latest[name] for name in names}
    if frozen is not None:
        names = [name for name in names if name in frozen]
    starts = _starts(cluster, options, snapshot, names, ids, earliest, latest)
    cuts = _cuts(cluster, snapshot, ids, starts, highs)
    plan = _bounded(options, snapshot, names, ids, starts, earliest, highs, ends, cuts)
    found = epochs.before(cluster, {name: end for name, (_start, end) in plan.bounds.items()})
    return replace(plan, lows=earliest, epochs=found, left=left, refused=(*replaced.values(), *plan.refused))


def _cuts(cluster: Cluster, snapshot: Snapshot, ids: Mapping[str, str], starts: Ends, latest: Ends) -> Ends:
    """Where logs differ from what was loaded of them; -1 where that is not known. raises KafkaError, ConnectionFailed"""
    epochs = snapshot.epochs()
    positions = {
        name: Position(start, epochs.get(name, NO_EPOCH))
        for name, start in starts.items()
        if name.topic in snapshot.offsets
        and same_topic(snapshot.offsets[name.topic].topic_id, ids[name.topic])
        and start == snapshot.next_offset(name)
        and start <= latest[name]
    }
    return truncations(cluster, positions)


def _bounded(
    options: LoadOptions,
    snapshot: Snapshot,
    names: list[TopicPartition],
    ids: Mapping[str, str],
    starts: Ends,
    earliest: Ends,
    latest: Ends,
    ends: Ends,
    cuts: Ends,
) -> RoundPlan:
    bounds, begun, gaps, went_back, refused = {}, {}, [], [], []
    for name in names:
        start, low, high = starts[name], earliest[name], latest[name]
        if start > high or name in cuts:
            what = f"{name}: {_cut(start, high, cuts.get(name))}"
            if options.out_of_range == "skip":
                _log.warning("%s, left unchanged", what)
            else:
                went_back.append(what)
            continue
        if start < low:
            if options.out_of_range == "skip":
                _log.warning("%s is left unchanged: %s", name, _lost(start, low))
                continue
            if options.out_of_range == "fail":
                refused.append(
                    OutOfRange(
                        f"{name}: {_lost(start, low)}; out-of-range policy earliest continues with what there is, skip leaves the "
                        "partition as it is"
                    )
                )
                continue
            _log.warning("%s: %s, continuing at %d", name, _lost(start, low), low)
            gaps.append(LoadedRange(name.topic, ids[name.topic], name.partition, start, low, 0, is_gap=True))
            start = low
        begun[name] = start
        if start < ends[name]:
            bounds[name] = (start, ends[name])
    return RoundPlan(
        limited(bounds, options.records_per_commit),
        tuple(gaps),
        ids,
        begun,
        tuple(went_back),
        ends,
        refused=tuple(refused),
    )


def _cut(start: int, high: int, at: int | None) -> str:
    if at is None:
        return f"the last commit is at {start}, the log ends at {high}"
    since = (
        f"has other records from offset {at} on"
        if at >= 0
        else "its leader does not know the epoch in which they were written"
    )
    return (
        f"the last commit is at {start}, and the log no longer has the records before it: it was truncated, and {since}"
    )


def _lost(start: int, low: int) -> str:
    since = "after the last commit " if start else ""
    return f"offsets {start}..{low} {since}are no longer in the log"


def _replaced(options: LoadOptions, snapshot: Snapshot, ids: Mapping[str, str]) -> dict[str, TopicReplaced]:
    """The topics that are not those that were loaded, with the reason why nothing of them is."""
    found = {}
    for topic in sorted(ids.keys() & snapshot.offsets.keys()):
        known = snapshot.offsets[topic].topic_id
        if not same_topic(known, ids[topic]) and options.recreated == "refuse":
            found[topic] = TopicReplaced(
                f"{topic} was deleted and created again: the target has records of the topic with id {known}, it is {ids[topic]} now. "
                "Load it to another target, or allow it (--recreated load): the new topic is then loaded from its beginning, "
                "beside the old records, whose offsets it repeats"
            )
    return found


def _starts(
    cluster: Cluster,
    options: LoadOptions,
    snapshot: Snapshot,
    names: list[TopicPartition],
    ids: Mapping[str, str],
    earliest: Ends,
    latest: Ends,
) -> Ends:
    """Where each partition continues, or begins."""
    found, new = {}, []
    for name in names:
        known = snapshot.offsets.get(name.topic)
        is_same = known is not None and same_topic(known.topic_id, ids[name.topic])
        at = snapshot.next_offset(name) if is_same else None
        if at is not None:
            found[name] = at
        elif known is None or (is_same and name.partition in known.waiting):
            new.append(name)
        else:  # a partition, or a topic, that came after the first load: what its log has lost since is lost to the table
            found[name] = 0
    kind, number = start_of(options.start)
    if kind == "time" and new:
        at_time = cluster.offsets(dict.fromkeys(new, number))
        return found | {name: latest[name] if at_time[name] < 0 else at_time[name] for name in new}
    for name in new:
        if kind == "offsets":
            assert isinstance(options.start, Mapping)
            offset = options.start.get(name, earliest[name])
        else:
            offset = {"earliest": earliest[name], "latest": latest[name], "offset": number}[kind]
        found[name] = min(max(offset, earliest[name]), latest[name])
    return found


def limited(bounds: Mapping[TopicPartition, tuple[int, int]], most: int) -> dict[TopicPartition, tuple[int, int]]:
    """The same starts, with ends at which about `most` offsets are read: of each partition its share, and at least one offset."""
    total = sum(end - start for start, end in bounds.values())
    if total <= most:
        return dict(bounds)
    return {name: (start, start + max(1, (end - start) * most // total)) for name, (start, end) in bounds.items()}

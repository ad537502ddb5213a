"""Which offsets a stream's micro-batches read.

Runs in: a Python process beside Spark's driver, which lives as long as the query. Spark's checkpoint has the offsets; what is kept here is
lost with the process, and nothing of it is needed to continue:

    initial    once for a new query; the same answer if Spark asks again
    latest     the end of the next micro-batch, at most the high watermark, limited as the options say
    ranges     what one micro-batch reads; after a restart that of an unfinished one, again

Spark writes the end of a micro-batch to its checkpoint, and never the start of the first. Were that resolved again after a crash, "latest"
would be later by then and records lost. So the first micro-batch of such a query is empty: its end is the start.

Other starts are resolved again after such a crash (`_is_again`), and nothing was read by then. So a partition that has such a start and
no end in the checkpoint is not gone: it is new, and the next micro-batch has it. What a new query is refused for (a partition that
startingOffsets does not name, a time after which there is no record) is no reason to refuse a query that continues.

What the checkpoint says and the log does not have is data loss: records that were removed, partitions that are gone, a topic that was
deleted and created again.

Source: Spark's `KafkaMicroBatchStream`, `KafkaOffsetReaderAdmin` (getOffsetRangesFromResolvedOffsets).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from headrace.arrow.errors import DataLoss
from headrace.arrow.planner import patiently, ranges_between, resolved, selected, tell
from headrace.arrow.ranges import OffsetRange
from headrace.arrow.scan_options import Bound
from headrace.client.admin import Admin
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.spark.stream_offsets import Offsets, lag_of, prorated
from headrace.spark.stream_options import StreamOptions

DIRECTORIES_S = 60.0  # log directories are asked for again after this time: replicas move seldom

_log = logging.getLogger("headrace.spark")


class StreamPlanner:
    """Plans one query's micro-batches; picklable before its first use."""

    def __init__(
        self,
        options: StreamOptions,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._clock = clock
        self._sleep = sleep
        self._initial: Offsets | None = None
        self._first_is_empty = False
        self._refusal: ValueError | None = None  # of the start, if the query is new
        self._has_ended = False  # a micro-batch, here
        self._is_again = False  # Spark repeats a micro-batch that another process has planned
        self._holds = False
        self._frozen: Offsets | None = None
        self._newest: Offsets | None = None
        self.leader_epochs: dict[TopicPartition, int] = {}  # as they were when the high watermarks were found last
        self._batch_at_s = float("-inf")
        self._topic_ids: dict[str, str] = {}
        self._directories: dict[tuple[int, TopicPartition], str] = {}
        self._directories_at_s = float("-inf")
        self._committed: Offsets = {}
        self._has_told = False
        self._commit_fails = False

    @property
    def newest(self) -> Offsets | None:
        """The high watermarks found last."""
        return self._newest

    def initial(self) -> Offsets:
        """Where a new query starts; also asked where the first micro-batch is planned again after a crash.

        raises   as `plan` does; what is wrong with the start as such is raised by `latest`, which a new query calls next
        """
        if self._initial is None:
            found = patiently(self._resolve_start, self._options.scan, self._clock, self._sleep)
            frozen = self._frozen  # a partition that came after it is new, and waits for the next run
            self._initial = {name: start for name, start in found.items() if frozen is None or name in frozen}
            self._first_is_empty = self._options.may_start_at_latest
        return dict(self._initial)

    def freeze(self) -> None:
        """From now on `latest` returns nothing beyond the present ends (Trigger.AvailableNow)."""
        self._frozen = self._ends({})

    def latest(self, starts: Offsets, is_limited: bool, limit: int | None = None) -> Offsets:
        """The end of the micro-batch that begins at `starts`; `starts`, if there is to be none yet.

        starts       the end of the last micro-batch that was completed
        is_limited   False: all that is there, whatever the options say
        limit        of offsets to read
        raises       KafkaError, ConnectionFailed; ValueError; DataLoss, before Spark writes such an end to its checkpoint
        """
        if self._refusal is not None and not self._is_again:
            raise self._refusal
        self._has_ended = True
        self.commit(starts)
        if self._first_is_empty and starts == self._initial:
            self._first_is_empty = False
            return dict(starts)
        ends = self._ends(starts) if self._frozen is None else self._frozen_ends(starts)
        ends = self._without_holes(starts, ends)
        if not is_limited:
            return ends
        begins = self._begins(starts, ends)
        if self._frozen is None and self._is_delayed(lag_of(begins, ends)):
            return dict(starts)
        return ends if limit is None else prorated(limit, begins, ends)

    def ranges(self, starts: Offsets, ends: Offsets) -> list[OffsetRange]:
        """The ranges from `starts` to `ends`; a partition without a start is new, and read from its beginning.

        raises   DataLoss, unless the options allow it; KafkaError, ConnectionFailed
        """
        self._is_again = self._is_again or not self._has_ended
        found = patiently(lambda: self._ranges(starts, ends), self._options.scan, self._clock, self._sleep)
        if found and not self._has_told:
            self._has_told = True
            tell(found)
        return found

    def commit(self, ends: Offsets, epochs: Offsets | None = None) -> None:
        """Commit `ends` for the consumer group of the options, if there is one, so that its lag is the query's.

        epochs   leader epochs of the last records before `ends`, as far as they are known

        A failure is a warning: the checkpoint counts, and not the group.
        """
        group = self._options.commit_group
        if not group or ends == self._committed:
            return
        try:
            with Cluster(self._options.scan.bootstrap_servers) as cluster:
                Admin(cluster).alter_group_offsets(group, ends, epochs)
        except HeadraceError as failure:
            if not self._commit_fails:
                _log.warning("offsets of the query not committed for group %s: %s", group, failure)
            self._commit_fails = True
            return
        self._committed = dict(ends)
        self._commit_fails = False

    def _resolve_start(self) -> Offsets:
        options = self._options.scan
        with Cluster(options.bootstrap_servers) as cluster:
            names = selected(cluster, options)
            self._check_topics(cluster, names)
            earliest = cluster.offsets(dict.fromkeys(names, EARLIEST)) if names else {}
            latest = cluster.offsets(dict.fromkeys(names, LATEST), options.read_committed) if names else {}
            try:
                return resolved(cluster, options, options.start, names, earliest, latest, is_start=True)
            except ValueError as failure:
                self._refusal = failure
            start, names = _applicable(options.start, names)
            lenient = replace(options, unmatched_timestamp_is_latest=True)
            return resolved(cluster, lenient, start, names, earliest, latest, is_start=True)

    def _ends(self, starts: Mapping[TopicPartition, int]) -> Offsets:
        """The high watermark of every partition. One that is missing, or below its start, is asked for again: a new leader, or a
        broker that starts, may not know better yet."""
        options = self._options.scan
        for attempts_left in range(options.attempts - 1, -1, -1):
            ends = patiently(self._high_watermarks, options, self._clock, self._sleep)
            is_whole = starts.keys() <= ends.keys()
            if not attempts_left or (is_whole and all(starts.get(name, 0) <= end for name, end in ends.items())):
                break
            self._sleep(options.retry_pause_s)
        self._newest = ends
        return dict(ends)

    def _frozen_ends(self, starts: Offsets) -> Offsets:
        """The ends of AvailableNow. One below its start is the start: the query begins there, or a new leader did not know better."""
        assert self._frozen is not None
        early = {name for name, offset in self._frozen.items() if offset < starts.get(name, offset)}
        if early:
            ends = self._ends(starts)
            self._frozen.update({name: min(ends[name], starts[name]) for name in early & ends.keys()})
        return dict(self._frozen)

    def _without_holes(self, starts: Offsets, ends: Offsets) -> Offsets:
        """The ends, or the starts where nothing at all is reported: else all topics would be new in the next micro-batch.

        raises   DataLoss, for partitions without an end, unless the options allow it
        """
        gone = sorted(starts.keys() - ends.keys())
        if gone and self._options.scan.fails_on_data_loss:
            self._lose(f"{', '.join(map(str, gone))} no longer exist")
        if gone and not ends:
            if not self._holds:
                _log.warning("brokers report no topic, the query does not advance partitions=%d", len(starts))
            self._holds = True
            return dict(starts)
        self._holds = False
        return ends

    def _high_watermarks(self) -> Offsets:
        options = self._options.scan
        with Cluster(options.bootstrap_servers) as cluster:
            names = selected(cluster, options)
            self._check_topics(cluster, names)
            found = cluster.offsets(dict.fromkeys(names, LATEST), options.read_committed) if names else {}
            self.leader_epochs = dict(cluster.leader_epochs)
            return found

    def _begins(self, starts: Offsets, ends: Offsets) -> Offsets:
        """A start for each of `ends`: of new partitions the beginning of their log."""
        new = [name for name in ends if name not in starts]
        return {**starts, **(patiently(lambda: self._earliest(new), self._options.scan) if new else {})}

    def _earliest(self, names: list[TopicPartition]) -> Offsets:
        with Cluster(self._options.scan.bootstrap_servers) as cluster:
            return cluster.offsets(dict.fromkeys(names, EARLIEST))

    def _is_delayed(self, lag: int) -> bool:
        """Whether there are too few offsets, and there is time to wait for more."""
        least, now_s = self._options.min_offsets, self._clock()
        if least is not None and lag < least and now_s - self._batch_at_s < self._options.max_delay_ms / 1000:
            return True
        self._batch_at_s = now_s
        return False

    def _ranges(self, starts: Offsets, ends: Offsets) -> list[OffsetRange]:
        options = self._options.scan
        unended = starts.keys() - ends.keys()
        if not unended and all(starts.get(name) == end for name, end in ends.items()):
            return []
        with Cluster(options.bootstrap_servers) as cluster:
            present = set(selected(cluster, options))
            self._check_topics(cluster, present)
            is_unread = self._is_again and starts == self._initial  # no micro-batch has come to such a start
            gone = sorted(unended - present if is_unread else unended)
            if gone:
                self._lose(f"{', '.join(map(str, gone))} of the last micro-batch no longer exist")
            missing = sorted(ends.keys() - present)
            if missing:
                self._lose(f"{', '.join(map(str, missing))} were deleted before they were read")
            names = sorted(ends.keys() & present)
            if not names:
                return []
            earliest = cluster.offsets(dict.fromkeys(names, EARLIEST))
            latest = cluster.offsets(dict.fromkeys(names, LATEST), options.read_committed)
            bounds = {
                name: self._bounds(name, starts.get(name), ends[name], earliest[name], latest[name]) for name in names
            }
            if self._clock() - self._directories_at_s >= DIRECTORIES_S:
                self._directories, self._directories_at_s = cluster.log_directories(), self._clock()
            return ranges_between(cluster, options, bounds, self._directories, self._options.descriptors or 1)

    def _bounds(self, name: TopicPartition, start: int | None, end: int, earliest: int, latest: int) -> tuple[int, int]:
        """What of start..end there is in a log of earliest..latest."""
        if start is None:
            if earliest > 0:
                self._lose(f"{name} is new, and begins at {earliest} and not at 0")
            start = earliest
        if start > end:
            if self._initial is None or self._initial.get(name) != start:
                self._lose(f"{name}: the offset went back from {start} to {end}")
            elif not self._options.may_start_at_latest:  # else it is the empty micro-batch, after a restart
                self._lose(
                    f"{name}: the records before {end} that the first micro-batch was to read no longer exist, the"
                    f" log now starts at {start}"
                )
            return end, end
        if start < end and (start < earliest or end > latest):
            self._lose(f"{name}: {start}..{end} was to be read, but the log holds {earliest}..{latest}")
            start, end = min(max(start, earliest), end), min(end, latest)
        return start, max(start, end)

    def _check_topics(self, cluster: Cluster, names: Iterable[TopicPartition]) -> None:
        """Compare the topics' ids with those of the first metadata: the offsets of a new topic mean other records."""
        for topic in sorted({name.topic for name in names} & cluster.topic_ids.keys()):
            found = cluster.topic_ids[topic]
            known = self._topic_ids.setdefault(topic, found)
            if known != found:
                self._topic_ids[topic] = found
                self._lose(
                    f"{topic} was deleted and created again while the stream ran (its id was {known}, it is {found} now)"
                )

    def _lose(self, what: str) -> None:
        """raises   DataLoss, unless failOnDataLoss is false"""
        if self._options.scan.fails_on_data_loss:
            raise DataLoss(f"{what}: records may be lost; failOnDataLoss=false reads what is there")
        _log.warning("records may be lost, continuing because failOnDataLoss=false: %s", what)


def _applicable(bound: Bound, names: Sequence[TopicPartition]) -> tuple[Bound, list[TopicPartition]]:
    """What a start says of partitions that there are, and those of which it says something."""
    given = bound.offsets or bound.timestamps
    known = [name for name in names if name in given] if given else list(names)
    offsets = {name: bound.offsets[name] for name in known if name in bound.offsets}
    times = {name: bound.timestamps[name] for name in known if name in bound.timestamps}
    return replace(bound, offsets=offsets, timestamps=times), known

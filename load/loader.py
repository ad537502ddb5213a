"""The driver of a load: rounds of plan, tasks, check, commit.

    read snapshot N of the target: files and offsets
    plan: from those offsets to the high watermarks                round_plan.py
    tasks write files that no commit names yet                     task_pool.py, spark_tasks.py
    check: the ranges lead from the old offsets to the new ones    commits.py
    commit N + 1: files and offsets, or nothing                    the target
    commit the offsets of the group, which only lag tools read

A process of it may die at any place: before the commit nothing of the round counts and its files are orphans, which the next loader
removes (`orphans.py`); after it, all of it counts. A loader that was overtaken is `LoadFenced` at its commit.

Source: LinkedIn's Camus and Gobblin, for the role; the exactly-once rule is that of a conditional commit.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from headrace.arrow.planner import patiently, ranges_between
from headrace.arrow.ranges import OffsetRange
from headrace.arrow.scan_options import ScanOptions
from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.client.connection import ConnectionFailed
from headrace.client.leader_epochs import RecordEpochs
from headrace.errors import HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import LOAD_LEFT_NAMED_MAX, LOAD_WENT_BACK_TRIES_MAX
from headrace.load.commits import COMPACT, EXPIRE, LOAD, Change, Snapshot, check_change, joined, same_topic
from headrace.load.contents import contents_of
from headrace.load.data_files import Attempt
from headrace.load.errors import (
    DamagedFile,
    LoadFenced,
    OutOfRange,
    TargetUnavailable,
    TaskFailed,
    TopicReplaced,
    UnknownOutcome,
)
from headrace.load.events import Listener, LoadEvents, both, no_listener
from headrace.load.health_file import HealthFile
from headrace.load.last_records import changed_records
from headrace.load.options import (
    GRACE_S,
    RECORDS_PER_COMMIT,
    RECORDS_PER_TASK,
    RETIRED_S,
    LoadOptions,
    Start,
    never,
    pattern_of,
)
from headrace.load.orphans import remove_attempts, remove_retired, remove_uncommitted, sweep
from headrace.load.progress import Progress, ProgressMeter
from headrace.load.round_plan import Ends, RoundPlan, plan_round
from headrace.load.runs import Run
from headrace.load.schemas import schema_from_text, schema_to_text
from headrace.load.table_columns import columns_after, own_columns
from headrace.load.target import Target, open_target
from headrace.load.task import Job, TaskResult
from headrace.load.task_pool import TaskPool

if TYPE_CHECKING:
    from headrace.spark.decoding.decode_plan import Decode

POLL_S = 0.1
WENT_BACK_PAUSE_S = 0.5
LEADER_WAIT_S = 10.0  # of a load that does not repeat, for partitions without a leader: a node restarts in less
RETRY_S = 5.0  # after a round of a load that repeats failed for want of a broker

_log = logging.getLogger("headrace.load")


class Executor(Protocol):
    """What runs tasks."""

    dead_attempts: list[Attempt]

    def run(self, ranges: Sequence[OffsetRange], is_stopped: Callable[[], bool]) -> Iterator[TaskResult]: ...

    def abandon(self) -> None: ...

    def close(self) -> None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did.

    records, dead_letters   that it committed, the second among the first
    snapshot                after its last commit
    has_topics              whether a topic matched
    left                    partitions that had no leader in the last round
    """

    commits: int
    records: int
    dead_letters: int
    snapshot: Snapshot
    has_topics: bool = True
    left: tuple[TopicPartition, ...] = ()


def load(
    topics: str | Sequence[str],
    to: str | os.PathLike[str] | Target,
    *,
    bootstrap_servers: str = "127.0.0.1:9092",
    every_s: float | None = None,
    columns: str | Sequence[str] | None = None,
    with_headers: bool = False,
    decode: Decode | None = None,
    decode_mode: str = "fail",
    bad_times: str = "dead",
    start: Start = "earliest",
    out_of_range: str = "fail",
    recreated: str = "refuse",
    group: str | None = None,
    compression: str = "snappy",
    records_per_task: int = RECORDS_PER_TASK,
    records_per_commit: int = RECORDS_PER_COMMIT,
    workers: int | None = None,
    read_committed: bool = False,
    compact_every: int | None = None,
    grace_s: float = GRACE_S,
    retired_s: float = RETIRED_S,
    spark: Any = None,
    is_stopped: Callable[[], bool] = never,
    progress: Callable[[Progress], None] | None = None,
    keep: timedelta | float | None = None,
    listener: Listener = no_listener,
    health_file: str | os.PathLike[str] | None = None,
) -> Loaded:
    """Load topics into a table, each record exactly once, from where the table's last commit ends.

    topics         a pattern (Python's re) that a topic's whole name matches, or a sequence of names
    to             a directory, "iceberg:CATALOG:NAMESPACE.TABLE", "delta:DIRECTORY", or a Target
    every_s        repeat with this pause until `is_stopped()`; None: once, up to the high watermarks of now
    columns        of kafka's and the decoded ones; topic, partition, offset and timestamp are always among them
    decode         how values and keys are parsed, as in `headrace.spark.scan` (needs PySpark, no session)
    decode_mode    for a record that does not decode: "fail", "null", or "dead": it goes to the dead letters
    bad_times      for a record whose time the table can't hold: "dead", "null", "nearest", "fail" (`record_times.py`)
    group          whose committed offsets follow; None: headrace-load.NAME of the target, "": none
    spark          a session: its executors run the tasks, near the brokers
    is_stopped     asked between rounds and while waiting
    progress       called with how far it is
    listener       called with an event for each commit, each round and the end (`events.py`)
    health_file    replaced after each of them (`health_file.py`)
    keep           drop hours that ended longer ago than this (a timedelta, or seconds), after each round; None: none

    The other arguments are those of `LoadOptions`.

    raises   ValueError, ImportError: at once. LoadFenced, OutOfRange, TopicReplaced, SchemaConflict, TaskFailed, BrokenTarget, KafkaError,
             ConnectionFailed
    """
    target = open_target(to)
    options = LoadOptions(
        bootstrap_servers,
        pattern_of(topics),
        contents_of(columns, decode, decode_mode, with_headers, bad_times),
        start,
        every_s,
        out_of_range,
        recreated,
        f"headrace-load.{target.name.rstrip('/').rpartition('/')[2]}" if group is None else group,
        compression,
        records_per_task,
        records_per_commit,
        workers,
        read_committed,
        spark,
        compact_every,
        grace_s,
        retired_s,
        is_stopped,
        keep.total_seconds() if isinstance(keep, timedelta) else keep,
    )
    if health_file is not None:
        listener = both(HealthFile(health_file, every_s), listener)
    return Loader(options, target, progress, listener=listener).run()


class Loader:
    """One loader of one target."""

    def __init__(
        self,
        options: LoadOptions,
        target: Target,
        progress: Callable[[Progress], None] | None = None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        executor: Callable[[Job, Run], Executor] | None = None,
        listener: Listener = no_listener,
    ) -> None:
        """clock      seconds since 1970, for the time of a commit
        steady     seconds of a monotonic clock, for pauses
        executor   makes what runs the tasks; None: as the options say
        """
        self._options = options
        self._make_executor = executor
        self._target = target
        self._meter = ProgressMeter(progress)
        self._clock = clock
        self._steady = steady
        self._sleep = sleep
        self._schema: pa.Schema = options.contents.schema()
        self._commits = self._records = self._bad = 0
        self._group_fails = False
        self._leaves_files = False
        self._epochs = RecordEpochs()
        self._left: set[TopicPartition] = set()
        self._damaged: dict[str, DamagedFile] = {}  # files that are not merged
        self._has_topics: bool | None = None
        self._first_kept = -(2**62)  # hour since 1970
        self._events = LoadEvents(target.name, listener, clock, steady)

    def run(self) -> Loaded:
        """raises   as `load` does"""
        try:
            done = self._run()
        except BaseException as failure:
            self._events.ends(failure)
            raise
        self._events.ends()
        return done

    def _run(self) -> Loaded:
        self._target.prepare(self._schema)
        self._check_schema(self._target.read())
        run = Run(self._target.control, is_local=self._options.spark is None)
        executor = self._executor(run)
        snapshot = Snapshot()
        try:
            snapshot = sweep(self._target, run.id, self._options.grace_s)
            snapshot = self._rounds(run, executor, snapshot)
        except UnknownOutcome:
            executor.abandon()
            self._leaves_files = True
            raise
        except BaseException:
            self._undo(run, executor)
            raise
        finally:
            executor.close()
            run.close(keeps_file=self._leaves_files)
        left = tuple(sorted(self._left))
        return Loaded(self._commits, self._records, self._bad, snapshot, self._has_topics is not False, left)

    def _executor(self, run: Run) -> Executor:
        options = self._options
        contents = dataclasses.replace(options.contents, span=self._target.time_span)
        job = Job(str(self._target.root), contents, options.compression)
        if self._make_executor is not None:
            return self._make_executor(job, run)
        if options.spark is None:
            return TaskPool(job, run.id, run.descriptor, options.worker_count())
        from headrace.load.spark_tasks import SparkTasks

        return SparkTasks(options.spark, job, run.id)

    def _rounds(self, run: Run, executor: Executor, snapshot: Snapshot) -> Snapshot:
        if self._options.every_s is None:
            return self._one_round(run, executor, snapshot)
        is_stale = False
        while not self._options.is_stopped():
            due_s = self._steady() + self._options.every_s
            try:
                snapshot = self._one_round(run, executor, None if is_stale else snapshot)
                is_stale = False
            except (LoadFenced, TaskFailed, TargetUnavailable, ConnectionFailed, KafkaError) as failure:
                if not _may_pass(failure):
                    raise
                _log.warning(
                    "round of %s failed, the next one begins where the last commit ended: %s",
                    self._target.name,
                    failure,
                )
                self._undo(run, executor)
                due_s = max(due_s, self._steady() + RETRY_S)
                is_stale = True
            self._wait_until(due_s)
        return snapshot

    def _one_round(self, run: Run, executor: Executor, snapshot: Snapshot | None) -> Snapshot:
        """snapshot   None: read it"""
        self._events.round_begins()
        try:
            snapshot = self._target.read() if snapshot is None else snapshot
            snapshot = self._expired(run, self._catch_up(run, executor, snapshot))
        except BaseException as failure:
            self._events.round_ends(failure)
            raise
        self._events.round_ends()
        return snapshot

    def _undo(self, run: Run, executor: Executor) -> None:
        """Nothing that was not committed stays; a failure leaves it to the next loader."""
        executor.abandon()
        try:
            remove_uncommitted(self._target, run.id)
            executor.dead_attempts.clear()
            self._leaves_files = False
        except (OSError, HeadraceError) as failure:
            _log.warning("files of a failed round stay until the next load: %s", failure)
            self._leaves_files = True

    def _wait_until(self, due_s: float) -> None:
        while not self._options.is_stopped() and (left_s := due_s - self._steady()) > 0:
            self._sleep(min(left_s, POLL_S))

    def _catch_up(self, run: Run, executor: Executor, snapshot: Snapshot) -> Snapshot:
        """Rounds until the ends of the first one are reached. What can't be loaded is raised when the others are committed.

        raises   OutOfRange, TopicReplaced, what a round raises
        """
        frozen: Ends | None = None
        tries = 0
        deadline_s = self._steady() + (LEADER_WAIT_S if self._options.every_s is None else 0)
        while True:
            plan, ranges = patiently(lambda: self._planned(snapshot, frozen), self._scan_options())  # noqa: B023
            if plan.went_back and not plan.bounds and tries + 1 < LOAD_WENT_BACK_TRIES_MAX:
                tries += 1
                self._sleep(WENT_BACK_PAUSE_S)
                continue
            if frozen is None and self._waits_for_leaders(plan, deadline_s):
                continue
            self._report_left(plan)
            self._report_topics(plan)
            self._events.planned(plan.ends, list(plan.left), snapshot)
            frozen = plan.ends if frozen is None else frozen
            self._meter.expect(_left(plan, frozen))
            before, snapshot = snapshot, self._round(run, executor, snapshot, plan, ranges)
            if not plan.bounds:
                _check_refused(plan)
            if snapshot is before or not plan.bounds or self._options.is_stopped():
                return snapshot

    def _waits_for_leaders(self, plan: RoundPlan, deadline_s: float) -> bool:
        """Whether to plan again, since a partition that has no leader may have one soon."""
        if not plan.left or self._steady() >= deadline_s or self._options.is_stopped():
            return False
        self._sleep(WENT_BACK_PAUSE_S)
        return True

    def _report_left(self, plan: RoundPlan) -> None:
        """Which partitions wait for the next round, where these are others than before."""
        if plan.left.keys() != self._left:
            if plan.left:
                some = [f"{name} ({plan.left[name]})" for name in sorted(plan.left)[:LOAD_LEFT_NAMED_MAX]]
                _log.warning(
                    "%d partitions have no leader that responds, and are left for the next round: %s%s",
                    len(plan.left),
                    ", ".join(some),
                    ", ..." if len(some) < len(plan.left) else "",
                )
            else:
                _log.info("all partitions have a leader again")
            self._left = set(plan.left)

    def _report_topics(self, plan: RoundPlan) -> None:
        """That no topic matches, once."""
        has_topics = bool(plan.topic_ids)
        if has_topics != self._has_topics and not has_topics:
            _log.warning("no topic matches %r", self._options.pattern)
        self._has_topics = has_topics

    def _planned(self, snapshot: Snapshot, frozen: Ends | None) -> tuple[RoundPlan, list[OffsetRange]]:
        with Cluster(self._options.bootstrap_servers) as cluster:
            plan = plan_round(cluster, self._options, snapshot, frozen, self._epochs)
            if not plan.bounds:
                return plan, []
            directories = cluster.log_directories()
            contents = dataclasses.replace(self._options.contents, span=self._target.time_span)
            changed = changed_records(
                cluster, self._scan_options(), self._target.root, snapshot, plan, directories, contents
            )
            if changed:
                plan = plan.without(changed, self._options)
            ranges = ranges_between(cluster, self._scan_options(), dict(plan.bounds), directories, 1)
            _check_ids(plan, ranges)
            return plan, ranges

    def _scan_options(self) -> ScanOptions:
        return ScanOptions(
            self._options.bootstrap_servers,
            max_records_per_partition=self._options.records_per_task,
            read_committed=self._options.read_committed,
        )

    def _round(
        self, run: Run, executor: Executor, snapshot: Snapshot, plan: RoundPlan, ranges: list[OffsetRange]
    ) -> Snapshot:
        """Tasks, check, commit; the same snapshot where there is nothing to commit, or where it is stopped at once."""
        for text in (*plan.went_back, *plan.refused):
            _log.warning("%s: not loaded", text)
        results = []
        for result in executor.run(ranges, never):
            results.append(result)
            self._meter.loaded(result.loaded.end - result.loaded.start, result.loaded.rows)
            self._events.progressed()
        offsets = plan.offsets_after(snapshot)
        if not results and not plan.gaps and offsets == snapshot.offsets:
            return snapshot
        ids = {topic: one.topic_id for topic, one in offsets.items()}
        loaded = [dataclasses.replace(one.loaded, topic_id=ids[one.loaded.topic]) for one in results]
        files = [dataclasses.replace(file, topic_id=ids[file.topic]) for one in results for file in one.files]
        change = Change(
            run.id,
            int(self._clock() * 1000),
            LOAD,
            offsets,
            (*plan.gaps, *sorted(loaded, key=lambda one: (one.topic, one.partition, one.start))),
            tuple(sorted(files, key=lambda one: one.path)),
            schema=self._new_schema(snapshot),
            is_read_committed=self._options.read_committed,
        )
        check_change(snapshot, change)
        self._target.step("tasks done")
        snapshot = self._target.commit(change, snapshot)
        self._target.step("committed")
        self._note(change, snapshot)
        self._commit_group(snapshot)
        self._clean(executor)
        remove_retired(self._target, snapshot, self._options.retired_s)
        return self._compacted(run, snapshot)

    def _compacted(self, run: Run, snapshot: Snapshot) -> Snapshot:
        """Merge small files, when it is due: by what there is, so that a loader that is killed often merges as well."""
        least = self._options.files_merged_min
        if not least:
            return snapshot
        from headrace.load.compaction import compacted, ripe

        groups = ripe(snapshot, least, damaged=self._damaged)
        after = compacted(self._target, run.id, snapshot, self._options.compression, groups, self._damaged)
        if after is not snapshot:
            self._events.committed(after, COMPACT)
        return after

    def _expired(self, run: Run, snapshot: Snapshot) -> Snapshot:
        """Drop old hours, once an hour. raises LoadFenced"""
        keep_s = self._options.keep_s
        if keep_s is None:
            return snapshot
        from headrace.load.expiring import expired, first_kept

        hour = first_kept(keep_s, self._clock())
        if hour > self._first_kept:
            removal, snapshot = expired(self._target, run.id, snapshot, hour)
            self._first_kept = hour
            if removal is not None:
                records = removal.rows + removal.dead_letters
                self._events.committed(snapshot, EXPIRE, records, removal.dead_letters, removal.files, removal.bytes)
        return snapshot

    def _note(self, change: Change, snapshot: Snapshot) -> None:
        files = len(change.added)
        records, bad = sum(one.rows for one in change.ranges), sum(one.bad for one in change.ranges)
        gaps = sum(one.is_gap for one in joined(change.ranges))
        self._commits += 1
        self._records += records
        self._bad += bad
        self._meter.committed()
        _log.info("commit files=%d records=%d bad=%d gaps=%d", files, records, bad, gaps)
        self._events.committed(snapshot, LOAD, records, bad, files, sum(one.bytes for one in change.added), gaps)

    def _check_schema(self, snapshot: Snapshot) -> None:
        """raises   SchemaConflict"""
        self._new_schema(snapshot)

    def _new_schema(self, snapshot: Snapshot) -> str:
        """What a commit says of columns: '' if the table has them all."""
        after = columns_after(snapshot, self._schema, self._target.name)
        if not snapshot.schema:
            self._target.check_columns(pa.schema([]), after)
            return schema_to_text(after)
        self._target.check_columns(schema_from_text(snapshot.schema), after)
        return "" if snapshot.number and after == own_columns(snapshot) else schema_to_text(after)

    def _commit_group(self, snapshot: Snapshot) -> None:
        """For lag tools. A failure is a warning: the target's commit counts."""
        group = self._options.group
        if not group:
            return
        try:
            with Cluster(self._options.bootstrap_servers) as cluster:
                wanted = {name: offset for name, offset in snapshot.next_offsets().items() if self._is_ours(name.topic)}
                Admin(cluster).alter_group_offsets(group, wanted, snapshot.epochs())
        except HeadraceError as failure:
            if not self._group_fails:
                _log.warning("offsets of the load not committed for group %s: %s", group, failure)
            self._group_fails = True
            return
        self._group_fails = False

    def _is_ours(self, topic: str) -> bool:
        return re.fullmatch(self._options.pattern, topic) is not None

    def _clean(self, executor: Executor) -> None:
        """Remove what tasks left that died; a failure leaves it to the next loader."""
        try:
            remove_attempts(self._target.root, executor.dead_attempts)
        except OSError as failure:
            _log.warning("files of ended tasks stay until the next load: %s", failure)
            self._leaves_files = True
            return
        executor.dead_attempts.clear()


def _check_ids(plan: RoundPlan, ranges: Sequence[OffsetRange]) -> None:
    """That the ranges are of the topics whose offsets were planned: metadata may have been refreshed between. raises TopicReplaced"""
    for one in ranges:
        if not same_topic(plan.topic_ids[one.topic], one.topic_id):
            raise TopicReplaced(
                f"{one.topic} was deleted and created again while a round of it was planned (its id was {plan.topic_ids[one.topic]}, it "
                f"is {one.topic_id} now): load it again"
            )


def _left(plan: RoundPlan, frozen: Ends) -> int:
    """Offsets that this round and the ones after it read."""
    return sum(max(frozen.get(name, end), end) - start for name, (start, end) in plan.bounds.items())


def _check_refused(plan: RoundPlan) -> None:
    """raises   OutOfRange, TopicReplaced: the first, with the reasons of all"""
    refused = list(plan.refused)
    if plan.went_back:
        refused.append(
            OutOfRange(
                f"{'; '.join(plan.went_back)}: the log lost records that were loaded (an unclean election, a restored disk), or the topic "
                "was deleted and created again. headrace load rewind rolls the table back to an offset that the log has, and the next load "
                "continues there; out-of-range policy skip leaves the partition unchanged"
            )
        )
    if refused:
        raise type(refused[0])("; ".join(map(str, refused)))


def _may_pass(failure: HeadraceError) -> bool:
    """Whether the next round of a load that repeats may succeed."""
    if isinstance(failure, KafkaError):
        return failure.code.retriable
    return failure.may_pass if isinstance(failure, TaskFailed) else True

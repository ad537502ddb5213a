"""What a scan reads: ranges of offsets, frozen at the high watermark (the last stable offset for read_committed).

Runs in: Spark's driver (for `.format("headrace")` in a Python process beside it). Ranges are split as the connector splits them:
`max_records_per_partition` first, then, where there are fewer than `min_partitions`, by their share of the records. Every in-sync
replica's host is a good place to run, since any replica may serve below the high watermark.

It waits for an unavailable broker: a job may start while a node restarts.

Source: Spark's `KafkaOffsetRangeCalculator`, for how ranges are split.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from headrace.arrow.errors import DataLoss
from headrace.arrow.local_range import is_directory_of
from headrace.arrow.pushdown import narrowed
from headrace.arrow.ranges import OffsetRange
from headrace.arrow.scan_options import Bound, ScanOptions
from headrace.backoff import pause_after
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import PARTITION_METADATA_FILE, read_partition_metadata

ATTEMPT_S = 10.0  # of one of `fetchOffset.numRetries`: a node restarts in less
PAUSE_FIRST_S = 0.05

_log = logging.getLogger("headrace.spark")

T = TypeVar("T")


def plan(
    options: ScanOptions,
    default_parallelism: int = 1,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[OffsetRange]:
    """The ranges of a scan.

    raises   DataLoss, if a given offset is outside of the log; ValueError, for unknown partitions; KafkaError;
             ConnectionFailed, if no broker responded within the time that the options allow
    """
    ranges = patiently(lambda: _plan(options, default_parallelism), options, clock, sleep)
    tell(ranges)
    return ranges


def patiently(
    attempt: Callable[[], T],
    options: ScanOptions,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What `attempt` returns; repeated while no broker is available, as long as the options allow.

    raises   what the last attempt raised
    """
    deadline_s = clock() + options.attempts * ATTEMPT_S
    pause_max_s = max(options.retry_pause_s, PAUSE_FIRST_S)
    tries = 0
    has_logged = False
    while True:
        try:
            return attempt()
        except (ConnectionFailed, KafkaError) as failure:
            code = failure.code if isinstance(failure, KafkaError) else ErrorCode.NETWORK_EXCEPTION
            if not code.retriable or code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or clock() >= deadline_s:
                raise
            if not has_logged:
                _log.warning("planning waits up to %.0f s: %s", options.attempts * ATTEMPT_S, failure)
                has_logged = True
        tries += 1
        sleep(pause_after(tries, PAUSE_FIRST_S, pause_max_s))


def _plan(options: ScanOptions, default_parallelism: int) -> list[OffsetRange]:
    with Cluster(options.bootstrap_servers) as cluster:
        names = selected(cluster, options)
        if not names:
            return []
        earliest = cluster.offsets(dict.fromkeys(names, EARLIEST))
        latest = cluster.offsets(dict.fromkeys(names, LATEST), options.read_committed)
        starts = _starts(cluster, options, names, earliest, latest)
        ends = resolved(cluster, options, options.end, names, earliest, latest, is_start=False)
        for name in names:
            if starts[name] > latest[name] == ends[name]:
                ends[name] = starts[name]  # nothing yet: what follows is not decided
        _check_order(starts, ends)
        bounds = {name: (starts[name], ends[name]) for name in names}
        if options.where is not None and options.where_schema is not None:
            bounds = narrowed(cluster.offsets, options.where, options.where_schema, bounds)
        return ranges_between(cluster, options, bounds, cluster.log_directories(), default_parallelism)


def _starts(
    cluster: Cluster,
    options: ScanOptions,
    names: list[TopicPartition],
    earliest: dict[TopicPartition, int],
    latest: dict[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """A given offset may lie above the last stable one: it was read up to the high watermark. raises ValueError, DataLoss"""
    highs = latest
    if options.read_committed and any(
        offset > latest.get(name, offset) for name, offset in options.start.offsets.items()
    ):
        highs = latest | cluster.offsets(dict.fromkeys(names, LATEST))
    found = resolved(cluster, options, options.start, names, earliest, highs, is_start=True)
    given = options.start.offsets
    return {
        name: offset if given.get(name, -1) > latest[name] else min(offset, latest[name])
        for name, offset in found.items()
    }


def ranges_between(
    cluster: Cluster,
    options: ScanOptions,
    bounds: dict[TopicPartition, tuple[int, int]],
    directories: dict[tuple[int, TopicPartition], str],
    default_parallelism: int,
) -> list[OffsetRange]:
    """The ranges of (start, end) by partition, with the hosts and directories of the in-sync replicas."""
    ranges = []
    # Asked after the last stable offsets: what was decided below those had its marker below this.
    decided = cluster.offsets(dict.fromkeys(bounds, LATEST)) if options.read_committed and bounds else {}
    for name, low, high in divide(options, bounds, default_parallelism):
        replicas = tuple(
            (node_id, cluster.brokers[node_id].host, directories.get((node_id, name), ""))
            for node_id in cluster.partitions[name].isr
            if node_id in cluster.brokers
        )
        ranges.append(
            OffsetRange(
                name.topic,
                name.partition,
                low,
                high,
                options.bootstrap_servers,
                cluster.cluster_id,
                replicas,
                options.fails_on_data_loss,
                options.read_committed,
                cluster.topic_ids.get(name.topic) or _id_in_files(cluster.cluster_id, replicas, name),
                options.checks_crcs,
                options.patience_s,
                decided.get(name, 0),
                options.gives_pages_back,
            )
        )
    return ranges


def divide(
    options: ScanOptions, bounds: dict[TopicPartition, tuple[int, int]], default_parallelism: int = 1
) -> list[tuple[TopicPartition, int, int]]:
    """(partition, start, end) of every range: the connector's, or finer ones for `scan`."""
    counts_empty = options.counts_empty and (options.min_partitions or 0) <= len(bounds)
    ranges = [(name, start, end) for name, (start, end) in bounds.items() if counts_empty or start < end]
    most = options.max_records_per_partition
    if most is not None:
        ranges = [
            (name, low, high)
            for name, start, end in ranges
            for low, high in split(start, end, -(-(end - start) // most))
        ]
    if counts_empty:
        return ranges
    total = sum(end - start for _name, start, end in ranges)
    if options.min_partitions is None and options.splits:
        return _split_all(ranges, dict.fromkeys(ranges, total), default_parallelism)
    if options.min_partitions is None or len(ranges) >= options.min_partitions:
        return ranges
    wanted = options.min_partitions
    whole = [one for one in ranges if _pieces(one[2] - one[1], total, wanted) == 1]
    total -= sum(end - start for _name, start, end in whole)
    shares = {one: 0 if one in whole else total for one in ranges}
    return _split_all(ranges, shares, max(wanted - len(whole), 1))


def split(start: int, end: int, pieces: int) -> list[tuple[int, int]]:
    """`pieces` ranges of nearly the same length that cover start <= offset < end; fewer, where there are fewer offsets."""
    cuts = [start]
    for left in range(max(1, min(pieces, end - start)), 0, -1):
        cuts.append(cuts[-1] + (end - cuts[-1]) // left)
    return list(itertools.pairwise(cuts))


def _split_all(
    ranges: list[tuple[TopicPartition, int, int]], shares: dict[tuple[TopicPartition, int, int], int], wanted: int
) -> list[tuple[TopicPartition, int, int]]:
    """Each range in its share of the `wanted` pieces; whole where it has none."""
    return [
        (one[0], low, high)
        for one in ranges
        for low, high in split(one[1], one[2], _pieces(one[2] - one[1], shares[one], wanted) if shares[one] else 1)
    ]


def _pieces(size: int, total: int, wanted: int) -> int:
    return max(1, math.floor(size / total * wanted + 0.5))  # Java's round


def _id_in_files(cluster_id: str, replicas: tuple[tuple[int, str, str], ...], name: TopicPartition) -> str:
    """The topic's id from the directory on this host, for a cluster that returns none; '' if it is not local."""
    for broker_id, _host, log_dir in replicas:
        try:
            if log_dir and is_directory_of(Path(log_dir), cluster_id, broker_id):
                return read_partition_metadata(Path(log_dir) / str(name) / PARTITION_METADATA_FILE)
        except OSError:
            continue
    return ""


def tell(ranges: list[OffsetRange]) -> None:
    """Log how much of a plan can be read from local files, and warn of a local directory that is not readable."""
    here = 0
    closed: dict[str, str] = {}
    is_local: dict[tuple[str, int, str], bool] = {}
    for one in ranges:
        for broker_id, _host, log_dir in one.replicas:
            key = (one.cluster_id, broker_id, log_dir)
            if log_dir and key not in is_local:
                try:
                    is_local[key] = is_directory_of(Path(log_dir), one.cluster_id, broker_id)
                    if is_local[key] and not os.access(log_dir, os.R_OK | os.X_OK):
                        raise PermissionError(f"no access for user {os.getuid()}")
                except PermissionError as failure:
                    is_local[key] = False
                    closed[log_dir] = str(failure)
        here += any(is_local.get((one.cluster_id, broker_id, log_dir)) for broker_id, _host, log_dir in one.replicas)
    for log_dir, reason in closed.items():
        _log.warning(
            "%s is on this host but not readable (%s): its records are fetched over the network; "
            "add Spark's user to the group that owns it",
            log_dir,
            reason,
        )
    records = sum(one.end - one.start for one in ranges)
    _log.info("plan ranges=%d offsets=%d files_on_driver_host=%d", len(ranges), records, here)


def selected(cluster: Cluster, options: ScanOptions) -> list[TopicPartition]:
    """The partitions that the options select now, by fresh metadata. raises ValueError, KafkaError, ConnectionFailed"""
    if options.assigned:
        cluster.refresh(sorted({name.topic for name in options.assigned}))
        missing = [str(name) for name in options.assigned if name not in cluster.partitions]
        if missing:
            raise ValueError(f"assigned partitions don't exist: {', '.join(missing)}")
        return sorted(options.assigned)
    if options.pattern is not None:
        pattern = re.compile(options.pattern)
        topics = {topic for topic in cluster.refresh(None) if pattern.search(topic)} - cluster.internal_topics
    else:
        topics = set(cluster.refresh(list(options.topics)))
    return sorted(name for name in cluster.partitions if name.topic in topics)


def _check_order(starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> None:
    for name, start in starts.items():
        if start > ends[name]:
            raise ValueError(f"{name}: the start offset {start} is after the end offset {ends[name]}")


def _check_names(bound: Bound, names: list[TopicPartition]) -> None:
    """raises   ValueError, where offsets or timestamps don't name what is read, and only that"""
    given, read = bound.offsets or bound.timestamps, set(names)
    unknown = [str(name) for name in given if name not in read]
    if unknown:
        raise ValueError(
            f"{bound.option or 'offsets'} are given for partitions outside the selection: {', '.join(unknown)}"
        )
    missing = [str(name) for name in names if name not in given]
    if bound.option and missing:
        advice = " (-2 is the earliest offset, -1 the latest)" if bound.offsets else ""
        raise ValueError(
            f"option {bound.option} must name every partition that is read: {', '.join(missing)} missing{advice}"
        )


def resolved(
    cluster: Cluster,
    options: ScanOptions,
    bound: Bound,
    names: list[TopicPartition],
    earliest: dict[TopicPartition, int],
    latest: dict[TopicPartition, int],
    is_start: bool,
) -> dict[TopicPartition, int]:
    """One end of every partition as an offset. raises ValueError, DataLoss"""
    _check_names(bound, names)
    timestamps = dict(bound.timestamps)
    if bound.timestamp is not None:
        timestamps = dict.fromkeys(names, bound.timestamp)
    at_timestamp = cluster.offsets(timestamps) if timestamps else {}
    found = {}
    for name in names:
        if name in at_timestamp:
            offset = at_timestamp[name]
            if offset < 0:
                if is_start and not options.unmatched_timestamp_is_latest:
                    raise ValueError(
                        f"{name}: no record at or after timestamp {timestamps[name]}; "
                        "startingOffsetsByTimestampStrategy=latest starts at the end instead"
                    )
                offset = latest[name]
        else:
            offset = bound.offsets.get(name, bound.default)
        if offset == EARLIEST:
            offset = earliest[name]
        elif offset == LATEST:
            offset = latest[name]
        if not earliest[name] <= offset <= latest[name]:
            what = f"{name}: offset {offset} is not in the log, which holds {earliest[name]}..{latest[name]}"
            if options.fails_on_data_loss:
                raise DataLoss(
                    f"{what}: records were deleted, or the offset is wrong; failOnDataLoss=false (scan:"
                    " fail_on_data_loss=False) reads what is left"
                )
            _log.warning("records lost, continuing because failOnDataLoss=false: %s", what)
            offset = min(max(offset, earliest[name]), latest[name])
        found[name] = offset
    return found

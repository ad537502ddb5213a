"""What a scan reads: ranges of offsets, frozen at the high watermark (the last stable offset for read_committed).

Runs in: Spark's driver. One or more ranges a partition: as many as `min_partitions` asks for, none longer than
`max_records_per_partition`. Every in-sync replica's host is a good place to run, since any replica may serve below the high watermark.

Source: Spark's `KafkaOffsetRangeCalculator`, for how ranges are split.
"""

from __future__ import annotations

import itertools
import re

from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.spark.options import Bound, ScanOptions
from headrace.spark.ranges import OffsetRange


class DataLoss(HeadraceError):
    """Offsets that were asked for are gone; failOnDataLoss=false reads what is left."""


def plan(options: ScanOptions, default_parallelism: int = 1) -> list[OffsetRange]:
    """The ranges of a scan.

    raises   DataLoss, where a given offset lies outside of the log; ValueError, for partitions that don't exist
    """
    with Cluster(options.bootstrap_servers) as cluster:
        names = _partitions(cluster, options)
        if not names:
            return []
        earliest = cluster.offsets(dict.fromkeys(names, EARLIEST))
        latest = cluster.offsets(dict.fromkeys(names, LATEST), options.read_committed)
        starts = _resolve(cluster, options, options.start, names, earliest, latest, is_start=True)
        ends = _resolve(cluster, options, options.end, names, earliest, latest, is_start=False)
        directories = cluster.log_directories()
        total = sum(max(0, ends[name] - starts[name]) for name in names)
        wanted = options.min_partitions or max(default_parallelism, 1)
        ranges = []
        for name in names:
            start, end = starts[name], ends[name]
            if start >= end:
                continue
            pieces = max(1, round((end - start) / total * wanted))
            if options.max_records_per_partition is not None:
                pieces = max(pieces, -(-(end - start) // options.max_records_per_partition))
            replicas = tuple(
                (node_id, cluster.brokers[node_id].host, directories.get((node_id, name), ""))
                for node_id in cluster.partitions[name].isr
                if node_id in cluster.brokers
            )
            ranges += [
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
                )
                for low, high in split(start, end, pieces)
            ]
    return ranges


def split(start: int, end: int, pieces: int) -> list[tuple[int, int]]:
    """`pieces` ranges of nearly the same length that cover start <= offset < end; fewer, where there are fewer offsets."""
    pieces = max(1, min(pieces, end - start))
    cuts = [start + (end - start) * index // pieces for index in range(pieces + 1)]
    return list(itertools.pairwise(cuts))


def _partitions(cluster: Cluster, options: ScanOptions) -> list[TopicPartition]:
    if options.assigned:
        cluster.refresh(sorted({name.topic for name in options.assigned}))
        missing = [str(name) for name in options.assigned if name not in cluster.partitions]
        if missing:
            raise ValueError(f"assigned partitions don't exist: {', '.join(missing)}")
        return sorted(options.assigned)
    if options.pattern is not None:
        pattern = re.compile(options.pattern)
        topics = {topic for topic in cluster.refresh(None) if pattern.fullmatch(topic)} - cluster.internal_topics
    else:
        topics = set(cluster.refresh(list(options.topics)))
    return sorted(name for name in cluster.partitions if name.topic in topics)


def _resolve(
    cluster: Cluster,
    options: ScanOptions,
    bound: Bound,
    names: list[TopicPartition],
    earliest: dict[TopicPartition, int],
    latest: dict[TopicPartition, int],
    is_start: bool,
) -> dict[TopicPartition, int]:
    """One end of every partition as an offset."""
    unknown = [str(name) for name in (*bound.offsets, *bound.timestamps) if name not in earliest]
    if unknown:
        raise ValueError(f"offsets are given for partitions that are not read: {', '.join(unknown)}")
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
                        "startingOffsetsByTimestampStrategy=latest begins at the end instead"
                    )
                offset = latest[name]
        else:
            offset = bound.offsets.get(name, bound.default)
        if offset == EARLIEST:
            offset = earliest[name]
        elif offset == LATEST:
            offset = latest[name]
        if not earliest[name] <= offset <= latest[name]:
            if options.fails_on_data_loss:
                raise DataLoss(
                    f"{name}: offset {offset} is not in {earliest[name]}..{latest[name]}; records were lost, "
                    "or the offset is wrong; failOnDataLoss=false reads what is there"
                )
            offset = min(max(offset, earliest[name]), latest[name])
        found[name] = offset
    return found

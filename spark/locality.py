"""How much of a topic would be read from files on this host, and why not the rest.

Runs in: `headrace spark doctor`, on a host where executors run, as the user that they run as. A partition is local where one of its
in-sync replicas is: its directory is here, belongs to the cluster and the broker that the cluster names, and may be read. Else the
reason of the replica that came closest is reported.

    FOREIGN      no in-sync replica's directory is on this host
    UNTOLD       the broker does not say where its log directories are
    MISMATCHED   a directory of that path is here, of another cluster or broker
    MISSING      the log directory is here, the partition's is not
    UNREADABLE   it is here, and this user may not read it
    LOCAL
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from headrace.arrow.local_range import is_directory_of
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.ids import TopicPartition
from headrace.log.names import LOG_SUFFIX


class Place(IntEnum):
    """Where a replica is, the closest last."""

    FOREIGN = 0
    UNTOLD = 1
    MISMATCHED = 2
    MISSING = 3
    UNREADABLE = 4
    LOCAL = 5


class PartitionPlace(NamedTuple):
    """One partition as this host has it.

    node_id   of the replica that is closest
    records   offsets between the log's start and its high watermark
    advice    what would make it local, or what is wrong; empty where it is local
    """

    name: TopicPartition
    place: Place
    node_id: int
    records: int
    advice: str


class TopicPlaces(NamedTuple):
    """A topic as this host has it.

    advice   each reason once, with the number of partitions that it holds for
    """

    topic: str
    partitions: int
    local_partitions: int
    records: int
    local_records: int
    advice: dict[str, int]


def find_places(cluster: Cluster, topics: Iterable[str]) -> list[PartitionPlace]:
    """Every partition of some topics. raises KafkaError, ConnectionFailed"""
    wanted = set(cluster.refresh(sorted(topics)))
    names = sorted(name for name in cluster.partitions if name.topic in wanted)
    led = [name for name in names if cluster.partitions[name].leader >= 0]
    earliest = cluster.offsets(dict.fromkeys(led, EARLIEST))
    latest = cluster.offsets(dict.fromkeys(led, LATEST))
    directories = cluster.log_directories()
    found = []
    for name in names:
        replicas = [
            (*place_of(cluster.cluster_id, node_id, directories.get((node_id, name), ""), name), node_id)
            for node_id in cluster.partitions[name].isr
        ]
        place, advice, node_id = max(replicas, default=(Place.FOREIGN, "no replica is in sync", -1))
        found.append(PartitionPlace(name, place, node_id, latest.get(name, 0) - earliest.get(name, 0), advice))
    return found


def place_of(cluster_id: str, node_id: int, log_dir: str, name: TopicPartition) -> tuple[Place, str]:
    """Where a replica is, and what would make it local."""
    if not log_dir:
        return Place.UNTOLD, f"broker {node_id} does not report its log directories (DescribeLogDirs)"
    path = Path(log_dir)
    try:
        if not is_directory_of(path, cluster_id, node_id):
            if (path / "meta.properties").exists():
                return Place.MISMATCHED, f"{log_dir} on this host belongs to another cluster or broker"
            return Place.FOREIGN, f"no directory of broker {node_id} is on this host"
        directory = path / str(name)
        if not directory.is_dir():
            return (
                Place.MISSING,
                f"{log_dir} is on this host, but has no directory for it: it is being moved, or was deleted",
            )
        if not os.access(directory, os.R_OK | os.X_OK) or not _are_readable(directory):
            raise PermissionError(directory)
    except PermissionError:
        group = _group_of(path)
        return Place.UNREADABLE, f"user {_user()} can't read {log_dir}: add it to the group {group} (usermod -a -G)"
    return Place.LOCAL, ""


def by_topic(places: Iterable[PartitionPlace]) -> list[TopicPlaces]:
    """The same, a topic each."""
    grouped: dict[str, list[PartitionPlace]] = {}
    for one in places:
        grouped.setdefault(one.name.topic, []).append(one)
    found = []
    for topic, parts in grouped.items():
        local = [one for one in parts if one.place is Place.LOCAL]
        advice: dict[str, int] = {}
        for one in parts:
            if one.advice:
                advice[one.advice] = advice.get(one.advice, 0) + 1
        found.append(
            TopicPlaces(
                topic,
                len(parts),
                len(local),
                sum(one.records for one in parts),
                sum(one.records for one in local),
                advice,
            )
        )
    return found


def _are_readable(directory: Path) -> bool:
    return all(os.access(entry.path, os.R_OK) for entry in os.scandir(directory) if entry.name.endswith(LOG_SUFFIX))


def _group_of(path: Path) -> str:
    return _told(path.group) or "of the log directories"


def _user() -> str:
    import pwd

    return _told(lambda: pwd.getpwuid(os.getuid()).pw_name) or str(os.getuid())


def _told(ask: Callable[[], str]) -> str:
    """A name; empty where the system has none."""
    try:
        return ask()
    except (KeyError, OSError):
        return ""

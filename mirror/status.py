"""What a mirror says of itself: a file for each of its processes, replaced every few seconds, and what is read of them.

    STATE_DIR/NAME.status.N.json     {"name", "worker", "pid", "time_ms", "is_running", "refused": {topic: reason}, "partitions": [...]}

Source: MirrorMaker 2's metrics (`record-age-ms`, `replication-latency-ms`) for what is told of a partition.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from headrace.errors import ConfigError
from headrace.mirror.copier import Copier
from headrace.mirror.partition_copy import PartitionCopy

STALE_MS = 15_000


class PartitionStatus(msgspec.Struct, frozen=True):
    """lag_records -1: not known yet."""

    source: str
    topic: str
    partition: int
    target: str
    state: str
    reason: str
    source_offset: int
    target_offset: int
    lag_records: int
    lag_seconds: float
    records: int
    bytes: int
    passed_on: int
    rebuilt: int
    aborted: int
    gaps: list[str]


class WorkerStatus(msgspec.Struct, frozen=True):
    """Of one process."""

    name: str
    worker: int
    workers: int
    pid: int
    time_ms: int
    is_running: bool
    groups_carried: int
    refused: dict[str, str]
    partitions: list[PartitionStatus]


def status_path(directory: Path, name: str, worker: int) -> Path:
    return directory / f"{name}.status.{worker}.json"


def status_of(
    copier: Copier, wall_ms: int, is_running: bool, refused: dict[str, str] | None = None, groups_carried: int = 0
) -> WorkerStatus:
    return WorkerStatus(
        copier.settings.name,
        copier.number,
        copier.settings.workers,
        os.getpid(),
        wall_ms,
        is_running,
        groups_carried,
        refused or {},
        [_partition(copy, wall_ms) for copy in copier.copies],
    )


def _partition(copy: PartitionCopy, wall_ms: int) -> PartitionStatus:
    lane = copy.lane
    return PartitionStatus(
        copy.name.source,
        copy.name.topic,
        copy.name.partition,
        copy.target.topic if copy.is_by_key else str(copy.target),
        copy.state.value,
        copy.reason,
        -1 if lane is None else lane.acknowledged.source,
        -1 if lane is None else lane.acknowledged.target,
        copy.lag_records,
        round(copy.lag_seconds(wall_ms), 3),
        0 if lane is None else lane.records,
        0 if lane is None else lane.bytes,
        0 if lane is None else lane.passed,
        0 if lane is None else lane.rebuilt,
        0 if lane is None else lane.aborted,
        copy.gaps,
    )


def write_status(directory: Path, status: WorkerStatus) -> None:
    """Replace the file; it may be lost with the machine's power. raises   OSError"""
    path = status_path(directory, status.name, status.worker)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(msgspec.json.encode(status))
    temporary.replace(path)


def read_status(directory: Path, name: str) -> list[WorkerStatus]:
    """The files of a mirror, by process. raises   ConfigError, where there is none"""
    found = []
    for path in sorted(directory.glob(f"{name}.status.*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=WorkerStatus))
        except (OSError, msgspec.MsgspecError) as failure:
            raise ConfigError("mirror.state.dir", str(path), str(failure)) from None
    if not found:
        raise ConfigError("mirror.state.dir", str(directory), f"mirror {name} has no status file")
    workers = max(found, key=lambda one: one.time_ms).workers
    return [one for one in found if one.worker < workers]

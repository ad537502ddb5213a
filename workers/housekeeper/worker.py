"""The housekeeper: checkpoints, fsync of rolled segments, retention, compaction, removal of what was deleted.

Runs in: one process. It writes the checkpoint files and the clean-shutdown marker of every log directory, and
nobody else does. Of the segments it only reads: it asks their owners to drop them (`retention_look.py`), or to put
compacted ones in their place (`cleaner.py`). What goes into a checkpoint comes from the partition table.

    recovery point    everything below it has been fsynced: segments that rolled are synced here, then counted
    high watermark    replication-offset-checkpoint
    log start         log-start-offset-checkpoint

The clean-shutdown marker is the last thing written, and only if every partition worker closed its logs.

Source: Kafka `LogManager`, `ReplicaManager.checkpointHighWatermarks`.
"""

from __future__ import annotations

import logging
import os
import select
import shutil
from pathlib import Path

from headrace import exit_codes
from headrace.clock import Clock, SystemClock
from headrace.errors import ConfigError, Fenced, HeadraceError
from headrace.ids import TopicPartition
from headrace.limits import IDLE_WAIT_MAX_MS
from headrace.log.checkpoints import (
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    read_offset_checkpoint,
    write_clean_shutdown,
    write_offset_checkpoint,
)
from headrace.log.disk import EXHAUSTED, TOO_MANY_FILES
from headrace.log.partition_log import sync_segment
from headrace.log.retention import load_policy
from headrace.log.segment import segment_bases
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.stop_flag import StopFlag
from headrace.workers.housekeeper.cleaner import Cleaner
from headrace.workers.housekeeper.hosted import HostedReplicas
from headrace.workers.housekeeper.lag_look import LagLook
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.retention_look import RetentionLook

DELETED_SUFFIX = "-delete"
SYNC_LOOK_INTERVAL_MS = 1_000
LAG_LOOK_INTERVAL_MS = 2_000
RETIRED_LOOK_INTERVAL_MS = 30_000
CHECKPOINT_FILES = (RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE, LOG_START_OFFSET_FILE)

_log = logging.getLogger(__name__)


class Housekeeper:
    """Periodic work over all partitions of the node; never on a request's way."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        settings = seat.wiring.settings
        self._seat = seat
        self._clock = clock
        self._all_log_dirs = [Path(path) for path in seat.wiring.log_dirs]
        self._delete_delay_ms = settings["log.segment.delete.delay.ms"]
        self._intervals_ms = {
            "sync": SYNC_LOOK_INTERVAL_MS,
            "delete": SYNC_LOOK_INTERVAL_MS,
            "lag": LAG_LOOK_INTERVAL_MS,
            "retention": settings["log.retention.check.interval.ms"],
            "retired": max(SYNC_LOOK_INTERVAL_MS, min(RETIRED_LOOK_INTERVAL_MS, self._delete_delay_ms // 2)),
            RECOVERY_POINT_FILE: settings["log.flush.offset.checkpoint.interval.ms"],
            REPLICATION_OFFSET_FILE: settings["replica.high.watermark.checkpoint.interval.ms"],
            LOG_START_OFFSET_FILE: settings["log.flush.start.offset.checkpoint.interval.ms"],
        }
        self._replicas = HostedReplicas(seat, self._all_log_dirs)
        self._owners = Owners(seat)
        self._lags = LagLook(seat, self._replicas)
        policy = load_policy(settings["headrace.retention.policy"])
        self._retention = RetentionLook(seat, clock, self._replicas, self._owners, policy)
        self._cleaner = Cleaner(seat, clock, self._replicas, self._owners, self._log_dirs)
        self._cleaner.sweep()
        now_ms = clock.now_ms()
        self._due_ms = {name: now_ms + interval for name, interval in self._intervals_ms.items()}
        self._recovery_points: dict[TopicPartition, int] = {}
        self._keys: dict[TopicPartition, int] = {}  # of the replicas as of the last look
        self._written: dict[Path, dict[TopicPartition, int]] = {}
        for log_dir in self._log_dirs:
            try:
                self._recovery_points.update(read_offset_checkpoint(log_dir / RECOVERY_POINT_FILE))
            except (HeadraceError, ValueError, OSError) as failure:
                _log.warning("checkpoint ignored directory=%s reason=%s", log_dir, failure)

    @property
    def _log_dirs(self) -> list[Path]:
        """Those that no process of the node has found to fail."""
        mask = self._seat.offline_dirs()
        return [path for path in self._all_log_dirs if not self._seat.wiring.log_dir_bit(str(path)) & mask]

    def _take_offline(self, log_dir: Path, reason: object) -> None:
        _log.error("log directory offline path=%s reason=%s", log_dir, reason)
        self._seat.report_offline_dirs(self._seat.wiring.log_dir_bit(str(log_dir)))

    def do_work(self) -> int:
        """Do what is due; returns the number of tasks run."""
        self._seat.beat(self._clock.monotonic_ns())
        done = self._owners.take_answers()
        now_ms = self._clock.now_ms()
        for name, due_ms in self._due_ms.items():
            if now_ms < due_ms:
                continue
            self._due_ms[name] = now_ms + self._intervals_ms[name]
            done += 1
            if name == "sync":
                self._sync_rolled_segments()
            elif name == "delete":
                self._remove_deleted(now_ms)
            elif name == "lag":
                self._lags.look()
            elif name == "retention":
                self._retention.look()
            elif name == "retired":
                self._retention.remove_retired()
            else:
                self._write_checkpoint(name)
        return done + self._cleaner.do_work(now_ms)

    def close(self, is_clean: bool) -> None:
        """Final checkpoints, and the marker where every partition worker closed its logs."""
        self._cleaner.close()
        for name in CHECKPOINT_FILES:
            self._write_checkpoint(name)
        if is_clean:
            for log_dir in self._log_dirs:
                try:
                    write_clean_shutdown(log_dir)
                except OSError as failure:
                    _log.error("clean-shutdown marker not written directory=%s reason=%s", log_dir, failure)

    def _sync_rolled_segments(self) -> None:
        replicas = list(self._replicas)
        self._forget_deleted({hosted.name: hosted.row.key for hosted in replicas})
        for hosted in replicas:
            name, row = hosted.name, hosted.row
            point = max(self._recovery_points.get(name, 0), row.recovery_point, row.log_start_offset)
            if point < row.end_segment:
                directory = hosted.directory
                try:
                    bases = _segments_between(directory, point, row.end_segment)
                except FileNotFoundError:
                    continue  # deleted, or moved to another log directory, since the replicas were listed
                except OSError as failure:
                    if failure.errno not in TOO_MANY_FILES:
                        self._take_offline(hosted.log_dir, f"segments of {name} not listed: {failure}")
                    continue
                for base_offset in bases:
                    try:
                        sync_segment(directory, base_offset)
                    except FileNotFoundError:
                        continue  # deleted meanwhile
                    except OSError as failure:
                        if failure.errno in TOO_MANY_FILES:
                            break
                        self._take_offline(hosted.log_dir, f"segment {base_offset} of {name} not synced: {failure}")
                        break
                    self._seat.beat(self._clock.monotonic_ns())
                else:
                    point = row.end_segment
            self._recovery_points[name] = point

    def _forget_deleted(self, keys: dict[TopicPartition, int]) -> None:
        """What was synced of a topic says nothing of another one by its name; the checkpoint must not say so for long."""
        gone = [name for name, key in self._keys.items() if keys.get(name) != key]
        for name in gone:
            self._recovery_points.pop(name, None)
        if gone:
            self._due_ms[RECOVERY_POINT_FILE] = 0
        self._keys = keys

    def _write_checkpoint(self, file_name: str) -> None:
        offsets: dict[Path, dict[TopicPartition, int]] = {log_dir: {} for log_dir in self._log_dirs}
        for hosted in self._replicas:
            name, row = hosted.name, hosted.row
            if file_name == RECOVERY_POINT_FILE:
                offset = min(max(self._recovery_points.get(name, 0), row.recovery_point), row.log_end_offset)
            elif file_name == REPLICATION_OFFSET_FILE:
                offset = row.high_watermark
            else:
                offset = row.log_start_offset
            offsets[hosted.log_dir][name] = offset
        for log_dir, found in offsets.items():
            path = log_dir / file_name
            if self._written.get(path) == found:
                continue
            try:
                write_offset_checkpoint(path, found)
            except OSError as failure:
                if failure.errno in EXHAUSTED:
                    _log.error("checkpoint not written file=%s reason=%s", path, failure)
                else:
                    self._take_offline(log_dir, failure)
                continue
            self._written[path] = found

    def _remove_deleted(self, now_ms: int) -> None:
        for log_dir in self._log_dirs:
            try:
                for entry in os.scandir(log_dir):
                    if not entry.name.endswith(DELETED_SUFFIX) or not entry.is_dir(follow_symlinks=False):
                        continue
                    try:
                        deleted_ms = entry.stat().st_ctime_ns // 1_000_000
                    except FileNotFoundError:
                        continue  # somebody was faster
                    if now_ms - deleted_ms >= self._delete_delay_ms:
                        self._seat.beat(self._clock.monotonic_ns())
                        shutil.rmtree(entry.path, ignore_errors=True)
                        _log.info("directory removed path=%s", entry.path)
            except OSError as failure:
                self._take_offline(log_dir, failure)


def _segments_between(directory: Path, first_offset: int, end_segment: int) -> list[int]:
    """Base offsets of the segments that hold offsets from `first_offset` up to `end_segment`, without the latter."""
    bases = segment_bases(directory)
    following = [*bases[1:], end_segment]
    return [base for base, end in zip(bases, following, strict=False) if end > first_offset and base < end_segment]


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Keep house until SIGTERM."""
    clock = clock or SystemClock()
    stop = StopFlag()
    poll = select.poll()
    poll.register(seat.doorbell.fd, select.POLLIN)
    try:
        housekeeper = Housekeeper(seat, clock)
        seat.set_state(ProcessState.READY)
        while not stop.is_set:
            if not housekeeper.do_work():
                seat.doorbell.park()
                poll.poll(IDLE_WAIT_MAX_MS)
                seat.doorbell.unpark()
        seat.set_state(ProcessState.DRAINING)
        housekeeper.close(is_clean=seat.processes.is_clean_stop())
        seat.set_state(ProcessState.STOPPED)
        return 0
    except ConfigError as failure:
        _log.error("housekeeper can't work reason=%s", failure)
        return exit_codes.CONFIG
    except Fenced as reason:
        _log.warning("housekeeper fenced process=%d reason=%s", seat.process_id, reason)
        return 1

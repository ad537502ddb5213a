"""The housekeeper: checkpoints, fsync of rolled segments, retention, compaction, removal of what was deleted.

Runs in: one process. It writes the checkpoint files (`checkpoints.py`) and the clean-shutdown marker of every log
directory, and no other process does. Of the segments it only reads: it asks their owners to drop them (`retention_scan.py`), or
to put compacted ones in their place (`cleaner.py`). What goes into a checkpoint comes from the partition table.

    recovery point    everything below it has been fsynced: segments that rolled are synced here (`segment_sync.py`)
    high watermark    replication-offset-checkpoint
    log start         log-start-offset-checkpoint

The clean-shutdown marker is the last thing written, and says that every log of the directory is whole and synced
(`clean_marker.py`). A pass that fails is retried later, and ends no other (`quarantine.py`).

Source: Kafka `LogManager`, `ReplicaManager.checkpointHighWatermarks`.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from headrace.clock import Clock, SystemClock
from headrace.ids import TopicPartition
from headrace.limits import MAIL_UPKEEP_REQUESTS_MAX
from headrace.log.names import DELETED_DIRECTORY_SUFFIX
from headrace.log.retention import load_policy
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    PARTITION_MAX,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    is_number,
    read_partition_metadata,
    write_clean_shutdown,
)
from headrace.runtime import duty_cycle
from headrace.runtime.failed_directory import report_failed
from headrace.runtime.mailbox import Mailbox
from headrace.shm.counters import CLOSING_STEPS
from headrace.shm.seat import Seat
from headrace.shm.steady_date import SteadyDate
from headrace.workers.expiry_clock import ExpiryClock
from headrace.workers.housekeeper.checkpoints import Checkpoints
from headrace.workers.housekeeper.clean_marker import unclosed_log
from headrace.workers.housekeeper.cleaner import Cleaner
from headrace.workers.housekeeper.hosted import Hosted, HostedReplicas
from headrace.workers.housekeeper.lag_scan import LagScan
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.quarantine import Quarantine
from headrace.workers.housekeeper.retention_scan import RetentionScan
from headrace.workers.housekeeper.segment_sync import SegmentSync
from headrace.workers.watched_disk import WatchedDisk

SYNC_INTERVAL_MS: Final = 1_000
LAG_SCAN_INTERVAL_MS: Final = 2_000
RETIRED_SCAN_INTERVAL_MS: Final = 30_000
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
CHECKPOINT_FILES: Final = (RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE, LOG_START_OFFSET_FILE)

_log: Final = logging.getLogger(__name__)


class Housekeeper(duty_cycle.Process):
    """Periodic work over all partitions of the node; never on a request's way."""

    def __init__(self, seat: Seat, clock: Clock) -> None:
        settings = seat.wiring.settings
        self._seat = seat
        self._clock = clock
        self._all_log_dirs = [Path(path) for path in seat.wiring.log_dirs]
        self._delete_delay_ms = settings["log.segment.delete.delay.ms"]
        self._intervals_ms = {
            "sync": SYNC_INTERVAL_MS,
            "delete": SYNC_INTERVAL_MS,
            "log starts": SYNC_INTERVAL_MS,
            "lag": LAG_SCAN_INTERVAL_MS,
            "retention": settings["log.retention.check.interval.ms"],
            "retired": max(SYNC_INTERVAL_MS, min(RETIRED_SCAN_INTERVAL_MS, self._delete_delay_ms // 2)),
            RECOVERY_POINT_FILE: settings["log.flush.offset.checkpoint.interval.ms"],
            REPLICATION_OFFSET_FILE: settings["replica.high.watermark.checkpoint.interval.ms"],
            LOG_START_OFFSET_FILE: settings["log.flush.start.offset.checkpoint.interval.ms"],
        }
        self._replicas = HostedReplicas(seat, list(map(Path, settings["log.dirs"])))
        self._mailbox = Mailbox(seat, in_flight_max=MAIL_UPKEEP_REQUESTS_MAX)
        self._owners = Owners(self._mailbox)
        self._quarantine = Quarantine(clock)
        self._disk = WatchedDisk(seat, clock)
        self._checkpoints = Checkpoints(self._disk)
        self._sync = SegmentSync(seat, clock, self._replicas, self._owners, self._checkpoints, self._quarantine)
        self._lags = LagScan(seat, clock, self._replicas)
        dates = ExpiryClock(clock, SteadyDate(seat.processes.words))
        policy = load_policy(settings["headrace.retention.policy"])
        self._retention = RetentionScan(
            seat, clock, dates, self._replicas, self._owners, policy, self._quarantine,
            partial(self._checkpoints.offset, LOG_START_OFFSET_FILE), partial(self._write_checkpoint, LOG_START_OFFSET_FILE),
        )  # fmt: skip
        self._cleaner = Cleaner(
            seat, clock, dates, self._replicas, self._owners, self._log_dirs, self._checkpoints, self._quarantine
        )
        self._quarantine.run("sweep", "sweep", self._cleaner.sweep)
        self._tasks: dict[str, Callable[[], object]] = {
            "sync": self._sync_rolled_segments,
            "delete": self._remove_deleted,
            "lag": self._lags.run,
            "retention": self._retention.run,
            "log starts": self._retention.ask_again,
            "retired": self._retention.remove_retired,
            **{name: partial(self._write_checkpoint, name) for name in CHECKPOINT_FILES},
        }
        now_ms = clock.monotonic_ns() // 1_000_000
        self._due_ms = {name: now_ms + self._intervals_ms[name] for name in self._tasks}  # of the monotonic clock
        self._deleted_seen: dict[Path, int] = {}  # when directories to be removed were first seen, by the same clock

    @property
    def _log_dirs(self) -> list[Path]:
        """Those that no process of the node has found to fail."""
        mask = self._seat.offline_dirs()
        return [path for path in self._all_log_dirs if not self._seat.wiring.log_dir_bit(str(path)) & mask]

    def do_work(self) -> int:
        """Do what is due; returns the number of tasks run."""
        done = self._mailbox.poll(self._seat.readers)
        now_ms = self._clock.monotonic_ns() // 1_000_000
        for name, due_ms in self._due_ms.items():
            if now_ms < due_ms:
                continue
            self._due_ms[name] = now_ms + self._intervals_ms[name]
            done += 1
            self._quarantine.run(name, name, self._tasks[name])
        done += self._clean()
        self._mailbox.flush()
        return done

    def peers_changed(self, process_ids: frozenset[int]) -> None:
        """What owners that died were asked is asked again, later."""
        for process_id in process_ids:
            self._mailbox.forget(process_id)

    def close(self) -> bool:
        """Final checkpoints, and the marker of the directories all of whose logs are closed."""
        is_clean = self._seat.processes.is_clean_stop()  # every partition worker that ran closed what it had opened
        self._quarantine.run("close cleaner", "cleaner", self._cleaner.close)
        for name in CHECKPOINT_FILES:
            self._quarantine.run(("close", name), name, self._write_checkpoint, name)
            self._seat.counters.add(CLOSING_STEPS, 1)
        for log_dir in self._log_dirs:
            if is_clean:
                self._quarantine.run(("close", log_dir), log_dir, self._mark_clean, log_dir)
            else:
                _leave_unclean(log_dir, "a partition worker did not close its logs")
            self._seat.counters.add(CLOSING_STEPS, 1)
        return True

    def _clean(self) -> int:
        done = 0

        def clean() -> None:
            nonlocal done
            done = self._cleaner.do_work()

        self._quarantine.run("clean", "compaction", clean)
        return done

    def _mark_clean(self, log_dir: Path) -> None:
        found = unclosed_log(log_dir, self._seat, self._replicas.view(), self._replicas.generations)
        if found is not None:
            _leave_unclean(log_dir, "{} {}".format(*found))
            return
        try:
            self._checkpoints.hand_over(log_dir)
            write_clean_shutdown(log_dir)
        except OSError as failure:
            _log.error("clean-shutdown marker not written directory=%s reason=%s", log_dir, failure)

    def _sync_rolled_segments(self) -> None:
        if self._sync.run():  # what the files say of a name must not be another log's for long
            self._due_ms.update(dict.fromkeys(CHECKPOINT_FILES, 0))

    def _write_checkpoint(self, file_name: str) -> set[Path]:
        """Of all replicas in service; returns the log directories that had no room for it."""
        full: set[Path] = set()
        hosted_in: dict[Path, list[Hosted]] = {log_dir: [] for log_dir in self._log_dirs}
        for hosted in self._replicas:
            if hosted.log_dir in hosted_in:
                hosted_in[hosted.log_dir].append(hosted)
        written = set(hosted_in)
        for log_dir, hosts in hosted_in.items():
            try:
                offsets = {hosted.name: (hosted.topic_id, self._offset(file_name, hosted)) for hosted in hosts}
                self._checkpoints.write(log_dir, file_name, offsets)
            except OSError as failure:
                self._note_unwritten(log_dir, file_name, failure)
                written.discard(log_dir)
                if failure.errno in NO_ROOM:
                    full.add(log_dir)
        if len(written) < 2:
            return full
        for log_dir in hosted_in:
            elsewhere = [one.name for other in written - {log_dir} for one in hosted_in[other]]
            try:
                self._checkpoints.forget_moved(log_dir, file_name, elsewhere)
            except OSError as failure:
                self._note_unwritten(log_dir, file_name, failure)
        return full

    def _offset(self, file_name: str, hosted: Hosted) -> int:
        if file_name == RECOVERY_POINT_FILE:
            return min(hosted.row.recovery_point, hosted.row.log_end_offset)
        return hosted.row.high_watermark if file_name == REPLICATION_OFFSET_FILE else hosted.row.log_start_offset

    def _note_unwritten(self, log_dir: Path, file_name: str, failure: OSError) -> None:
        if not report_failed(self._seat, log_dir, failure):
            _log.error("checkpoint not written file=%s reason=%s", log_dir / file_name, failure)

    def _remove_deleted(self) -> None:
        now_ms = self._clock.monotonic_ns() // 1_000_000
        seen, self._deleted_seen = self._deleted_seen, {}
        for log_dir in self._log_dirs:
            try:
                entries = list(os.scandir(log_dir))
            except OSError as failure:
                if not report_failed(self._seat, log_dir, failure):
                    self._deleted_seen |= {path: since for path, since in seen.items() if path.parent == log_dir}
                continue
            for entry in entries:
                if not entry.name.endswith(DELETED_DIRECTORY_SUFFIX) or not entry.is_dir(follow_symlinks=False):
                    continue
                path = Path(entry.path)
                self._deleted_seen[path] = seen.get(path, now_ms)
                if now_ms - self._deleted_seen[path] >= self._delete_delay_ms:
                    self._quarantine.run(("delete", path), path, self._remove_directory, path)

    def _remove_directory(self, directory: Path) -> None:
        """Of a replica that was deleted; what the checkpoints say of it goes too, once there is room again.

        Of one that moved, each file here keeps what it says until that of its new directory has been written (`forget_moved`).
        """
        self._seat.beat(self._clock.monotonic_ns())
        topic_id = read_partition_metadata(directory / PARTITION_METADATA_FILE)
        self._disk.remove_tree(directory)
        _log.info("directory removed path=%s", directory)
        topic, _dash, partition = directory.name.rpartition(".")[0].rpartition("-")
        if topic and is_number(partition, PARTITION_MAX):
            name = TopicPartition(topic, int(partition))
            if self._replicas.has(name, topic_id):
                return
            live = directory.parent / str(name)  # a replica that was moved away is back, or a move was begun again
            if not live.is_dir() or read_partition_metadata(live / PARTITION_METADATA_FILE) != topic_id:
                self._checkpoints.forget(directory.parent, name, topic_id)


def _leave_unclean(log_dir: Path, reason: str) -> None:
    _log.warning("no clean-shutdown marker, the next start recovers the logs directory=%s reason=%s", log_dir, reason)


def run(seat: Seat, clock: Clock | None = None) -> int:
    """Keep house until SIGTERM."""
    clock = clock or SystemClock()
    return duty_cycle.run(seat, clock, lambda _poller, _stop: Housekeeper(seat, clock))

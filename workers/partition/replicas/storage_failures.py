"""What becomes of replicas whose log, or log directory, refused something.

Runs in: a partition worker.

    a log without room          reads continue, appends are refused; reopened each REOPEN_INTERVAL_MS, or more seldom where tries
                                of it take long, when its directory has the room that it wants: what it had published is whole.
                                If that is not so (the disk damaged it meanwhile), the replica is given up, and its log is
                                opened and reported as any other is (`replica_opener.py`)
    a directory without room    its replicas refuse appends until there is some (`log_directories.py`)
    an I/O error                the directory is offline, in all processes, and every replica in it until the node is restarted
    contradictory files         that replica alone is offline; the stop is not a clean one
    a damaged log that was cut  the replica is given up as well, its log opened and reported. So is one whose last batch can't be
                                parsed. An opening that found nothing wrong with that one is no use a second time: it goes offline

Who writes what: `Replica.is_full` is written here alone.

Source: Kafka `LogDirFailureChannel`, `ReplicaManager.handleLogDirFailure`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError, LogDamaged, LogShort, StorageExhausted, StorageFailed
from headrace.ids import PartitionKey, TopicPartition
from headrace.limits import REOPEN_INTERVAL_MS, REOPEN_SHARE
from headrace.log.disk import Disk, storage_failure
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.log_directories import LogDirectories
from headrace.workers.partition.replicas.log_opener import LogOpener
from headrace.workers.partition.replicas.replica import Replica

_log: Final = logging.getLogger(__name__)


class StorageFailures:
    """Over the replicas of one worker, by slot.

    unclean    partitions whose log could not be closed, or not be recovered: while there is one, the stop is not clean
    on_short   called with a replica whose log was opened again, or cut, and ends before what was published, and where that ended
    """

    def __init__(
        self,
        replicas: dict[int, Replica],
        directories: LogDirectories,
        logs: LogOpener,
        disk: Disk,
        on_short: Callable[[Replica, int], None],
    ) -> None:
        self.unclean: set[TopicPartition] = set()
        self._replicas = replicas
        self._directories = directories
        self._logs = logs
        self._disk = disk
        self._on_short = on_short
        self._exhausted: dict[int, Replica] = {}  # replicas whose log ran out of room
        self._wanted: dict[int, int] = {}  # of these, the bytes that have to be free, where that is known
        self._due: dict[int, None] = {}  # of these, the slots that are tried now
        self._next_retry_ms = 0
        self._next_try_ms: dict[int, int] = {}  # by slot, of logs that were tried in vain
        self._damaged: dict[
            int, tuple[PartitionKey, int]
        ] = {}  # by slot, with the end: opened again for its last batch

    @property
    def has_exhausted(self) -> bool:
        """Whether a log waits for room, or its era does."""
        return bool(self._exhausted) or self._logs.has_owed_eras

    def take(self, replica: Replica, failure: StorageFailed) -> None:
        """A log refused: out of room, or its directory is lost with every replica in it.

        A replica that is offline has told why: its files are closed, and nothing that they refuse is news.
        """
        if replica.state is RowState.OFFLINE:
            return
        if isinstance(failure, StorageExhausted):
            if replica.log.failure is None:
                return  # refused before the log was asked
            if replica.slot not in self._exhausted:
                _log.error("log full, reads continue partition=%s reason=%s", replica.partition, failure)
            replica.is_full = True
            self._exhausted[replica.slot] = replica
            self._wanted[replica.slot] = failure.wanted_bytes
            return
        if isinstance(failure, LogShort):
            self._open_damaged(replica, failure)
        elif isinstance(failure, LogDamaged):
            self.lose_replica(replica, failure)
        else:
            self.lose_directory(replica.log.directory.parent, failure)

    def lose_directory(self, log_dir: Path, failure: OSError | StorageFailed) -> bool:
        """An I/O error in a log directory: every replica in it goes out of service. False as in `LogDirectories.take_offline`."""
        is_lost = self._directories.take_offline(log_dir, failure)
        if is_lost:
            self.follow_directories()
        return is_lost

    def lose_replica(self, replica: Replica, reason: object) -> None:
        """Its files contradict its offsets: no reason to end all others."""
        self.unclean.add(replica.partition)
        replica.take_out(str(reason))
        replica.log.abandon()

    def check_directories(self, monotonic_ms: int) -> None:
        """Follow what became of the log directories, if that is due."""
        if self._directories.check(monotonic_ms):
            self.follow_directories()

    def spend(self, monotonic_ms: int) -> None:
        """Something was written: near the bound of free space it is checked before its time."""
        if self._directories.spend():
            self.check_directories(monotonic_ms)

    def follow_directories(self) -> None:
        """Replicas in directories that failed go out of service, those in full ones take no appends."""
        for replica in self._replicas.values():
            self.follow_directory(replica)

    def follow_directory(self, replica: Replica) -> None:
        """The same, for one replica."""
        if replica.state is RowState.OFFLINE:
            return
        directory = replica.log.directory.parent
        replica.is_full = directory in self._directories.full or replica.slot in self._exhausted
        if directory not in self._directories.usable:
            self.forget(replica.slot)
            replica.take_out(f"log directory {directory} is offline")
            replica.log.abandon()

    def is_retry_due(self, monotonic_ms: int) -> bool:
        """Whether what had no room is to be retried: deletions, names, and logs whose own time has come (`may_try`)."""
        if monotonic_ms < self._next_retry_ms:
            return False
        self._next_retry_ms = monotonic_ms + REOPEN_INTERVAL_MS
        return True

    def note_try(self, slot: int, monotonic_ms: int, took_ms: int) -> None:
        """A log was tried in vain, and was read for so long. It waits, and others do not.

        Its next try comes when all such tries together are one part in REOPEN_SHARE of the time at most.
        """
        self._next_try_ms[slot] = monotonic_ms
        self._next_try_ms[slot] += REOPEN_SHARE * took_ms * len(self._next_try_ms)

    def may_try(self, slot: int, monotonic_ms: int) -> bool:
        """Whether a log that had no room may be tried, as far as its own tries tell."""
        return monotonic_ms >= self._next_try_ms.get(slot, monotonic_ms)

    def note_opened(self, slot: int) -> None:
        """A log is open, or is no longer wanted: no try of it counts."""
        self._next_try_ms.pop(slot, None)

    def has_room(self, log_dir: Path, wanted_bytes: int) -> bool:
        """Whether a log directory has this much room. One that can't be asked is tried: that says what is wrong with it."""
        try:
            return self._disk.free_bytes(log_dir) >= wanted_bytes
        except OSError:
            return True

    def note_due(self, monotonic_ms: int) -> None:
        """Logs that ran out of room are to be tried, as far as there may be some now."""
        for slot, replica in self._exhausted.items():
            if self.may_try(slot, monotonic_ms) and self.has_room(
                replica.log.directory.parent, self._wanted.get(slot, 0)
            ):
                self._due[slot] = None

    @property
    def has_due(self) -> bool:
        """Whether a log waits for `reopen_next`."""
        return bool(self._due)

    def reopen_next(self, monotonic_ms: Callable[[], int]) -> None:
        """Try one of the logs that are due. One that is refused is charged with the time that it took."""
        slot = next(iter(self._due))
        del self._due[slot]
        replica = self._exhausted[slot]
        begun_ms = monotonic_ms()
        self._reopen(replica)
        if self._exhausted.get(slot) is replica:
            ended_ms = monotonic_ms()
            self.note_try(slot, ended_ms, ended_ms - begun_ms)

    def write_owed_eras(self) -> None:
        """Eras that found no room when they began."""
        if not self._logs.has_owed_eras:
            return
        for replica in list(self._replicas.values()):
            if replica.log.failure is None:
                self._write_owed_era(replica)

    def _write_owed_era(self, replica: Replica) -> None:
        try:
            replica.log.write_owed_era()
        except StorageFailed as failure:
            self.take(replica, failure)

    def forget(self, slot: int) -> None:
        """The replica is no longer held, or has its log elsewhere."""
        self._exhausted.pop(slot, None)
        self._wanted.pop(slot, None)
        self._due.pop(slot, None)
        self._next_try_ms.pop(slot, None)

    def _open_damaged(self, replica: Replica, failure: LogShort) -> None:
        """It is opened as after a start, which finds the damage, and reports it: once for each end of the log."""
        end_offset, published = replica.log.log_end_offset, failure.published
        if end_offset < published:
            replica.log.abandon()
            self._open_short(replica, end_offset, published)
            return
        place = (replica.key, published)
        if self._damaged.get(replica.slot) == place:
            self.lose_replica(replica, failure)
            return
        self._damaged[replica.slot] = place
        _log.error("log damaged, reopened with recovery partition=%s reason=%s", replica.partition, failure)
        replica.log.abandon()
        self._on_short(replica, published)

    def _open_short(self, replica: Replica, end_offset: int, published: int) -> None:
        _log.error(
            "log ends before its published end, the replica has no role until this is reported"
            " partition=%s end_offset=%d published=%d", replica.partition, end_offset, published,
        )  # fmt: skip
        self._on_short(replica, published)

    def _reopen(self, replica: Replica) -> None:
        old = replica.log
        if old.directory.parent in self._directories.full:
            return
        old.abandon()
        try:
            log = self._logs.open(
                replica.partition,
                old.directory,
                old.config,
                LogCheckpoint(
                    recovery_point=old.recovery_point,
                    trusted=(old.end_segment, old.end_position),
                    log_start_offset=old.log_start_offset,
                    is_sole=len(replica.replicas) == 1,
                ),
            )
        except OSError as failure:
            self.take(replica, storage_failure(str(old.directory), failure))
            return
        except StorageFailed as failure:
            self.take(replica, failure)
            return
        except HeadraceError as failure:
            self.forget(replica.slot)
            self.lose_replica(replica, failure)
            return
        replica.is_full = False
        self.forget(replica.slot)
        # Where nothing was damaged, a follower's log may be shorter for a truncation that ran out of room.
        published = max(replica.high_watermark, old.log_end_offset if log.was_cut else 0)
        if log.log_end_offset < published:
            log.abandon()
            self._open_short(replica, log.log_end_offset, published)
            return
        log.producers.recall(old.producers, log.log_end_offset)
        try:
            replica.resume(log)
        except StorageFailed as failure:
            self.take(replica, failure)
            return
        _log.warning("log writable again partition=%s", replica.partition)

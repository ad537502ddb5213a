"""Closes logs: of replicas that are released, of those that are deleted, and of all at the stop.

Runs in: a partition worker.

    released   the view has the replica no more, and says nothing of a deletion (decision 009): its files stay, and where
               it stood is remembered for when it comes back
    deleted    the view names it in `doomed`: its directory is renamed to *-delete, its row says DELETED; OFFLINE, while its files
               lie, or may lie, in a log directory that failed: they would come back with that (docs/decisions/007). It is renamed
               to *-stray, where its topic stays and its log knows a later leader epoch than the state: that is one of the past, by
               which nothing is deleted (decision 015)
    stopped    every log is flushed and closed, so that nothing needs recovery

Source: Kafka `LogManager.asyncDelete`, `LogManager.shutdown`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import NO_EPOCH, PartitionKey, TopicPartition, partition_key
from headrace.log.disk import storage_failure
from headrace.log.names import DELETED_DIRECTORY_SUFFIX, STRAY_SUFFIX
from headrace.log.state.checkpoints import (
    EPOCH_MAX,
    LEADER_EPOCH_FILE,
    LOG_START_OFFSET_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    BadCheckpoint,
    read_leader_epochs,
    read_partition_metadata,
)
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.counters import CLOSING_STEPS, Counters
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.workers.partition.replicas.closing_threads import in_threads
from headrace.workers.partition.replicas.known_checkpoints import KnownCheckpoints
from headrace.workers.partition.replicas.log_directories import LogDirectories
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.storage_failures import StorageFailures

_log: Final = logging.getLogger(__name__)


class _Refused(NamedTuple):
    """A deletion that was refused by what passes, and what is known of it from the tries before.

    is_unmade        no log was ever made
    is_out_of_reach  a directory that has, or had, files of it failed
    renamed_in       log directories where it was renamed
    """

    is_unmade: bool
    is_out_of_reach: bool
    renamed_in: set[Path]


class ReplicaCloser:
    """One worker's. It holds no replica: each is handed over to be closed."""

    def __init__(
        self,
        table: PartitionTable,
        generation: int,
        directories: LogDirectories,
        checkpoints: KnownCheckpoints,
        failures: StorageFailures,
        beat: Callable[[], None],
        counters: Counters,
    ) -> None:
        self._table = table
        self._generation = generation
        self._directories = directories
        self._checkpoints = checkpoints
        self._failures = failures
        self._beat = beat
        self._counters = counters
        self._ended: dict[
            int, tuple[PartitionRow, set[Path]]
        ] = {}  # slots of deleted ones, their row, where they were renamed
        self._refused: dict[PartitionKey, _Refused] = {}  # deletions to be retried

    def release(self, replica: Replica) -> None:
        """Close it where it is."""
        self._beat()
        if replica.state is not RowState.OFFLINE:
            self._close_log(replica)
            self._remember(replica)
        _log.info("replica released, files kept path=%s", replica.log.directory)

    def is_deleted(self, doomed: DoomedReplica) -> bool:
        """Whether `delete` was done with it."""
        row = self._table.read(doomed.slot)
        return row is not None and row.state == RowState.DELETED and row.key == doomed.key

    @property
    def has_owed(self) -> bool:
        """Whether a deletion, or the sync of its names, waits for what passes: no descriptor, no room."""
        return bool(self._ended or self._refused)

    def forget(self, slot: int, key: PartitionKey) -> None:
        """The replica is wanted after all: nothing is said of a deletion any more."""
        self._ended.pop(slot, None)
        self._refused.pop(key, None)

    def delete(
        self, doomed: DoomedReplica, replica: Replica | None, is_unmade: bool, leader_epoch: int = NO_EPOCH
    ) -> None:
        """Put a partition's directories aside, for the housekeeper to remove; `finish` says so in its row.

        What was refused by what passes is owed: call this again, and `finish`.

        replica       that is open in its slot
        is_unmade     no log was ever made for it
        leader_epoch  of the partition's state, where its topic stays; NO_EPOCH: that goes as well
        """
        self._beat()
        ended = self._ended.get(doomed.slot)
        if ended is not None and ended[0].key == doomed.key:
            return  # only its names are not synced
        before = self._refused.pop(doomed.key, None) or _Refused(is_unmade, False, set())
        is_unmade, renamed_in = before.is_unmade, before.renamed_in
        name = TopicPartition(doomed.topic, doomed.partition)
        row = self._table.read(doomed.slot)
        end_offset = row.log_end_offset if row is not None and row.key == doomed.key else 0
        self._checkpoints.forget(name, doomed.key, max(end_offset, replica.log.log_end_offset if replica else 0))
        if replica is not None:
            replica.log.abandon()
        places = self._directories.find(name)
        if not places and not is_unmade and not renamed_in:
            for log_dir in self._directories.missing():  # nothing was written there since
                self._failures.lose_directory(log_dir, StorageFailed("the directory no longer exists"))
        is_kept = is_refused = False
        is_lost = not places and not is_unmade and not renamed_in and self._directories.has_failed
        is_out_of_reach = before.is_out_of_reach or is_lost
        for found in [*places, *self._directories.copies.get(name, [])]:
            try:
                topic_id = read_partition_metadata(found / PARTITION_METADATA_FILE)
                if topic_id and doomed.key not in (partition_key(*name, topic_id), partition_key(*name, "")):
                    _log.error("directory kept, it belongs to another topic path=%s topic_id=%s", found, topic_id)
                    is_kept = True
                    continue
                is_ahead = leader_epoch != NO_EPOCH and _epoch_of(found, replica) > leader_epoch
                suffix = STRAY_SUFFIX if is_ahead else DELETED_DIRECTORY_SUFFIX
                target = self._directories.put_aside(found, suffix, is_durable=False)
            except FileNotFoundError:
                continue  # a copy that was given up
            except OSError as failure:
                if self._failures.lose_directory(found.parent, failure):
                    is_out_of_reach = True
                else:
                    is_refused = True
            else:
                renamed_in.add(found.parent)
                if is_ahead:
                    _log.error(
                        "replica put aside and not deleted, its log knows a later leader epoch than its partition's state: ZooKeeper"
                        " has an old state partition=%s leader_epoch=%d path=%s",
                        name, leader_epoch, target,
                    )  # fmt: skip
                    continue
                _log.info("replica deleted partition=%s renamed_to=%s", name, target.name)
        if is_refused:
            self._refused[doomed.key] = _Refused(is_unmade, is_out_of_reach, renamed_in)
            return
        self._directories.copies.pop(name, None)
        if is_out_of_reach and not self._is_kept(doomed):
            _log.warning("replica not deleted, a log directory is offline partition=%s", name)
        if not (is_kept or is_out_of_reach):
            self._failures.unclean.discard(name)
        state = RowState.OFFLINE if is_out_of_reach else RowState.DELETED
        row = PartitionRow(state, doomed.key, self._generation, -1, *(0,) * 15)
        self._ended[doomed.slot] = (row, renamed_in)

    def finish(self) -> None:
        """Say what became of those that were deleted: once for all, the names are synced, else a power loss would give them back.

        Of those whose names can't be synced for now nothing is said yet: call it again.
        """
        ended, self._ended = self._ended, {}
        lost: set[Path] = set()
        owed: set[Path] = set()
        for log_dir in {one for _row, renamed_in in ended.values() for one in renamed_in}:
            try:
                self._directories.sync(log_dir)
            except OSError as failure:
                reason = storage_failure(str(log_dir), failure, is_sync=True)
                (lost if self._failures.lose_directory(log_dir, reason) else owed).add(log_dir)
        for slot, (row, renamed_in) in ended.items():
            if renamed_in & owed and not renamed_in & lost:
                self._ended[slot] = (row, renamed_in)
                continue
            state = RowState.OFFLINE if renamed_in & lost else row.state
            self._table.publish(slot, row._replace(state=state))

    def _is_kept(self, doomed: DoomedReplica) -> bool:
        """Whether that was found before: nothing of it is open any more."""
        row = self._table.read(doomed.slot)
        return row is not None and (row.state, row.key, row.leader_epoch) == (RowState.OFFLINE, doomed.key, -1)

    def close_all(self, replicas: Iterable[Replica]) -> bool:
        """Flush and close every log; what failed is left to the next start.

        returns   False where a log in a directory that still works was not closed
        """
        clean = not self._failures.unclean
        # One that is offline is left out: its directory gets no clean-shutdown marker.
        closing = [replica for replica in replicas if replica.state is not RowState.OFFLINE]
        for replica, failure in zip(closing, in_threads(_finish_log, closing), strict=True):
            self._beat()
            self._counters.add(CLOSING_STEPS, 1)
            if failure is None:
                failure = _publish(replica)
            replica.log.abandon()
            if failure is None:
                continue
            if not self._directories.take_offline(replica.log.directory.parent, failure):
                _log.error("log not closed partition=%s reason=%s", replica.partition, failure)
                clean = False
        return clean

    def _close_log(self, replica: Replica) -> None:
        try:
            replica.log.close()
        except StorageExhausted as failure:
            _log.error("log not closed partition=%s reason=%s", replica.partition, failure)
            self._failures.unclean.add(replica.partition)
        except StorageFailed as failure:
            self._failures.lose_directory(replica.log.directory.parent, failure)

    def _remember(self, replica: Replica) -> None:
        log = replica.log
        stood = {
            RECOVERY_POINT_FILE: log.recovery_point,
            REPLICATION_OFFSET_FILE: replica.high_watermark,
            LOG_START_OFFSET_FILE: log.log_start_offset,
        }
        try:
            self._checkpoints.remember(replica.partition, log.directory, stood)
        except OSError as failure:
            self._failures.lose_directory(log.directory.parent, failure)


def _epoch_of(directory: Path, replica: Replica | None) -> int:
    """The latest leader epoch that a log knows; one that was reported as ahead was judged. raises OSError"""
    if replica is not None and replica.log.directory == directory:
        return NO_EPOCH if replica.is_wary and replica.ahead is None else replica.log.known_epoch
    try:
        entries = read_leader_epochs(directory / LEADER_EPOCH_FILE)
    except BadCheckpoint as failure:
        _log.error("leader epochs not read, the log counts as ahead of its state path=%s reason=%s", directory, failure)
        return EPOCH_MAX
    return entries[-1][0] if entries else NO_EPOCH


def _publish(replica: Replica) -> StorageFailed | None:
    """The row of a log that was closed; returns why there is none."""
    try:
        replica.publish()
    except StorageFailed as failure:
        return failure
    return None


def _finish_log(replica: Replica) -> StorageFailed | OSError | None:
    """In a thread of the stop; returns why the log could not be closed."""
    try:
        replica.log.finish()
    except (StorageFailed, OSError) as failure:
        return failure
    return None

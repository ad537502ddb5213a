"""Closes logs: of replicas that are released, of those that are deleted, and of all at the stop.

Runs in: a partition worker.

    released   the view has the replica no more, and says nothing of a deletion (decision 016): its files stay, and where
               it stood is remembered for when it comes back
    deleted    the view names it in `doomed`: its directory is renamed to *-delete, its row says DELETED; OFFLINE, while its files
               lie, or may lie, in a log directory that failed: they would come back with that (docs/decisions/054)
    stopped    every log is flushed and closed, so that nothing needs recovery

Source: Kafka `LogManager.asyncDelete`, `LogManager.shutdown`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from headrace.errors import StorageExhausted, StorageFailed
from headrace.ids import TopicPartition, partition_key
from headrace.limits import CLOSE_THREADS
from headrace.log.names import DELETED_DIRECTORY_SUFFIX
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    read_partition_metadata,
)
from headrace.shm.cluster_view import DoomedReplica
from headrace.shm.counters import CLOSING_STEPS, Counters
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.workers.partition.known_checkpoints import KnownCheckpoints
from headrace.workers.partition.log_directories import LogDirectories
from headrace.workers.partition.replica import Replica
from headrace.workers.partition.storage_failures import StorageFailures

_log: Final = logging.getLogger(__name__)


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
        self._ended: list[
            tuple[int, PartitionRow, set[Path]]
        ] = []  # slots of deleted ones, their row, where they were renamed

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

    def delete(self, doomed: DoomedReplica, replica: Replica | None, is_unmade: bool) -> None:
        """Put a partition's directories aside, for the housekeeper to remove; `finish` says so in its row.

        replica     that is open in its slot
        is_unmade   no log was ever made for it
        """
        self._beat()
        name = TopicPartition(doomed.topic, doomed.partition)
        row = self._table.read(doomed.slot)
        end_offset = row.log_end_offset if row is not None and row.key == doomed.key else 0
        self._checkpoints.forget(name, doomed.key, max(end_offset, replica.log.log_end_offset if replica else 0))
        if replica is not None:
            replica.log.abandon()
        places = self._directories.find(name)
        if not places and not is_unmade:
            for log_dir in self._directories.missing():  # nobody has written there since
                self._failures.lose_directory(log_dir, StorageFailed("there is no directory any more"))
        is_kept = False
        renamed_in: set[Path] = set()
        is_out_of_reach = not places and not is_unmade and self._directories.has_failed
        for found in [*places, *self._directories.copies.pop(name, [])]:
            try:
                topic_id = read_partition_metadata(found / PARTITION_METADATA_FILE)
                if topic_id and doomed.key not in (partition_key(*name, topic_id), partition_key(*name, "")):
                    _log.error("directory kept, it is not the deleted topic's path=%s topic_id=%s", found, topic_id)
                    is_kept = True
                    continue
                target = self._directories.put_aside(found, DELETED_DIRECTORY_SUFFIX, is_durable=False)
            except FileNotFoundError:
                continue  # a copy that was given up
            except OSError as failure:
                self._failures.lose_directory(found.parent, StorageFailed(str(failure)))
                is_out_of_reach = True
            else:
                renamed_in.add(found.parent)
                _log.info("replica deleted partition=%s renamed_to=%s", name, target.name)
        if is_out_of_reach and not self._is_kept(doomed):
            _log.warning("replica not deleted, a log directory is offline partition=%s", name)
        if not (is_kept or is_out_of_reach):
            self._failures.unclean.discard(name)
        state = RowState.OFFLINE if is_out_of_reach else RowState.DELETED
        row = PartitionRow(state, doomed.key, self._generation, -1, *(0,) * 15)
        self._ended.append((doomed.slot, row, renamed_in))

    def finish(self) -> None:
        """Say what became of those that were deleted: once for all, the names are synced, else a power loss would give them back."""
        ended, self._ended = self._ended, []
        lost: set[Path] = set()
        for log_dir in {one for _slot, _row, renamed_in in ended for one in renamed_in}:
            try:
                self._directories.sync(log_dir)
            except OSError as failure:
                self._failures.lose_directory(log_dir, StorageFailed(str(failure)))
                lost.add(log_dir)
        for slot, row, renamed_in in ended:
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
        # Syncs that are in flight at once share the journal's commits: thousands of logs fit into the stop's time.
        with ThreadPoolExecutor(CLOSE_THREADS) as pool:
            for replica, failure in zip(closing, pool.map(_finish_log, closing), strict=True):
                self._beat()
                self._counters.add(CLOSING_STEPS, 1)
                if failure is None:
                    failure = _publish(replica)
                replica.log.abandon()
                if failure is None:
                    continue
                if isinstance(failure, StorageExhausted):
                    _log.error("log not closed partition=%s reason=%s", replica.partition, failure)
                    clean = False
                else:
                    self._directories.take_offline(replica.log.directory.parent, failure)
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
            topic_id = read_partition_metadata(log.directory / PARTITION_METADATA_FILE)
        except OSError as failure:
            self._directories.take_offline(log.directory.parent, StorageFailed(str(failure)))
            return
        self._checkpoints.remember(replica.partition, topic_id, stood, log.directory.parent)


def _publish(replica: Replica) -> StorageFailed | None:
    """The row of a log that was closed; returns why there is none."""
    try:
        replica.publish()
    except StorageFailed as failure:
        return failure
    return None


def _finish_log(replica: Replica) -> Exception | None:
    """In a thread of the stop; returns why the log could not be closed."""
    try:
        replica.log.finish()
    except (StorageFailed, OSError) as failure:
        return failure
    return None

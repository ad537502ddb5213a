"""One copy of a replica, in flight to another log directory: a log of its own that follows as a follower does.

    begin     an empty log at the replica's log start, or where the batch begins that holds it, in `TOPIC-PARTITION.<32 hex>-future`
    resume    one that an earlier life left, which is believed as far as it is shown to be the log's own:
              no longer than the log, its leader epochs are the log's, and its last batch is there byte for byte
    copy      a slice of what lies before an end

A copy that ends above the log is not believed there: a power loss took the log's end, and other records may come in its place.
So it is compared when the log is opened, before that takes a first append. Cutting it unlinks what may be all that is left. So it is
cut only by a log that has the copy's batch before the cut: one that was just made has none (its disk is another one), and judges nothing.

Runs in: the partition worker that owns the log. Source: Kafka `ReplicaAlterLogDirsThread`; KIP-113.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError, StorageFailed
from headrace.limits import FILE_NAME_BYTES_MAX, MOVE_BYTES_PER_CYCLE_MAX, MOVE_SYNC_BYTES
from headrace.log.disk import Disk, storage_failure
from headrace.log.names import COPY_NAME_FILE, COPY_SYNCED_FILE, FUTURE_SUFFIX, LOG_SUFFIX, aside_name, path_of
from headrace.log.reading.reader import LogReader
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.state.checkpoints import (
    PARTITION_METADATA_FILE,
    BadCheckpoint,
    read_lines,
    read_partition_metadata,
    write_lines,
)
from headrace.log.state.truncation_mark import TruncationMark
from headrace.log.writing.follower_append import beginning_for
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import unpack_base_offset
from headrace.workers.partition.replicas.log_opener import LogOpener
from headrace.workers.partition.replicas.replica import Replica

FAR: Final = 2**63 - 1
_SEGMENTS_NEAR: Final = 2  # an end that is further away is not measured


class SourceFailed(HeadraceError):
    """The log that is copied can't be read: what its copy has may be all that is left. `reason` is the system's, or None."""

    def __init__(self, message: str, reason: OSError | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class NotTheSame(HeadraceError):
    """A copy that an earlier life left is not shown to be one of this log."""


class OtherTopic(HeadraceError):
    """A copy that an earlier life left is of a topic that had the name before."""


class ReplicaCopy:
    """One replica in flight.

    log   of the replica, that was copied so far: where it was opened again since, the copy has to be compared with it
    """

    def __init__(
        self, replica: Replica, directory: Path, future: PartitionLog, disk: Disk, unsynced_bytes: int = 0
    ) -> None:
        self.replica = replica
        self.log = replica.log
        self.directory = directory
        self.future = future
        self._disk = disk
        self.reader = LogReader(replica.log.directory)
        self.unsynced_bytes = unsynced_bytes

    @property
    def log_dir(self) -> Path:
        return self.directory.parent

    @property
    def is_behind(self) -> bool:
        """Whether all that it has was deleted from the log meanwhile."""
        return self.future.log_end_offset < self.replica.log.log_start_offset

    def left_bytes(self) -> int:
        """What lies between its end and the log's, FAR where that is more than a segment away.

        raises   SourceFailed
        """
        log = self.replica.log
        try:
            segment, position = log.position_of(self.future.log_end_offset)
            if segment == log.end_segment:
                return log.end_position - position
            bases = log.segment_bases
            between = bases[bisect_left(bases, segment) : -1]
            if len(between) >= _SEGMENTS_NEAR:
                return FAR
            sizes = [path_of(log.directory, base, LOG_SUFFIX).stat().st_size for base in between]
            return sum(sizes) - position + log.end_position
        except (HeadraceError, OSError) as failure:
            raise source_failed(failure) from None

    def copy(self, end_offset: int, end_segment: int, end_position: int, now_ms: int) -> int:
        """Copy a slice of what lies before an end; returns its bytes. raises SourceFailed, HeadraceError, OSError"""
        future = self.future
        if future.log_end_offset >= end_offset:
            return 0
        try:
            self.reader.refresh(self.replica.log.segments_version)
            found = self.reader.locate(future.log_end_offset, MOVE_BYTES_PER_CYCLE_MAX, end_segment, end_position, True)
            records = b"" if found is None else os.pread(found.fd, found.length, found.position)
        except (HeadraceError, OSError) as failure:
            raise source_failed(failure) from None
        if not records:
            return 0
        if self.unsynced_bytes >= MOVE_SYNC_BYTES:
            self._sync()
        if not future.size_bytes:
            begins_at = beginning_for(memoryview(records), future.log_end_offset)
            if begins_at < future.log_end_offset:
                future.restart_at(begins_at)
        try:
            taken = future.append_as_follower(memoryview(records), now_ms)
        except StorageFailed:
            raise
        except HeadraceError as failure:  # batches that can't be: the log that has them is damaged
            raise source_failed(failure) from None
        future.producers.last_stable_offset(self.replica.high_watermark)  # what is committed is remembered no longer
        self.unsynced_bytes += taken
        return taken

    def _sync(self) -> None:
        """Sync what was copied, and note how far that is: a life that resumes the copy looks at the rest. raises StorageFailed"""
        self.future.flush()
        self.unsynced_bytes = 0
        try:
            write_lines(self.directory / COPY_SYNCED_FILE, [str(self.future.log_end_offset)], self._disk)
        except OSError as failure:
            raise storage_failure(str(self.directory), failure) from None

    def abandon(self) -> None:
        """Release the files."""
        self.future.abandon()
        self.reader.close()


def begin_copy(replica: Replica, log_dir: Path, logs: LogOpener, disk: Disk) -> ReplicaCopy:
    """A new one, without records. raises HeadraceError, OSError"""
    log, name = replica.log, str(replica.partition)
    topic_id = read_partition_metadata(log.directory / PARTITION_METADATA_FILE)
    directory = log_dir / aside_name(name, FUTURE_SUFFIX)
    future = logs.open(
        replica.partition, directory, log.config, LogCheckpoint(log_start_offset=log.log_start_offset), topic_id
    )
    if len(directory.name) >= FILE_NAME_BYTES_MAX:  # it may be cut
        disk.replace_file(directory / COPY_NAME_FILE, name.encode())
    return ReplicaCopy(replica, directory, future, disk)


def resume_copy(replica: Replica, directory: Path, logs: LogOpener, disk: Disk) -> ReplicaCopy:
    """One that an earlier life left, opened as it is: `reconcile` follows. raises NotTheSame, HeadraceError, OSError"""
    log = replica.log
    topic_id = read_partition_metadata(log.directory / PARTITION_METADATA_FILE)
    found_id = read_partition_metadata(directory / PARTITION_METADATA_FILE)
    if topic_id and not found_id:
        raise NotTheSame("it was not started")
    if found_id != topic_id:
        raise OtherTopic(f"it belongs to topic {found_id}")
    checkpoint = LogCheckpoint(recovery_point=synced_before(directory, disk), log_start_offset=log.log_start_offset)
    future = logs.open(replica.partition, directory, log.config, checkpoint, topic_id)
    return ReplicaCopy(replica, directory, future, disk, MOVE_SYNC_BYTES)


def reconcile(copy: ReplicaCopy) -> None:
    """Cut a copy to its log's end, and compare what is left. raises NotTheSame, HeadraceError, OSError"""
    log, future = copy.replica.log, copy.future
    if log.log_end_offset < future.log_end_offset:
        last = _batch_at(copy.reader, log, log.log_end_offset - 1)
        if not last or last != _batch_at(LogReader(future.directory), future, unpack_base_offset(last, 0)):
            raise NotTheSame(
                f"it ends at {future.log_end_offset}, but the log, which ends at {log.log_end_offset}, lacks its last batch"
            )
    future.truncate_to(log.log_end_offset)
    copied = [entry for entry in future.epochs.entries if log.log_start_offset <= entry[1] < future.log_end_offset]
    known = log.epochs.entries
    for epoch, start in copied:
        if _epoch_at(known, start) != epoch:
            raise NotTheSame(f"leader epoch {epoch} begins at {start}, the log has {_epoch_at(known, start)} there")
    if not future.size_bytes or future.log_end_offset <= log.log_start_offset:
        return  # nothing of it is the log's any more: it is begun again
    last = _batch_at(LogReader(future.directory), future, future.log_end_offset - 1)
    base_offset = unpack_base_offset(last, 0) if last else 0
    if not last or last != _batch_at(copy.reader, log, base_offset):
        raise NotTheSame(f"its last batch, at offset {base_offset}, differs from the one in the log")


def _batch_at(reader: LogReader, log: PartitionLog, offset: int) -> bytes:
    """The whole batch that holds an offset; empty where there is none."""
    reader.refresh(log.segments_version)
    found = reader.locate(offset, 1, log.end_segment, log.end_position, True)
    return b"" if found is None else os.pread(found.fd, found.length, found.position)


def _epoch_at(entries: list[tuple[int, int]], offset: int) -> int:
    """The leader epoch that an offset lies in, -1 before the first that is known."""
    place = bisect_right([start for _epoch, start in entries], offset)
    return entries[place - 1][0] if place else -1


def source_failed(failure: Exception) -> SourceFailed:
    """What reading the log has raised."""
    if isinstance(failure, OSError):
        return SourceFailed(str(storage_failure("the log can't be read", failure)), failure)
    return SourceFailed(f"the log can't be read: {failure}")


def synced_before(directory: Path, disk: Disk) -> int:
    """An offset below which a copy was synced, as its file says, and no truncation since: 0 where it says nothing. raises OSError"""
    try:
        lines = read_lines(directory / COPY_SYNCED_FILE)
        point = int(lines[0]) if lines else 0
    except (BadCheckpoint, ValueError):
        return 0
    return TruncationMark(directory, disk).bound(point)

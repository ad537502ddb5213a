"""Replicas that move to another log directory of this node, a slice in each cycle, while they serve (AlterReplicaLogDirs).

Runs in: the partition worker that owns the log. The copy is a log of its own, in `TOPIC-PARTITION.<32 hex>-future`, and
follows as a follower does: batches unchanged, up to the high watermark, below which nothing is ever cut. In the
cycle in which only a slice is left the rest is copied too, and the copy takes the place:

    1  copy      synced and closed             a crash: the next life of the worker resumes the copy
    2  rename    copy -> TOPIC-PARTITION       a crash: two directories, both whole; the next start keeps one
    3  rename    old  -> ...-delete            the housekeeper removes it
    4  open, publish                           readers find the new directory by the new version of the segment list

A move whose disk fails is given up; the replica stays where it was. A worker that starts resumes the copies that
it finds: what a copy has above the high watermark is cut (the log may have lost that), the rest is the log's own.

Source: Kafka `ReplicaManager.alterReplicaLogDirs`, `ReplicaAlterLogDirsThread`, `LogManager.replaceCurrentWithFutureLog`;
KIP-113.
"""

from __future__ import annotations

import logging
import os
import uuid
from pathlib import Path
from typing import Final

from headrace.clock import Clock
from headrace.errors import ErrorCode, HeadraceError, StorageExhausted, StorageFailed
from headrace.ids import TopicPartition
from headrace.limits import MOVE_BYTES_PER_CYCLE_MAX, MOVE_SYNC_BYTES
from headrace.log.names import DELETED_DIRECTORY_SUFFIX, FUTURE_SUFFIX, LOG_SUFFIX, aside_name, path_of, segment_bases
from headrace.log.reading.reader import LogReader
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.state.checkpoints import PARTITION_METADATA_FILE, read_partition_metadata
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replica import Replica
from headrace.workers.partition.replicas import Replicas

_log: Final = logging.getLogger(__name__)
_TopicResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_PartitionResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


class _Move:
    """One replica in flight."""

    def __init__(self, replica: Replica, directory: Path, future: PartitionLog) -> None:
        self.replica = replica
        self.directory = directory
        self.future = future
        self.reader = LogReader(replica.log.directory)
        self.unsynced_bytes = 0

    @property
    def log_dir(self) -> Path:
        return self.directory.parent

    def copy(self, end_offset: int, end_segment: int, end_position: int, now_ms: int) -> int:
        """Copy a slice of what lies before an end; returns its bytes. raises HeadraceError, OSError"""
        log, future = self.replica.log, self.future
        if future.log_end_offset < log.log_start_offset:
            future.restart_at(log.log_start_offset)  # retention was faster
        if future.log_end_offset >= end_offset:
            return 0
        self.reader.refresh(log.segments_version)
        found = self.reader.locate(future.log_end_offset, MOVE_BYTES_PER_CYCLE_MAX, end_segment, end_position, True)
        if found is None:
            return 0
        records = os.pread(found.fd, found.length, found.position)
        taken = future.append_as_follower(memoryview(records), now_ms)
        self.unsynced_bytes += taken
        if self.unsynced_bytes >= MOVE_SYNC_BYTES:
            future.flush()
            self.unsynced_bytes = 0
        return taken


class ReplicaMoves:
    """The moves of one partition worker, one after the other; those of an earlier life wait for `resume`."""

    def __init__(self, replicas: Replicas, clock: Clock) -> None:
        self._replicas = replicas
        self._clock = clock
        self._directories = replicas.directories
        self._failures = replicas.failures
        self._found = self._directories.find_copies(FUTURE_SUFFIX, replicas.owned.has)
        self._moves: dict[int, _Move] = {}  # by slot, the oldest first

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {ApiKey.ALTER_REPLICA_LOG_DIRS: self._alter}

    def is_moving(self, slot: int) -> bool:
        """Whether a replica is being copied: what lies before a tombstone may be in the copy, so the tombstone has to stay."""
        return slot in self._moves

    def do_work(self) -> int:
        """Copy a slice of the oldest move; returns 0 where there was nothing to copy (yet)."""
        if not self._moves:
            return 0
        move = next(iter(self._moves.values()))
        try:
            return self._advance(move)
        except StorageExhausted as failure:
            self._give_up(move, failure)
        except StorageFailed as failure:
            self._give_up(move, failure)
            self._failures.lose_directory(move.log_dir, failure)
        except (HeadraceError, OSError) as failure:
            self._give_up(move, failure)
        return 1

    def resume(self) -> None:
        """The replicas have followed the view: resume the copies of an earlier life, put the others aside."""
        if not self._found:
            return
        held = {replica.partition: replica for replica in self._replicas.by_slot.values()}
        found, self._found = self._found, {}
        for name, copies in found.items():
            replica = held.get(name)
            for directory in copies:
                self._resume(name, replica, directory)

    def follow_cut(self, replica: Replica) -> None:
        """The log of a replica was cut, or restarted: its copy has nothing that the log has not."""
        move = self._moves.get(replica.slot)
        if move is None or move.future.log_end_offset <= replica.high_watermark:
            return
        try:
            move.future.truncate_to(replica.high_watermark)
        except HeadraceError as failure:
            self._give_up(move, failure)

    def close(self) -> None:
        """The worker stops: its successor resumes the copies."""
        for move in list(self._moves.values()):
            try:
                move.future.close()
            except HeadraceError as failure:
                self._give_up(move, failure)
                continue
            move.reader.close()
            del self._moves[move.replica.slot]

    def _advance(self, move: _Move) -> bool:
        """A slice more; False where the mark has to move first. raises HeadraceError, OSError"""
        replica = move.replica
        is_held = self._replicas.by_slot.get(replica.slot) is replica and replica.state is not RowState.OFFLINE
        if not is_held or move.log_dir not in self._directories.usable:
            self._give_up(move, "the replica or its directory is gone")
            return True
        log = replica.log
        now_ms = self._clock.now_ms()
        # A log that is out of service (no room, maybe) is never cut: all of it may be copied.
        end_offset = replica.high_watermark if log.failure is None else log.log_end_offset
        segment, position = log.position_of(end_offset)
        has_copied = move.copy(end_offset, segment, position, now_ms) > 0
        is_near = move.future.log_end_offset >= end_offset or segment == log.end_segment
        if is_near and log.size_bytes - move.future.size_bytes <= MOVE_BYTES_PER_CYCLE_MAX:
            while move.copy(log.log_end_offset, log.end_segment, log.end_position, now_ms):
                pass
            self._take_place(move)
            return True
        return has_copied

    def _take_place(self, move: _Move) -> None:
        """raises HeadraceError, OSError: the copy failed"""
        replica, future = move.replica, move.future
        old = replica.log
        future.take_over(old)
        future.close()
        place = move.directory.with_name(str(replica.partition))
        os.rename(move.directory, place)  # where that fails the replica stays, as after any failure of the copy
        del self._moves[replica.slot]
        move.reader.close()
        try:
            self._replace_directory(replica, place)
        except (HeadraceError, OSError) as failure:
            self._failures.lose_directory(old.directory.parent, StorageFailed(str(failure)))
            return
        _log.info("replica moved partition=%s directory=%s", replica.partition, move.log_dir)

    def _replace_directory(self, replica: Replica, place: Path) -> None:
        """A copy that was closed, and has its name, takes the place of a replica's log. raises HeadraceError, OSError"""
        old = replica.log
        name = str(replica.partition)
        self._replicas.disk.sync_directory(place.parent)
        old.abandon()
        os.rename(old.directory, old.directory.with_name(aside_name(name, DELETED_DIRECTORY_SUFFIX)))
        log = self._replicas.logs.open(
            replica.partition,
            place,
            old.config,
            LogCheckpoint(is_clean=True, recovery_point=old.log_end_offset, log_start_offset=old.log_start_offset),
        )
        self._failures.forget(replica.slot)
        replica.replace_log(log)
        self._failures.follow_directories()

    def _open_copy(
        self, name: TopicPartition, directory: Path, log: PartitionLog, topic_id: str, recovery_point: int = 0
    ) -> PartitionLog:
        """Start the copy of a log in another directory, or resume it. raises HeadraceError

        recovery_point   of a copy that is there: below it everything was synced
        """
        return self._replicas.logs.open(
            name,
            directory,
            log.config,
            LogCheckpoint(recovery_point=recovery_point, log_start_offset=log.log_start_offset),
            topic_id,
        )

    def _resume(self, name: TopicPartition, replica: Replica | None, directory: Path) -> None:
        log_dir = directory.parent
        if replica is None:
            _put_away(name, directory, "the replica is not here")
            return
        if replica.state is RowState.OFFLINE:
            return  # its next life may find it
        log = replica.log
        if log.directory.parent == log_dir or replica.slot in self._moves:
            _put_away(name, directory, "there is another")
            return
        try:
            topic_id = read_partition_metadata(log.directory / PARTITION_METADATA_FILE)
            if read_partition_metadata(directory / PARTITION_METADATA_FILE) != topic_id:
                _put_away(name, directory, "it was not begun, or is another topic's of that name")
                return
            recovery_point = _synced_before(directory, log.config.max_message_bytes)
            future = self._open_copy(name, directory, log, topic_id, recovery_point)
            try:
                future.truncate_to(replica.high_watermark)
            except HeadraceError:
                future.abandon()
                raise
        except (HeadraceError, OSError) as failure:
            _put_away(name, directory, failure)
            return
        self._moves[replica.slot] = _Move(replica, directory, future)
        _log.info("move resumed partition=%s directory=%s offset=%d", name, log_dir, future.log_end_offset)

    def _give_up(self, move: _Move, reason: object) -> None:
        del self._moves[move.replica.slot]
        move.future.abandon()
        move.reader.close()
        _put_away(move.replica.partition, move.directory, reason)

    # AlterReplicaLogDirs

    def _alter(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.ALTER_REPLICA_LOG_DIRS, version, body)
        results: dict[str, list[_PartitionResult]] = {}
        by_name = {replica.partition: replica for replica in self._replicas.by_slot.values()}
        for wanted in request.dirs:
            log_dir = self._directories.named(wanted.path)
            for topic in wanted.topics:
                for index in topic.partitions:
                    self._replicas.beat()
                    name = TopicPartition(topic.name, index)
                    error = self._begin(name, by_name.get(name), log_dir)
                    result = _PartitionResult(partition_index=index, error_code=int(error))
                    results.setdefault(topic.name, []).append(result)
        topics = [_TopicResult(topic_name=name, partitions=partitions) for name, partitions in results.items()]
        response = messages.AlterReplicaLogDirsResponse(results=topics)
        reply(encode_response(ApiKey.ALTER_REPLICA_LOG_DIRS, version, response))

    def _begin(self, name: TopicPartition, replica: Replica | None, log_dir: Path | None) -> ErrorCode:
        """Begin a move, or give one up by moving a replica to where it is."""
        if log_dir is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if replica is None:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        if log_dir not in self._directories.usable or replica.state is RowState.OFFLINE:
            return ErrorCode.KAFKA_STORAGE_ERROR
        under_way = self._moves.get(replica.slot)
        if under_way is not None:
            if under_way.log_dir == log_dir and under_way.replica is replica:
                return ErrorCode.NONE
            self._give_up(under_way, "another directory was asked for")
        if replica.log.directory.parent == log_dir:
            return ErrorCode.NONE
        directory = log_dir / f"{name}.{uuid.uuid4().hex}{FUTURE_SUFFIX}"
        log = replica.log
        try:
            topic_id = read_partition_metadata(log.directory / PARTITION_METADATA_FILE)
            future = self._open_copy(name, directory, log, topic_id)
        except (HeadraceError, OSError) as failure:
            _log.error("move not started partition=%s directory=%s reason=%s", name, directory, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._moves[replica.slot] = _Move(replica, directory, future)
        _log.info("move started partition=%s directory=%s", name, log_dir)
        return ErrorCode.NONE


def _put_away(name: TopicPartition, directory: Path, reason: object) -> None:
    """A copy that is not resumed is deleted by the housekeeper."""
    try:
        os.rename(directory, directory.with_name(aside_name(str(name), DELETED_DIRECTORY_SUFFIX)))
    except OSError as failure:
        _log.warning("copy not removed directory=%s reason=%s", directory, failure)
    _log.warning("move cancelled partition=%s directory=%s reason=%s", name, directory.parent, reason)


def _synced_before(directory: Path, batch_bytes_max: int) -> int:
    """A segment's base offset below which a copy was synced. raises OSError

    What was not is at most MOVE_SYNC_BYTES, the slice that reached them, and one that was being written.
    """
    unsynced_bytes = MOVE_SYNC_BYTES + 2 * max(MOVE_BYTES_PER_CYCLE_MAX, batch_bytes_max)
    for base in reversed(segment_bases(directory)):
        unsynced_bytes -= path_of(directory, base, LOG_SUFFIX).stat().st_size
        if unsynced_bytes <= 0:
            return base
    return 0

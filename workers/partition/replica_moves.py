"""Replicas that move to another log directory of this node, a slice in each cycle, while they serve (AlterReplicaLogDirs).

Runs in: the partition worker that owns the log. The copy is a log of its own, in `TOPIC-PARTITION.<32 hex>-future`, and
follows as a follower does: batches as they stand, up to the high watermark, below which nothing is ever cut. In the
cycle in which only a slice is left the rest is copied too, and the copy takes the place:

    1  copy      synced and closed             a crash: the copy is forgotten at the next start, the move asked for again
    2  rename    copy -> TOPIC-PARTITION       a crash: two directories, both whole; the next start keeps one
    3  rename    old  -> ...-delete            the housekeeper removes it
    4  open, publish                           readers find the new directory by the new version of the segment list

A move whose disk fails is given up; the replica stays where it was.

Source: Kafka `ReplicaManager.alterReplicaLogDirs`, `ReplicaAlterLogDirsThread`, `LogManager.replaceCurrentWithFutureLog`;
KIP-113.
"""

from __future__ import annotations

import logging
import os
import uuid
from pathlib import Path
from typing import Any

from headrace.clock import Clock
from headrace.errors import ErrorCode, HeadraceError, StorageExhausted, StorageFailed
from headrace.ids import TopicPartition
from headrace.limits import MOVE_BYTES_PER_CYCLE_MAX, MOVE_SYNC_BYTES
from headrace.log.checkpoints import PARTITION_METADATA_FILE, read_partition_metadata
from headrace.log.partition_log import PartitionLog
from headrace.log.reader import LogReader
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replica import Replica
from headrace.workers.partition.replicas import FUTURE_SUFFIX, Replicas
from headrace.workers.partition.requests import Handler, Reply

_log = logging.getLogger(__name__)
_TopicResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_PartitionResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


class _Move:
    """One replica on its way."""

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
            future.flush(now_ms)
            self.unsynced_bytes = 0
        return taken


class ReplicaMoves:
    """The moves of one partition worker, one after the other."""

    def __init__(self, replicas: Replicas, clock: Clock) -> None:
        self._replicas = replicas
        self._clock = clock
        self._moves: dict[int, _Move] = {}  # by slot, the oldest first

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {ApiKey.ALTER_REPLICA_LOG_DIRS: self._alter}

    def is_moving(self, slot: int) -> bool:
        """Whether a replica is being copied: what lies before a tombstone may be in the copy, so the tombstone has to stay."""
        return slot in self._moves

    def do_work(self) -> int:
        """Copy a slice of the oldest move; returns 1 where there was something to do."""
        if not self._moves:
            return 0
        move = next(iter(self._moves.values()))
        try:
            self._advance(move)
        except StorageExhausted as failure:
            self._give_up(move, failure)
        except StorageFailed as failure:
            self._give_up(move, failure)
            self._replicas.lose_directory(move.log_dir, failure)
        except (HeadraceError, OSError) as failure:
            self._give_up(move, failure)
        return 1

    def close(self) -> None:
        """The worker stops: moves are asked for again."""
        for move in list(self._moves.values()):
            self._give_up(move, "the node stops")

    def _advance(self, move: _Move) -> None:
        replica = move.replica
        is_held = self._replicas.by_slot.get(replica.slot) is replica and replica.state is not RowState.OFFLINE
        if not is_held or move.log_dir not in self._replicas.usable_directories:
            self._give_up(move, "the replica or its directory is gone")
            return
        log = replica.log
        now_ms = self._clock.now_ms()
        high_watermark = replica.high_watermark
        segment, position = log.position_of(high_watermark)
        move.copy(high_watermark, segment, position, now_ms)
        is_near = move.future.log_end_offset >= high_watermark or segment == log.end_segment
        if is_near and log.size_bytes - move.future.size_bytes <= MOVE_BYTES_PER_CYCLE_MAX:
            while move.copy(log.log_end_offset, log.end_segment, log.end_position, now_ms):
                pass
            self._take_place(move)

    def _take_place(self, move: _Move) -> None:
        replica, future = move.replica, move.future
        old = replica.log
        future.take_over(old)
        future.close()
        del self._moves[replica.slot]
        move.reader.close()
        try:
            self._replicas.replace_directory(replica, move.directory)
        except (HeadraceError, OSError) as failure:
            self._replicas.lose_directory(old.directory.parent, StorageFailed(str(failure)))
            return
        _log.info("replica moved partition=%s directory=%s", replica.partition, move.log_dir)

    def _give_up(self, move: _Move, reason: object) -> None:
        del self._moves[move.replica.slot]
        move.future.abandon()
        move.reader.close()
        target = move.directory.with_name(f"{move.replica.partition}.{uuid.uuid4().hex}-delete")
        try:
            os.rename(move.directory, target)
        except OSError as failure:
            _log.warning("copy not removed directory=%s reason=%s", move.directory, failure)
        _log.warning("move given up partition=%s directory=%s reason=%s", move.replica.partition, move.log_dir, reason)

    # AlterReplicaLogDirs

    def _alter(self, version: int, body: memoryview, reply: Reply) -> None:
        request = decode_request(ApiKey.ALTER_REPLICA_LOG_DIRS, version, body)
        results: dict[str, list[Any]] = {}
        for wanted in request.dirs:
            for topic in wanted.topics:
                for index in topic.partitions:
                    error = self._begin(TopicPartition(topic.name, index), wanted.path)
                    result = _PartitionResult(partition_index=index, error_code=int(error))
                    results.setdefault(topic.name, []).append(result)
        topics = [_TopicResult(topic_name=name, partitions=partitions) for name, partitions in results.items()]
        response = messages.AlterReplicaLogDirsResponse(results=topics)
        reply(encode_response(ApiKey.ALTER_REPLICA_LOG_DIRS, version, response))

    def _begin(self, name: TopicPartition, path: str) -> ErrorCode:
        """Begin a move, or give one up by moving a replica to where it is."""
        replica = next((one for one in self._replicas.by_slot.values() if one.partition == name), None)
        log_dir = self._replicas.directory_named(path)
        if log_dir is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if replica is None:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        if log_dir not in self._replicas.usable_directories or replica.state is RowState.OFFLINE:
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
            future = self._replicas.open_future(name, directory, log, topic_id)
        except (HeadraceError, OSError) as failure:
            _log.error("move not begun partition=%s directory=%s reason=%s", name, directory, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._moves[replica.slot] = _Move(replica, directory, future)
        _log.info("move begun partition=%s directory=%s", name, log_dir)
        return ErrorCode.NONE

"""Replicas that move to another log directory of this node, a slice in each cycle, while they serve (AlterReplicaLogDirs).

Runs in: the partition worker that owns the log. The copy (`replica_copy.py`) follows as a follower does: batches unchanged, up to
the high watermark, below which nothing is ever cut. In the cycle in which only a slice is left the rest is copied too, and the
copy takes the place:

    1  copy      synced and closed                            a crash: the next life of the worker resumes the copy
    2  rename    copy -> TOPIC-PARTITION, synced              a crash: two directories; the next start keeps the longer log
    3  open      the log in its new place
    4  rename    old  -> ...-delete, synced                   the housekeeper removes it
    5  publish                                                readers find the new directory by the new version of the segment list

Whatever fails before 4 leaves the replica where it was, and so does 4 where there is no room for it. A copy that is given up

    beside its replica, held here and in service, whose log takes appends    -delete   it has nothing that the log has not
    while that replica's log is opened again                                 stays     it is compared with that log, as after a start
    for any other reason, or with more than the log has                      -stray    it may be all that is left: only an operator
                                                                                       removes it

A worker that starts resumes the copies that it finds, each when its log is opened, before that takes a first append.

Source: Kafka `ReplicaManager.alterReplicaLogDirs`, `ReplicaAlterLogDirsThread`, `LogManager.replaceCurrentWithFutureLog`;
KIP-113; docs/decisions/007.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from headrace.clock import Clock
from headrace.errors import ErrorCode, HeadraceError, StorageExhausted, StorageFailed, is_exhausted
from headrace.ids import TopicPartition
from headrace.limits import MOVE_BYTES_PER_CYCLE_MAX, MOVE_BYTES_PER_TURN_MAX, MOVE_REPORT_INTERVAL_MS
from headrace.log.disk import storage_failure
from headrace.log.names import (
    COPY_NAME_FILE,
    COPY_SYNCED_FILE,
    DELETED_DIRECTORY_SUFFIX,
    FUTURE_SUFFIX,
    STRAY_SUFFIX,
)
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.recovery.log_reach import LogReach, log_reach
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.runtime.mailbox import Handler, Reply
from headrace.shm.cluster_view import PartitionView
from headrace.shm.partition_table import IN_SERVICE, RowState
from headrace.workers.partition.replicas.replica import Replica
from headrace.workers.partition.replicas.replica_copy import (
    NotTheSame,
    OtherTopic,
    ReplicaCopy,
    SourceFailed,
    begin_copy,
    reconcile,
    resume_copy,
    source_failed,
    synced_before,
)
from headrace.workers.partition.replicas.replicas import Replicas

_log: Final = logging.getLogger(__name__)
_TopicResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_PartitionResult = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult

assert MOVE_BYTES_PER_CYCLE_MAX < MOVE_BYTES_PER_TURN_MAX


class _Move:
    """A copy, and how it gets on.

    seen_bytes   size of the log at the last turn: what was appended since is copied besides a slice
    left         offsets to go at the last report, -1 before the first
    """

    __slots__ = ("copy", "left", "report_ms", "seen_bytes")

    def __init__(self, copy: ReplicaCopy, monotonic_ms: int) -> None:
        self.copy = copy
        self.seen_bytes = copy.replica.log.size_bytes
        self.report_ms = monotonic_ms + MOVE_REPORT_INTERVAL_MS
        self.left = -1


class LogDirMoves:
    """The moves of one partition worker, the oldest first."""

    def __init__(self, replicas: Replicas, clock: Clock) -> None:
        self._replicas = replicas
        self._clock = clock
        self._directories = replicas.directories
        self._failures = replicas.failures
        self._copies = replicas.directories.copies
        self._copies.update(self._directories.find_copies(FUTURE_SUFFIX, replicas.owned.has))
        self._has_leftovers = bool(self._copies)
        self._moves: dict[int, _Move] = {}  # by slot, the oldest first
        replicas.on_opened = self._adopt

    def handlers(self) -> dict[int, Handler]:
        """By api key."""
        return {ApiKey.ALTER_REPLICA_LOG_DIRS: self._alter}

    def is_moving(self, slot: int) -> bool:
        """Whether a replica is being copied: what lies before a tombstone may be in the copy, so the tombstone has to stay."""
        return slot in self._moves

    def do_work(self) -> int:
        """Copy a slice of the oldest move that has something to copy; returns 0 where none has (yet)."""
        for move in list(self._moves.values()):
            copy = move.copy
            try:
                if self._advance(move):
                    return 1
                continue
            except SourceFailed as failure:
                self._give_up(copy, failure)
                self._report_source(copy.replica, failure)
            except StorageExhausted as failure:
                self._give_up(copy, failure)
            except StorageFailed as failure:
                self._give_up(copy, failure)
                self._failures.lose_directory(copy.log_dir, failure)
            except (HeadraceError, OSError) as failure:
                self._give_up(copy, failure)
            return 1
        return 0

    def resume(self) -> None:
        """All that the view wants is open, or was tried: copies that belong to no replica of it are put aside."""
        if not self._has_leftovers:
            return
        self._has_leftovers = False
        held = {replica.partition for replica in self._replicas.by_slot.values()}
        wanted = self._replicas.wanted_names()
        for name in [name for name in self._copies if name not in held]:
            if name not in wanted:
                for directory in self._copies.pop(name):
                    self._put_aside(name, directory, STRAY_SUFFIX, "the replica is not on this node")
                continue
            for directory in self._copies[name]:
                self._report_waiting(name, directory)

    def follow_cut(self, replica: Replica) -> None:
        """The log of a replica was cut, or restarted: its copy has nothing that the log has not."""
        move = self._moves.get(replica.slot)
        if (
            move is None
            or move.copy.replica is not replica
            or move.copy.future.log_end_offset <= replica.high_watermark
        ):
            return
        try:
            move.copy.future.truncate_to(replica.high_watermark)
        except HeadraceError as failure:
            self._give_up(move.copy, failure)

    def close(self) -> None:
        """The worker stops: its successor resumes the copies.

        Nothing of them is synced. They are believed as after a kill (`synced_before`), and the worker's logs have the time of the stop.
        """
        for move in self._moves.values():
            move.copy.abandon()
        self._moves.clear()

    # One turn

    def _advance(self, move: _Move) -> bool:
        """Some slices more; False where the mark has to move first. raises HeadraceError, OSError"""
        copy = move.copy
        replica = copy.replica
        if not self._is_held(replica):
            self._let_go(copy)
            return True
        if replica.state is RowState.OFFLINE or copy.log_dir not in self._directories.usable:
            self._give_up(copy, "the replica or its directory is out of service")
            return True
        if replica.log is not copy.log:  # opened again in place: it may have lost what was copied
            self._moves.pop(replica.slot)
            self._close(copy, is_synced=True)
            self._compare(replica, copy.directory, replica.isr)
            return True
        if copy.is_behind:
            self._begin_again(copy)
            return True
        log = replica.log
        # A log that is out of service (no room, maybe) is never cut: all of it may be copied.
        end_offset = replica.high_watermark if log.failure is None else log.log_end_offset
        try:
            segment, position = log.position_of(end_offset)
        except (HeadraceError, OSError) as failure:
            raise source_failed(failure) from None
        has_copied = self._copy_slices(move, end_offset, segment, position)
        is_near = copy.future.log_end_offset >= end_offset or segment == log.end_segment
        if is_near and copy.left_bytes() <= MOVE_BYTES_PER_CYCLE_MAX and self._copy_rest(copy):
            self._take_place(copy)
            return True
        self._report(move)
        return has_copied

    def _copy_slices(self, move: _Move, end_offset: int, segment: int, position: int) -> bool:
        """One, and as many as were appended since the last turn, so that a log that grows is caught up with."""
        now_ms = self._clock.now_ms()
        size_bytes = move.copy.replica.log.size_bytes
        grown = min(max(size_bytes - move.seen_bytes, 0), MOVE_BYTES_PER_TURN_MAX - MOVE_BYTES_PER_CYCLE_MAX)
        move.seen_bytes = size_bytes
        has_copied = False
        while copied := move.copy.copy(end_offset, segment, position, now_ms):
            has_copied = True
            if grown <= 0:
                break
            grown -= copied
        return has_copied

    def _copy_rest(self, copy: ReplicaCopy) -> bool:
        """The last slice, up to the log's end; False where that is further away than it was measured."""
        log, future = copy.replica.log, copy.future
        now_ms = self._clock.now_ms()
        copied = 0
        while future.log_end_offset < log.log_end_offset and copied <= MOVE_BYTES_PER_CYCLE_MAX:
            size = copy.copy(log.log_end_offset, log.end_segment, log.end_position, now_ms)
            if not size:
                break
            copied += size
        return future.log_end_offset == log.log_end_offset

    def _report(self, move: _Move) -> None:
        """Now and then: whether a move comes nearer to its end."""
        monotonic_ms = self._clock.monotonic_ns() // 1_000_000
        if monotonic_ms < move.report_ms:
            return
        move.report_ms = monotonic_ms + MOVE_REPORT_INTERVAL_MS
        copy = move.copy
        before, move.left = move.left, copy.replica.log.log_end_offset - copy.future.log_end_offset
        if before < 0 or move.left < before:
            _log.info(
                "move in progress partition=%s directory=%s offsets_left=%d",
                copy.replica.partition,
                copy.log_dir,
                move.left,
            )
            return
        _log.warning(
            "move makes no progress, the log grows faster than it is copied, or its high watermark waits for followers"
            " partition=%s directory=%s offsets_left=%d offsets_left_before=%d high_watermark=%d",
            copy.replica.partition, copy.log_dir, move.left, before, copy.replica.high_watermark,
        )  # fmt: skip

    def _begin_again(self, copy: ReplicaCopy) -> None:
        """All that the copy has was deleted from the log: a new one is begun, and the housekeeper removes this one's files.

        raises   HeadraceError, OSError
        """
        self._moves.pop(copy.replica.slot)
        copy.abandon()
        self._forget(copy.replica.partition, copy.directory)
        self._put_aside(copy.replica.partition, copy.directory, DELETED_DIRECTORY_SUFFIX, "its records were deleted")
        self._begin_copy(copy.replica, copy.log_dir)

    # The end of a move

    def _take_place(self, copy: ReplicaCopy) -> None:
        """raises HeadraceError, OSError: the copy failed, the replica stays where it is"""
        names = -1
        try:
            names = os.open(copy.replica.log.directory.parent, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as failure:
            if is_exhausted(failure):  # else the old directory fails at 4, and the copy is what is left
                raise
        try:
            self._rename_and_open(copy, names)
        finally:
            if names >= 0:
                os.close(names)

    def _rename_and_open(self, copy: ReplicaCopy, names: int) -> None:
        """Steps 1 to 5. raises HeadraceError, OSError

        names   descriptor of the log directory that the replica leaves: 4 must not lack one
        """
        replica, future, disk = copy.replica, copy.future, self._replicas.disk
        old = replica.log
        future.take_over(old)
        future.close()
        place = copy.directory.with_name(str(replica.partition))
        disk.rename(copy.directory, place)
        self._forget(replica.partition, copy.directory)
        copy.directory = place  # where it is put aside from, should the rest fail
        disk.remove_file(place / COPY_NAME_FILE)
        disk.remove_file(place / COPY_SYNCED_FILE)
        try:
            disk.sync_directory(place.parent)
        except OSError as failure:
            raise storage_failure(str(place), failure, is_sync=True) from None
        log = self._replicas.logs.open(
            replica.partition,
            place,
            old.config,
            LogCheckpoint(is_clean=True, recovery_point=old.log_end_offset, log_start_offset=old.log_start_offset),
        )
        if log.log_end_offset != old.log_end_offset:
            log.abandon()
            raise HeadraceError(f"the log in its new place ends at {log.log_end_offset}, not at {old.log_end_offset}")
        log.producers.recall(future.producers, log.log_end_offset)
        self._retire(replica, log, names)
        del self._moves[replica.slot]
        copy.reader.close()
        _log.info("replica moved partition=%s directory=%s", replica.partition, copy.log_dir)

    def _retire(self, replica: Replica, log: PartitionLog, names: int) -> None:
        """The log in its new place is whole, and durable: the old one goes. Should that fail, its directory is offline.

        raises   StorageExhausted, where there is no room for its new name: nothing was done, and the old log stays
        """
        old = replica.log
        failure: StorageFailed | None = None
        try:
            self._directories.put_aside(old.directory, DELETED_DIRECTORY_SUFFIX, is_durable=False)
        except OSError as refusal:
            failure = storage_failure(str(old.directory), refusal)
            if isinstance(failure, StorageExhausted):
                log.abandon()
                raise failure from None
        else:
            failure = self._sync_names(old, names)
        old.abandon()
        self._failures.forget(replica.slot)
        try:
            replica.replace_log(log, self._directories.places[log.directory.parent])
        except StorageFailed as refusal:
            replica.fail(refusal)
        if failure is not None:
            self._failures.lose_directory(old.directory.parent, failure)
        self._failures.follow_directories()

    def _sync_names(self, old: PartitionLog, names: int) -> StorageFailed | None:
        """What the disk refused of it."""
        try:
            self._replicas.disk.fsync(names)
        except OSError as refusal:
            return storage_failure(str(old.directory), refusal, is_sync=True)
        return None

    def _give_up(self, copy: ReplicaCopy, reason: object) -> None:
        """What the copy has is deleted where its log has it too, and is whole; else it is kept."""
        replica = copy.replica
        if not self._is_held(replica):
            self._let_go(copy)
            return
        self._moves.pop(replica.slot, None)
        is_needless = self._is_whole(replica) and not isinstance(reason, SourceFailed)
        end_offset = self._close(copy, is_synced=not is_needless)
        self._forget(replica.partition, copy.directory)
        if is_needless:
            self._put_aside(replica.partition, copy.directory, DELETED_DIRECTORY_SUFFIX, reason)
        else:
            self._keep(replica.partition, copy.directory, end_offset, reason)

    def _let_go(self, copy: ReplicaCopy) -> None:
        """Its replica is not the one that is held any more, so nothing is known of the log that was copied.

        Where the view wants the replica, the log is opened again, and the copy is compared with it then (`_adopt`). Else the copy is kept.
        """
        replica = copy.replica
        self._moves.pop(replica.slot, None)
        end_offset = self._close(copy, is_synced=True)
        # Else it was deleted with its topic, or has the name of the log.
        is_there = copy.directory in self._copies.get(replica.partition, ())
        if is_there and self._replicas.is_wanted(replica.slot, replica.key):
            self._report_waiting(replica.partition, copy.directory)
            return
        self._forget(replica.partition, copy.directory)
        self._keep(replica.partition, copy.directory, end_offset, "the replica is no longer on this node")

    def _close(self, copy: ReplicaCopy, *, is_synced: bool) -> int:
        """Release a copy's files; returns where it ends."""
        if is_synced:
            try:
                copy.future.flush()
            except HeadraceError as failure:
                _log.warning("copy not synced directory=%s reason=%s", copy.directory, failure)
        end_offset = copy.future.log_end_offset
        copy.abandon()
        return end_offset

    def _is_held(self, replica: Replica) -> bool:
        """Whether it is the replica of its slot: one that was given up says nothing of its log."""
        return self._replicas.by_slot.get(replica.slot) is replica

    def _is_whole(self, replica: Replica) -> bool:
        """Whether a replica is held and in service, and its log is there.

        One that waits for room may be found damaged when it is opened again.
        """
        directory = replica.log.directory
        return (
            self._is_held(replica)
            and replica.state in IN_SERVICE
            and replica.log.failure is None
            and directory.parent in self._directories.usable
            and directory.is_dir()
        )

    def _report_source(self, replica: Replica, failure: SourceFailed) -> None:
        """An I/O error costs the directory; a segment that makes no sense, or is not there, costs the move alone."""
        reason = failure.reason
        if reason is not None and not isinstance(reason, FileNotFoundError) and not is_exhausted(reason):
            self._failures.take(replica, storage_failure(f"{replica.partition}: read", reason))

    def _keep(self, name: TopicPartition, directory: Path, end_offset: int, reason: object) -> None:
        if not directory.is_dir():
            return  # deleted with its topic
        target = self._put_aside(name, directory, STRAY_SUFFIX, reason)
        _log.error(
            "copy kept, it may be all that is left of the replica partition=%s end_offset=%d directory=%s; if the log that it was"
            " copied from does not come back: stop the node, rename this directory to %s, and start the node;"
            " remove it if its records are not needed",
            name, end_offset, target, directory.with_name(str(name)),
        )  # fmt: skip

    def _report_waiting(self, name: TopicPartition, directory: Path) -> None:
        _log.error(
            "copy waits for its log, which is not open partition=%s directory=%s; if that does not come back: stop the node,"
            " rename this directory to %s, and start the node", name, directory, directory.with_name(str(name)),
        )  # fmt: skip

    def _put_aside(self, name: TopicPartition, directory: Path, suffix: str, reason: object) -> Path:
        _log.warning("move cancelled partition=%s directory=%s reason=%s", name, directory.parent, reason)
        try:
            return self._directories.put_aside(directory, suffix)
        except FileNotFoundError:
            pass  # deleted with its topic
        except OSError as failure:
            _log.warning("copy not renamed directory=%s suffix=%s reason=%s", directory, suffix, failure)
        return directory

    def _forget(self, name: TopicPartition, directory: Path) -> None:
        left = [one for one in self._copies.pop(name, []) if one != directory]
        if left:
            self._copies[name] = left

    # Copies of an earlier life

    def _adopt(self, replica: Replica, partition: PartitionView) -> None:
        """A log was opened, and takes no appends yet: its copies are resumed, or put aside."""
        name = replica.partition
        before = self._moves.get(replica.slot)
        if before is not None and before.copy.replica is not replica:  # its log was opened again
            self._let_go(before.copy)
        for directory in list(self._copies.get(name, ())):
            if replica.slot in self._moves or replica.log.directory.parent == directory.parent:
                self._forget(name, directory)
                self._discard(replica, directory, "another copy exists")
                continue
            self._compare(replica, directory, partition.isr)

    def _compare(self, replica: Replica, directory: Path, isr: Iterable[int]) -> None:
        """A copy that belongs to a log which was just opened: it is resumed, or put aside."""
        try:
            is_alone = not set(isr) - {self._replicas.node_id}
            is_judge = not (is_alone or replica.is_doubted or self._may_lack_its_end(replica, directory))
            self._resume(replica, directory, is_judge=is_judge)
        except (HeadraceError, OSError) as failure:
            self._forget(replica.partition, directory)
            self._discard(replica, directory, failure)
            if isinstance(failure, NotTheSame):
                self._start_over(replica, directory.parent)

    def _may_lack_its_end(self, replica: Replica, directory: Path) -> bool:
        """Whether the machine went down: the others in sync may have gone down with it, and lack the same."""
        return not self._directories.suspect.isdisjoint((replica.log.directory.parent, directory.parent))

    def _resume(self, replica: Replica, directory: Path, *, is_judge: bool) -> None:
        """raises HeadraceError, OSError

        is_judge   where the log is shorter, others have what it lacks, or it never was committed; else no other replica may have it
        """
        copy = resume_copy(replica, directory, self._replicas.logs, self._replicas.disk)
        log, future = replica.log, copy.future
        try:
            if not is_judge and log.log_end_offset < future.log_end_offset:
                raise NotTheSame(
                    f"it ends at {future.log_end_offset}, the log has lost the records from {log.log_end_offset} on"
                )
            reconcile(copy)
        except (HeadraceError, OSError):
            copy.abandon()
            raise
        self._moves[replica.slot] = _Move(copy, self._clock.monotonic_ns() // 1_000_000)
        _log.info(
            "move resumed partition=%s directory=%s offset=%d", replica.partition, copy.log_dir, future.log_end_offset
        )

    def _discard(self, replica: Replica, directory: Path, reason: object) -> None:
        """A copy that is not resumed: deleted where it has nothing that the log has not, else kept."""
        log = replica.log
        reach: LogReach | None = None
        try:
            synced = synced_before(directory, self._replicas.disk)
            reach = log_reach(
                directory, synced, self._replicas.logs.note_progress, is_sole=True
            )  # all that may be in it
        except OSError as failure:
            _log.warning("copy not read directory=%s reason=%s", directory, failure)
        own_reach = LogReach(log.epochs.written(log.log_end_offset), log.log_end_offset)
        is_needless = reach is not None and (
            reach.end_offset <= log.log_start_offset
            or (not isinstance(reason, NotTheSame | OtherTopic) and reach <= own_reach)
        )
        if is_needless:
            self._put_aside(replica.partition, directory, DELETED_DIRECTORY_SUFFIX, reason)
        else:
            self._keep(replica.partition, directory, -1 if reach is None else reach.end_offset, reason)

    def _start_over(self, replica: Replica, log_dir: Path) -> None:
        """The move was asked for: where there is room beside the copy that is kept, another is begun."""
        try:
            if self._directories.has_room_for(log_dir, replica.log.size_bytes):
                self._begin_copy(replica, log_dir)
                return
            _log.warning("move not resumed, no room partition=%s directory=%s", replica.partition, log_dir)
        except (HeadraceError, OSError) as failure:
            _log.error("move not started partition=%s directory=%s reason=%s", replica.partition, log_dir, failure)

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
            copy = under_way.copy
            if copy.log_dir == log_dir and copy.replica is replica:
                return ErrorCode.NONE
            self._give_up(copy, "another directory was requested")
        if replica.log.directory.parent == log_dir:
            return ErrorCode.NONE
        try:
            self._begin_copy(replica, log_dir)
        except (HeadraceError, OSError) as failure:
            _log.error("move not started partition=%s directory=%s reason=%s", name, log_dir, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def _begin_copy(self, replica: Replica, log_dir: Path) -> None:
        """raises HeadraceError, OSError"""
        copy = begin_copy(replica, log_dir, self._replicas.logs, self._replicas.disk)
        self._copies.setdefault(replica.partition, []).append(copy.directory)
        self._moves[replica.slot] = _Move(copy, self._clock.monotonic_ns() // 1_000_000)
        _log.info("move started partition=%s directory=%s", replica.partition, log_dir)

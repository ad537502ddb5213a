"""Segments that the housekeeper asks for to be deleted: some in each cycle, so that who is served waits no longer.

    asked for  ->  waits, the oldest request first  ->  answered when all that may go has gone
                   too many segments wait           ->  refused: the housekeeper judges again, and asks again

Runs in: the partition worker that owns the log; a part of `upkeep.py`.

Order of a deletion: log start offset, row published, files renamed, row published. A reader that misses a file therefore
finds in the row why.

No file is renamed before a checkpoint on disk says that the log begins after it (`durable start`). A power loss may take any of the
renames and leave others: a segment that is back, and none after it, would look like a log that has lost its middle. So the housekeeper asks
twice: the log start moves, its checkpoint is written, and then the files go.

A request is judged when its files go, not when it was asked. In each cycle it is decided again whether the log is the one that the
housekeeper has scanned, and whether its settings still have the retention by which segments were judged. Where they have another one,
only what lies below the log start goes.

Source: Kafka `UnifiedLog.deleteOldSegments`.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Final

from headrace.errors import ErrorCode
from headrace.ids import PartitionKey
from headrace.limits import DELETED_SEGMENTS_PER_CYCLE_MAX, DELETED_SEGMENTS_WAITING_MAX
from headrace.log.retention import retention_of
from headrace.runtime.mailbox import Reply
from headrace.shm.messages import BASE_OFFSET_ENTRY, DELETE_SEGMENTS_HEADER, UPKEEP_RESULT, DeletionRule
from headrace.workers.partition.replicas.replica import Replica

# Does something to the replica in service of a slot and key, which may fail it.
Change = Callable[[int, PartitionKey, Callable[[Replica], None]], ErrorCode]

_log: Final = logging.getLogger(__name__)


class _Deletion:
    """One request, and how far it is.

    bases       base offsets of the segments that may go
    retention   `retention_of` the settings by which they were judged
    count       segments that went
    is_over     nothing is left that may go
    """

    __slots__ = (
        "active", "as_of_version", "bases", "count", "durable_start", "error", "is_over", "key", "reply", "retention",
        "roll_before_ms", "rule", "slot", "youngest_ms",
    )  # fmt: skip

    def __init__(self, body: memoryview, reply: Reply) -> None:
        (
            self.slot, self.key, self.as_of_version, self.roll_before_ms, self.active, self.youngest_ms,
            self.durable_start, retention_ms, retention_bytes, self.rule,
        ) = DELETE_SEGMENTS_HEADER.unpack_from(body)  # fmt: skip
        self.retention = (retention_ms, retention_bytes)
        self.bases = {base for (base,) in BASE_OFFSET_ENTRY.iter_unpack(body[DELETE_SEGMENTS_HEADER.size :])}
        self.reply = reply
        self.count = 0
        self.error = ErrorCode.NONE
        self.is_over = False


class SegmentDeletions:
    """Those of one worker."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._waiting: deque[_Deletion] = deque()
        self._segments = 0  # of all that wait

    def ask(self, _version: int, body: memoryview, reply: Reply) -> None:
        """The handler of DELETE_SEGMENTS."""
        deletion = _Deletion(body, reply)
        if self._waiting and self._segments + len(deletion.bases) > DELETED_SEGMENTS_WAITING_MAX:
            reply(UPKEEP_RESULT.pack(ErrorCode.THROTTLING_QUOTA_EXCEEDED))
            return
        self._waiting.append(deletion)
        self._segments += len(deletion.bases)

    def do_work(self) -> int:
        """Delete some of them; 0 where none waits."""
        left, done = DELETED_SEGMENTS_PER_CYCLE_MAX, 0
        while self._waiting and left > 0:
            deletion = self._waiting[0]
            before = deletion.count
            error = self._go_on(deletion, left)
            left -= max(1, deletion.count - before)
            done += 1
            if error or deletion.is_over:
                self._waiting.popleft()
                self._segments -= len(deletion.bases)
                deletion.reply(UPKEEP_RESULT.pack(error or deletion.error))
        return done

    def _go_on(self, deletion: _Deletion, most: int) -> ErrorCode:
        """Delete `most` segments of one request, or fewer."""
        name = log_start_offset = None

        def delete(replica: Replica) -> None:
            nonlocal name, log_start_offset
            try:
                _delete(replica, deletion, most)
            finally:
                name, log_start_offset = replica.partition, replica.log.log_start_offset

        error = self._change(deletion.slot, deletion.key, delete)
        if deletion.count and (error or deletion.is_over):
            _log.info(
                "segments deleted partition=%s count=%d log_start_offset=%s rule=%s largest_timestamp_ms=%d",
                name,
                deletion.count,
                log_start_offset,
                DeletionRule(deletion.rule).setting,
                deletion.youngest_ms,
            )
        return error


def _delete(replica: Replica, deletion: _Deletion, most: int) -> None:
    """raises   StorageFailed"""
    log = replica.log
    if deletion.as_of_version < log.segments.changed_version:
        deletion.error = ErrorCode.INVALID_REQUEST  # what has these base offsets now is not what was scanned
        deletion.is_over = True
        return
    last = log.end_segment
    bases, is_retracted = deletion.bases, deletion.retention != retention_of(log.config)
    if is_retracted:
        deletion.error = ErrorCode.INVALID_REQUEST
        bases = bases & set(log.segment_bases[: bisect_right(log.segment_bases, log.log_start_offset) - 1])
    # One that has rolled since the housekeeper looked may have got younger records in between.
    bases = bases - {
        base for base in bases if deletion.active <= base < last and not log.is_older(base, deletion.roll_before_ms)
    }
    deletion.is_over, is_owed = _drop(replica, bases, deletion, most)
    may_roll = last in bases and log.failure is None and not is_owed  # after the others went: it may need room
    if deletion.is_over and may_roll and log.roll_if_older(deletion.roll_before_ms):
        replica.publish()
        deletion.is_over, _is_owed = _drop(replica, bases, deletion, most)


def _drop(replica: Replica, bases: set[int], deletion: _Deletion, most: int) -> tuple[bool, bool]:
    """Delete those of the oldest segments that are wanted and may go. raises StorageFailed

    returns   whether none is left that may go, and whether some are left for the log start on disk: what ends after that stays, and
              the log start moves
    """
    log = replica.log
    count = log.count_deletable(bases, replica.high_watermark)
    if not count:
        return True, False
    move_log_start(replica, log.segment_bases[count])
    durable = min(count, max(0, bisect_right(log.segment_bases, deletion.durable_start) - 1))
    going = min(durable, max(1, most))
    if going:
        log.delete_segments(going)
        deletion.count += going
        replica.publish()
    return going == durable, durable < count


def move_log_start(replica: Replica, offset: int) -> None:
    """What lies before an offset is no part of the log any more. raises StorageFailed"""
    if replica.log.advance_log_start(offset) or replica.is_row_owed:
        replica.publish()

"""DeleteRecords requests that wait for followers: records are deleted once no replica that lives has them.

Runs in: the partition worker that leads the partitions. The leader's own log start has moved; followers learn it with their next
answer, move theirs, and say so in the fetch after that. A request is answered when the smallest log start of the replicas
whose brokers live has reached what was asked for, of each of its partitions; with REQUEST_TIMED_OUT for those that have
not when its time is over.

Bound: RECORD_DELETIONS_MAX partitions of one worker; beyond, they are timed out at once.

Source: Kafka `DelayedDeleteRecords`, `Partition.lowWatermarkIfLeader`; KIP-107.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.errors import ErrorCode
from headrace.limits import RECORD_DELETIONS_MAX
from headrace.runtime.deadlines import Deadlines
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.replica import Replica

NO_LOW_WATERMARK: Final = -1

Result = tuple[ErrorCode, int]  # (error, low watermark)


class RecordDeletion:
    """One request.

    results   by its own number for a partition; None: it waits
    """

    __slots__ = ("_on_done", "_owed", "results", "timer", "waits")

    def __init__(self, count: int, on_done: Callable[[list[Result]], None]) -> None:
        self.results: list[Result | None] = [None] * count
        self.waits: dict[int, Replica] = {}  # by number
        self.timer = 0
        self._owed = count
        self._on_done = on_done

    def settle(self, number: int, error: ErrorCode, low_watermark: int = NO_LOW_WATERMARK) -> None:
        """One partition is done; the last of them answers the request."""
        assert self.results[number] is None
        self.results[number] = (error, low_watermark)
        self.waits.pop(number, None)
        self._owed -= 1
        if not self._owed:
            self._on_done([result for result in self.results if result is not None])


class RecordDeletions:
    """Those of one worker.

    waiting   by replica
    """

    def __init__(self) -> None:
        self.waiting: dict[Replica, dict[tuple[RecordDeletion, int], int]] = {}
        self._deadlines: Deadlines[RecordDeletion] = Deadlines(RECORD_DELETIONS_MAX)
        self._count = 0

    def wait(self, deletion: RecordDeletion, number: int, replica: Replica, offset: int) -> None:
        """A partition's own log start has reached `offset`: settle it now, or when its followers' have."""
        low_watermark = _low_watermark(replica)
        if low_watermark >= offset:
            deletion.settle(number, ErrorCode.NONE, low_watermark)
        elif self._count >= RECORD_DELETIONS_MAX:
            deletion.settle(number, ErrorCode.REQUEST_TIMED_OUT)
        else:
            self._count += 1
            deletion.waits[number] = replica
            self.waiting.setdefault(replica, {})[deletion, number] = offset

    def limit(self, deletion: RecordDeletion, deadline_ms: int) -> None:
        """All of a request's partitions have been asked for: those that wait do so until then, by the monotonic clock."""
        if deletion.waits:
            deletion.timer = self._deadlines.schedule(deadline_ms, deletion)
            if not deletion.timer:
                self._time_out(deletion)

    def check(self, replica: Replica) -> None:
        """Its log start, its role, or what is known of its followers is another."""
        waiting = self.waiting.get(replica)
        if not waiting:
            return
        error, low_watermark = ErrorCode.NONE, NO_LOW_WATERMARK
        if replica.is_leader:
            low_watermark = _low_watermark(replica)
        else:
            is_lost = replica.state is RowState.OFFLINE
            error = ErrorCode.KAFKA_STORAGE_ERROR if is_lost else ErrorCode.NOT_LEADER_OR_FOLLOWER
        for (deletion, number), offset in list(waiting.items()):
            if error or low_watermark >= offset:
                self._settle(deletion, number, replica, error, low_watermark)

    def check_all(self) -> None:
        """Other brokers live than before."""
        for replica in list(self.waiting):
            self.check(replica)

    def expire(self, now_ms: int) -> None:
        """Time out what is due, by the monotonic clock."""
        while (due := self._deadlines.pop_due(now_ms)) is not None:
            deletion = due[2]
            deletion.timer = 0
            self._time_out(deletion)

    def _time_out(self, deletion: RecordDeletion) -> None:
        for number, replica in list(deletion.waits.items()):
            self._settle(deletion, number, replica, ErrorCode.REQUEST_TIMED_OUT, NO_LOW_WATERMARK)

    def _settle(
        self, deletion: RecordDeletion, number: int, replica: Replica, error: ErrorCode, low_watermark: int
    ) -> None:
        waiting = self.waiting[replica]
        del waiting[deletion, number]
        if not waiting:
            del self.waiting[replica]
        self._count -= 1
        deletion.settle(number, error, low_watermark)
        if not deletion.waits:
            self._deadlines.cancel(deletion.timer)
            deletion.timer = 0


def _low_watermark(replica: Replica) -> int:
    """The smallest log start of the replicas that live; -1: one has not told its own yet."""
    own, followers = replica.log.log_start_offset, replica.followers
    return own if followers is None else followers.lowest_log_start(own)

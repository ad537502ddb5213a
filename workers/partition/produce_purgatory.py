"""acks=all requests that wait for the in-sync replicas.

Runs in: a partition worker. A produce request with acks=all is answered when the high watermark has reached
the end of its batch, or with REQUEST_TIMED_OUT when its own timeout passes first (the batch stays in the log:
the outcome is unknown to the client, as Kafka has it).

Bound: PARKED_PRODUCES_MAX over all replicas of one worker; beyond, requests time out at once.

Source: Kafka `DelayedProduce`.
"""

from __future__ import annotations

from headrace.errors import ErrorCode
from headrace.ids import RequestId
from headrace.limits import PARKED_PRODUCES_MAX
from headrace.runtime.deadlines import Deadlines
from headrace.shm.partition_table import RowState
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.replicas.replica import Replica


class ParkedProduce:
    """One batch that waits.

    timer   serial of its deadline
    """

    __slots__ = (
        "append_time_ms",
        "base_offset",
        "index",
        "process_id",
        "replica",
        "request_id",
        "required_offset",
        "timer",
    )

    def __init__(
        self,
        replica: Replica,
        ticket: tuple[int, RequestId, int, int, int],
        base_offset: int,
        append_time_ms: int,
        required_offset: int,
    ) -> None:
        self.replica = replica
        self.process_id, self.request_id, self.index, _acks, _timeout_ms = ticket
        self.base_offset = base_offset
        self.append_time_ms = append_time_ms
        self.required_offset = required_offset
        self.timer = 0


class ProducePurgatory:
    """Parked acks=all requests, with one heap of deadlines.

    waiting   by replica, in the order of its log
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._deadlines: Deadlines[ParkedProduce] = Deadlines(PARKED_PRODUCES_MAX)
        self.waiting: dict[Replica, dict[ParkedProduce, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Requests that wait."""
        return self._count

    def park(
        self,
        replica: Replica,
        ticket: tuple[int, RequestId, int, int, int],
        base_offset: int,
        append_time_ms: int,
        required_offset: int,
        deadline_ms: int,
    ) -> None:
        """Keep a request until the replica's high watermark reaches `required_offset`."""
        produce = ParkedProduce(replica, ticket, base_offset, append_time_ms, required_offset)
        produce.timer = self._deadlines.schedule(deadline_ms, produce)
        if not produce.timer:
            self._answers.refuse(produce.process_id, produce.request_id, produce.index, ErrorCode.REQUEST_TIMED_OUT)
            return
        self.waiting.setdefault(replica, {})[produce] = None
        self._count += 1

    def complete(self, replica: Replica) -> int:
        """Answer what the replica's high watermark has reached; all of it, where it no longer leads.

        Beyond the first that is not reached none is visited.
        """
        parked = self.waiting.get(replica)
        if not parked:
            return 0
        is_leader, high_watermark = replica.is_leader, replica.high_watermark
        is_enough = len(replica.isr) >= replica.min_insync_replicas
        reached = []
        for produce in parked:
            if is_leader and produce.required_offset > high_watermark:
                break
            reached.append(produce)
        for produce in reached:
            self._forget(produce)
            if is_leader:
                error = ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                base_offset, log_start = produce.base_offset, replica.log.log_start_offset
            else:
                is_lost = replica.state is RowState.OFFLINE
                error = ErrorCode.KAFKA_STORAGE_ERROR if is_lost else ErrorCode.NOT_LEADER_OR_FOLLOWER
                base_offset = log_start = -1
            self._answers.result(
                produce.process_id, produce.request_id, produce.index,
                error, base_offset, produce.append_time_ms, log_start,
            )  # fmt: skip
        return len(reached)

    def forget(self, process_id: int) -> None:
        """A network worker died; its successor may use the same request ids, so its tickets must not be answered."""
        for parked in list(self.waiting.values()):
            for produce in [each for each in parked if each.process_id == process_id]:
                self._forget(produce)

    def expire(self, now_ms: int) -> int:
        """Time out what is due, by the monotonic clock."""
        done = 0
        while (due := self._deadlines.pop_due(now_ms)) is not None:
            _deadline_ms, _serial, produce = due
            produce.timer = 0
            self._forget(produce)
            self._answers.refuse(produce.process_id, produce.request_id, produce.index, ErrorCode.REQUEST_TIMED_OUT)
            done += 1
        return done

    def _forget(self, produce: ParkedProduce) -> None:
        parked = self.waiting[produce.replica]
        del parked[produce]
        if not parked:
            del self.waiting[produce.replica]
        self._deadlines.cancel(produce.timer)
        self._count -= 1

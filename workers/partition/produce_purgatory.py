"""acks=all requests that wait for the in-sync replicas.

Runs in: a partition worker. A produce request with acks=all is answered when the high watermark has reached
the end of its batch, or with REQUEST_TIMED_OUT when its own timeout passes first (the batch stays in the log:
the outcome is unknown to the client, as Kafka has it).

Source: Kafka `DelayedProduce`.
"""

from __future__ import annotations

import heapq

from headrace.errors import ErrorCode
from headrace.shm.partition_table import RowState
from headrace.workers.partition.answers import Answers
from headrace.workers.partition.replica import Replica

PARKED_MAX = 100_000  # over all replicas of one worker; beyond, requests time out at once
ANSWERED_MAX = 1_000  # entries of the heap that were answered before their time; beyond (and half) it is made anew


class ProducePurgatory:
    """Parked acks=all requests by replica, in log order, with one heap of deadlines."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._serial = 0
        self._open_count = 0
        # (deadline_ms, serial, replica, ticket, base_offset, append_time_ms, required_offset)
        self._deadlines: list[tuple] = []  # type: ignore[type-arg]
        self._open: dict[int, dict[int, tuple]] = {}  # type: ignore[type-arg]  # slot -> serial -> entry

    def __len__(self) -> int:
        """Requests that wait."""
        return self._open_count

    def park(
        self,
        replica: Replica,
        ticket: tuple[int, int, int, int, int],
        base_offset: int,
        append_time_ms: int,
        required_offset: int,
        deadline_ms: int,
    ) -> None:
        """Keep a request until the replica's high watermark reaches `required_offset`."""
        process_id, request_id, index, _acks, _timeout_ms = ticket
        if self._open_count >= PARKED_MAX:
            self._answers.refuse(process_id, request_id, index, ErrorCode.REQUEST_TIMED_OUT)
            return
        self._serial += 1
        entry = (deadline_ms, self._serial, replica, ticket, base_offset, append_time_ms, required_offset)
        heapq.heappush(self._deadlines, entry)
        self._open.setdefault(replica.slot, {})[self._serial] = entry
        self._open_count += 1

    def complete(self, replica: Replica) -> int:
        """Answer what the replica's high watermark has reached; all of it, where it no longer leads.

        What waits for another replica that had this slot before (its topic was deleted) is refused.
        """
        entries = self._open.get(replica.slot)
        if not entries:
            return 0
        reached = [
            entry
            for entry in entries.values()
            if not replica.is_leader or entry[2] is not replica or entry[6] <= replica.high_watermark
        ]
        for entry in reached:
            _deadline, serial, parked_replica, ticket, base_offset, append_time_ms, _required = entry
            del entries[serial]
            if replica.is_leader and parked_replica is replica:
                error, log_start = ErrorCode.NONE, replica.log.log_start_offset
            else:
                is_lost = replica.state is RowState.OFFLINE
                error = ErrorCode.KAFKA_STORAGE_ERROR if is_lost else ErrorCode.NOT_LEADER_OR_FOLLOWER
                base_offset = log_start = -1
            self._answers.result(ticket[0], ticket[1], ticket[2], error, base_offset, append_time_ms, log_start)
        self._closed(len(reached))
        return len(reached)

    def forget(self, process_id: int) -> None:
        """A network worker died; its successor may use the same request ids, so its tickets must not be answered."""
        for entries in self._open.values():
            lost = [serial for serial, entry in entries.items() if entry[3][0] == process_id]
            for serial in lost:
                del entries[serial]
            self._closed(len(lost))

    def expire(self, now_ms: int) -> int:
        """Time out what is due, by the monotonic clock."""
        done = 0
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _deadline, serial, replica, ticket, _base, _time, _required = heapq.heappop(self._deadlines)
            entries = self._open.get(replica.slot)
            if entries is not None and entries.pop(serial, None) is not None:
                self._answers.refuse(ticket[0], ticket[1], ticket[2], ErrorCode.REQUEST_TIMED_OUT)
                done += 1
        self._open_count -= done
        return done

    def _closed(self, count: int) -> None:
        """So many entries don't wait any more; the heap forgets them once they are the larger part of it."""
        self._open_count -= count
        if len(self._deadlines) > 2 * self._open_count + ANSWERED_MAX:
            self._deadlines = [entry for entries in self._open.values() for entry in entries.values()]
            heapq.heapify(self._deadlines)

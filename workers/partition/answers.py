"""What a partition worker owes its network workers for produces and to parked fetches: results and wake-ups, by the cycle.

Runs in: a partition worker, the sole writer of its answer rings; replies to requests are the mailbox's. RESULT entries of
a cycle become one ring message per network worker (or a few, bounded by the ring). A ring that is full keeps its answers
here; while more than `BACKLOG_ENTRIES_MAX` wait, the worker takes no more requests from that network worker, so the
backlog is bounded.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import ErrorCode
from headrace.ids import RequestId
from headrace.limits import BACKLOG_ENTRIES_MAX
from headrace.shm.messages import ADVANCED, GROWN, RESULT, RESULT_ENTRY, SLOT_ENTRY
from headrace.shm.seat import Seat
from headrace.workers.partition.replica import Replica

ENTRIES_PER_MESSAGE: Final = 256
SLOTS_PER_MESSAGE: Final = 1024

_pack_result: Final = RESULT_ENTRY.pack


class Answers:
    """Answers not yet handed to the rings, by the process id of the network worker."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._waiting = seat.partitions.waiting
        self._results: dict[int, list[bytes]] = {}
        self._waiting_for_end = seat.partitions.waiting_for_end
        self._advanced: dict[int, set[int]] = {}
        self._grown: dict[int, set[int]] = {}

    def result(
        self,
        process_id: int,
        request_id: RequestId,
        index: int,
        error: int,
        base_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
    ) -> None:
        """Owe one RESULT entry; see `messages.py` for its fields."""
        entry = _pack_result(request_id, index, error, base_offset, log_append_time_ms, log_start_offset)
        entries = self._results.get(process_id)
        if entries is None:
            self._results[process_id] = [entry]
        else:
            entries.append(entry)

    def refuse(self, process_id: int, request_id: RequestId, index: int, error: ErrorCode | int) -> None:
        """Owe an error for a batch that no log has seen."""
        self.result(process_id, request_id, index, int(error), -1, -1, -1)

    def wake_fetches(self, replica: Replica) -> None:
        """A replica moved: owe the news to each network worker with a fetch parked on it. `MovedReplicas` has fenced."""
        slot = replica.slot
        for network_worker in self._waiting(slot):
            self._advanced.setdefault(network_worker, set()).add(slot)

    def wake_followers(self, replica: Replica) -> None:
        """A replica's log has grown: the same, to those with a follower's fetch parked on it."""
        slot = replica.slot
        for network_worker in self._waiting_for_end(slot):
            self._grown.setdefault(network_worker, set()).add(slot)

    def is_congested(self, process_id: int) -> bool:
        """Whether too many results wait for a network worker to take more of its produces."""
        return len(self._results.get(process_id, ())) > BACKLOG_ENTRIES_MAX

    def forget(self, process_id: int) -> None:
        """The network worker died, and its requests with it."""
        self._results.pop(process_id, None)
        self._advanced.pop(process_id, None)
        self._grown.pop(process_id, None)

    def flush(self) -> int:
        """Write what the rings take, commit, ring the doorbells.

        returns   ring messages written; what didn't fit stays for the next cycle
        """
        if not self._results and not self._advanced and not self._grown:
            return 0
        written = 0
        for process_id in {*self._results, *self._advanced, *self._grown}:
            writer = self._seat.writers[process_id]
            before = written
            entries = self._results.pop(process_id, None)
            while entries:
                if not writer.write(RESULT, b"".join(entries[:ENTRIES_PER_MESSAGE])):
                    self._results[process_id] = entries
                    break
                del entries[:ENTRIES_PER_MESSAGE]
                written += 1
            for kind, owed in ((ADVANCED, self._advanced), (GROWN, self._grown)):
                slots = owed.pop(process_id, None) if owed else None
                while slots:
                    chunk = [slots.pop() for _ in range(min(len(slots), SLOTS_PER_MESSAGE))]
                    if not writer.write(kind, b"".join(map(SLOT_ENTRY.pack, chunk))):
                        owed[process_id] = slots.union(chunk)
                        break
                    written += 1
            if written > before:
                writer.commit()
                self._seat.ring(process_id)
        return written

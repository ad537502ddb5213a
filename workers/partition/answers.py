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
from headrace.memory import view
from headrace.runtime.outbox import commit_rings
from headrace.shm.messages import ADVANCED, GROWN, RESULT, RESULT_ENTRY, SLOT_ENTRY, pack_result
from headrace.shm.ring import RingWriter
from headrace.shm.seat import Seat
from headrace.workers.partition.replicas.replica import Replica

ENTRIES_PER_MESSAGE: Final = 256
SLOTS_PER_MESSAGE: Final = 1024
ENTRY_BYTES: Final = 40
MESSAGE_BYTES: Final = ENTRIES_PER_MESSAGE * ENTRY_BYTES

assert RESULT_ENTRY.size == ENTRY_BYTES


class OwedResults:
    """RESULT entries for one network worker, as they go into its ring.

    size_bytes   of them; they lie at the front of `memory`, which grows with them
    """

    __slots__ = ("memory", "size_bytes")

    def __init__(self) -> None:
        self.memory = memoryview(bytearray(MESSAGE_BYTES))
        self.size_bytes = 0

    def grow(self) -> None:
        """Room for twice as many."""
        grown = memoryview(bytearray(2 * len(self.memory)))
        grown[: self.size_bytes] = self.memory[: self.size_bytes]
        self.memory = grown

    def take(self, writer: RingWriter) -> int:
        """Write what the ring takes; returns how many messages. What does not fit stays."""
        begun = written = 0
        while begun < self.size_bytes:
            end = min(begun + MESSAGE_BYTES, self.size_bytes)
            if not writer.write(RESULT, view(self.memory, begun, end)):
                break
            begun = end
            written += 1
        if begun < self.size_bytes:
            self.memory[: self.size_bytes - begun] = self.memory[begun : self.size_bytes]
        elif len(self.memory) > MESSAGE_BYTES:
            self.memory = memoryview(bytearray(MESSAGE_BYTES))
        self.size_bytes -= begun
        return written


class Answers:
    """Answers not yet handed to the rings, by the process id of the network worker."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._waiting = seat.partitions.waiting
        self._results: dict[int, OwedResults] = {}
        self._has_results = False  # in any of them
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
        owed = self._results.get(process_id)
        if owed is None:
            owed = self._results[process_id] = OwedResults()
        begun = owed.size_bytes
        if begun == len(owed.memory):
            owed.grow()
        pack_result(owed.memory, begun, request_id, index, error, base_offset, log_append_time_ms, log_start_offset)
        owed.size_bytes = begun + ENTRY_BYTES
        self._has_results = True

    def refuse(self, process_id: int, request_id: RequestId, index: int, error: ErrorCode | int) -> None:
        """Owe an error for a batch that no log has seen."""
        self.result(process_id, request_id, index, int(error), -1, -1, -1)

    def wake_fetches(self, replica: Replica) -> None:
        """A replica moved: owe the news to each network worker with a fetch parked on it. `ReplicaEvents` has fenced."""
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
        owed = self._results.get(process_id)
        return owed is not None and owed.size_bytes > BACKLOG_ENTRIES_MAX * ENTRY_BYTES

    def forget(self, process_id: int) -> None:
        """The network worker died, and its requests with it."""
        self._results.pop(process_id, None)
        self._advanced.pop(process_id, None)
        self._grown.pop(process_id, None)

    def flush(self) -> int:
        """`write`, commit, ring the doorbells."""
        rings: set[int] = set()
        written = self.write(rings)
        commit_rings(self._seat, rings)
        return written

    def write(self, rings: set[int]) -> int:
        """Write what the rings take.

        rings     those written into are added: they are to be committed, and their readers rung
        returns   ring messages written; what didn't fit stays for the next cycle
        """
        if not self._has_results and not self._advanced and not self._grown:
            return 0
        self._has_results = False
        written = 0
        for process_id in {*self._results, *self._advanced, *self._grown}:
            writer = self._seat.writers[process_id]
            before = written
            results = self._results.get(process_id)
            if results is not None and results.size_bytes:
                written += results.take(writer)
                self._has_results = self._has_results or results.size_bytes > 0
            for kind, owed in ((ADVANCED, self._advanced), (GROWN, self._grown)):
                slots = owed.pop(process_id, None) if owed else None
                while slots:
                    chunk = [slots.pop() for _ in range(min(len(slots), SLOTS_PER_MESSAGE))]
                    if not writer.write(kind, b"".join(map(SLOT_ENTRY.pack, chunk))):
                        owed[process_id] = slots.union(chunk)
                        break
                    written += 1
            if written > before:
                rings.add(process_id)
        return written

"""What a partition worker owes its network workers: results and wake-ups, gathered by the cycle.

Runs in: a partition worker, the sole writer of its answer rings. RESULT entries of a cycle become one ring
message per network worker (or a few, bounded by the ring). A ring that is full keeps its answers here; while
more than `BACKLOG_ENTRIES_MAX` wait, the worker takes no more requests from that network worker, so the
backlog is bounded.
"""

from __future__ import annotations

from collections import deque

from headrace.errors import ErrorCode
from headrace.limits import ADMIN_RESPONSE_BYTES_MAX, REQUESTS_PER_CYCLE_MAX, RING_BYTES_MIN
from headrace.shm.messages import (
    ADMIN_PART,
    ADMIN_RESULT,
    ADMIN_RESULT_HEADER,
    ADVANCED,
    RESULT,
    RESULT_ENTRY,
    SLOT_ENTRY,
)
from headrace.shm.seat import Seat

BACKLOG_ENTRIES_MAX = 4 * REQUESTS_PER_CYCLE_MAX
ENTRIES_PER_MESSAGE = 256
SLOTS_PER_MESSAGE = 1024
WHOLE_BYTES_MAX = RING_BYTES_MIN // 4  # of an answer that fits any ring in one piece

_pack_result = RESULT_ENTRY.pack


class Answers:
    """Answers not yet handed to the rings, by the process id of the network worker."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._results: dict[int, list[bytes]] = {}
        self._advanced: dict[int, set[int]] = {}
        self._responses: dict[int, deque[tuple[int, int, bytes | memoryview]]] = {}  # (kind, request id, response body)

    def result(
        self,
        process_id: int,
        request_id: int,
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

    def refuse(self, process_id: int, request_id: int, index: int, error: ErrorCode | int) -> None:
        """Owe an error for a batch that no log has seen."""
        self.result(process_id, request_id, index, int(error), -1, -1, -1)

    def response(self, process_id: int, request_id: int, body: bytes) -> None:
        """Owe the answer to an ADMIN message: a response body ready to send, or nothing (no answer is right)."""
        responses = self._responses.get(process_id)
        if responses is None:
            responses = self._responses[process_id] = deque()
        if len(body) > WHOLE_BYTES_MAX:
            room = self._seat.writers[process_id].message_bytes_max - ADMIN_RESULT_HEADER.size
            rest = memoryview(body if len(body) <= ADMIN_RESPONSE_BYTES_MAX else b"")
            while len(rest) > room:
                responses.append((ADMIN_PART, request_id, rest[:room]))
                rest = rest[room:]
            responses.append((ADMIN_RESULT, request_id, rest))
        else:
            responses.append((ADMIN_RESULT, request_id, body))

    def advanced(self, network_worker: int, slot: int) -> None:
        """Owe network worker `n` the news that a slot's high watermark moved."""
        self._advanced.setdefault(network_worker, set()).add(slot)

    def is_congested(self, process_id: int) -> bool:
        owed = len(self._results.get(process_id, ())) + len(self._responses.get(process_id, ()))
        return owed > BACKLOG_ENTRIES_MAX

    def forget(self, process_id: int) -> None:
        """The network worker died, and its requests with it."""
        self._results.pop(process_id, None)
        self._advanced.pop(process_id, None)
        self._responses.pop(process_id, None)

    def flush(self) -> int:
        """Write what the rings take, commit, ring the doorbells.

        returns   ring messages written; what didn't fit stays for the next cycle
        """
        if not self._results and not self._advanced and not self._responses:
            return 0
        written = 0
        for process_id in {*self._results, *self._advanced, *self._responses}:
            writer = self._seat.writers[process_id]
            before = written
            entries = self._results.pop(process_id, None)
            while entries:
                if not writer.write(RESULT, b"".join(entries[:ENTRIES_PER_MESSAGE])):
                    self._results[process_id] = entries
                    break
                del entries[:ENTRIES_PER_MESSAGE]
                written += 1
            slots = self._advanced.pop(process_id, None)
            while slots:
                chunk = [slots.pop() for _ in range(min(len(slots), SLOTS_PER_MESSAGE))]
                if not writer.write(ADVANCED, b"".join(map(SLOT_ENTRY.pack, chunk))):
                    self._advanced[process_id] = slots.union(chunk)
                    break
                written += 1
            responses = self._responses.get(process_id)
            while responses:
                kind, request_id, body = responses[0]
                if not writer.write(kind, ADMIN_RESULT_HEADER.pack(request_id), body):
                    break
                responses.popleft()
                written += 1
            if not responses:
                self._responses.pop(process_id, None)
            if written > before:
                writer.commit()
                self._seat.ring(process_id)
        return written

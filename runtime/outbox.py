"""Outgoing messages: written to the rings at once, or kept in order while a ring is full.

Runs in: every process with a mailbox, the sole writer of its rings. Nothing is published before `flush`: one commit and one
doorbell a peer and cycle.

Bound: none of its own. No more work is taken from a peer that is `congested` (MAIL_BACKLOG_MESSAGES_MAX,
MAIL_BACKLOG_BYTES_MAX), and none is done for one for which twice as much waits (`mailbox.py`).
"""

from __future__ import annotations

from collections import deque

from headrace.limits import MAIL_BACKLOG_BYTES_MAX, MAIL_BACKLOG_MESSAGES_MAX
from headrace.shm.seat import Seat

Payload = bytes | memoryview


def commit_rings(seat: Seat, written: set[int]) -> int:
    """Publish what was written into the rings to these processes, ring those that sleep; returns how many rings it were."""
    count = len(written)
    if count:
        for process_id in written:
            seat.writers[process_id].commit()
            seat.ring(process_id)
        written.clear()
    return count


class MailOutbox:
    """What waits for room, by process id.

    written     processes whose rings have something that is not committed; other writers of them add to it
    congested   processes for which so much waits that no more should be done for them; the set stays the same object
    """

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._writers = seat.writers
        self._queues: dict[int, deque[tuple[int, bytes, Payload]]] = {}  # (kind, header, payload); none is empty
        self._bytes: dict[int, int] = {}  # payloads in a queue
        self.written: set[int] = set()
        self.congested: set[int] = set()

    def __len__(self) -> int:
        """Messages that wait."""
        return sum(map(len, self._queues.values()))

    def message_bytes_max(self, process_id: int) -> int:
        """Largest header and payload that a ring can ever take."""
        return self._writers[process_id].message_bytes_max

    def send(self, process_id: int, kind: int, header: bytes | memoryview, payload: Payload) -> None:
        """Write a message, or keep it until there is room. Its header, and a payload that may be changed later, are copied then."""
        queue = self._queues.get(process_id)
        if queue is None:
            if self._writers[process_id].write(kind, header, payload):
                self.written.add(process_id)
                return
            queue = self._queues[process_id] = deque()
        if type(payload) is memoryview and not payload.readonly:
            payload = bytes(payload)
        queue.append((kind, bytes(header), payload))
        self._bytes[process_id] = self._bytes.get(process_id, 0) + len(payload)
        if self.exceeds(process_id):
            self.congested.add(process_id)

    def exceeds(self, process_id: int, times: int = 1) -> bool:
        """Whether more than this many times the bound waits for a process."""
        queue = self._queues.get(process_id)
        return queue is not None and (
            len(queue) > times * MAIL_BACKLOG_MESSAGES_MAX or self._bytes[process_id] > times * MAIL_BACKLOG_BYTES_MAX
        )

    def is_waiting(self, process_id: int) -> bool:
        """Whether anything waits for room in the ring to a process."""
        return process_id in self._queues

    def forget(self, process_id: int) -> None:
        """A process died: what waits for it is not sent."""
        self._queues.pop(process_id, None)
        self._bytes.pop(process_id, None)
        self.congested.discard(process_id)

    def flush(self) -> int:
        """Write what the rings take, commit, ring the doorbells; returns the number of rings committed."""
        if self._queues:
            for process_id in list(self._queues):
                self._write_waiting(process_id)
        return commit_rings(self._seat, self.written)

    def _write_waiting(self, process_id: int) -> None:
        queue, writer = self._queues[process_id], self._writers[process_id]
        while queue:
            kind, header, payload = queue[0]
            if not writer.write(kind, header, payload):
                if not self.exceeds(process_id):
                    self.congested.discard(process_id)
                return
            queue.popleft()
            self._bytes[process_id] -= len(payload)
            self.written.add(process_id)
        self.forget(process_id)

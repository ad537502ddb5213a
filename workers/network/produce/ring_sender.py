"""The way into the rings: writes now, commits once a cycle.

Runs in: a network worker, sole writer of its request rings. A message that finds its ring full is put on its
connection's `stalled` queue, in order; the connection is not read until the queue is empty, which is the
back-pressure.
"""

from __future__ import annotations

from headrace.runtime.outbox import commit_rings
from headrace.shm.counters import RING_FULL
from headrace.shm.seat import Seat
from headrace.workers.network.connections.connection import Connection


class RingSender:
    """Writes messages for connections and remembers which rings to commit."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._writers = seat.writers
        self._uncommitted: set[int] = set()
        self.stalled: set[Connection] = set()

    def send(
        self,
        connection: Connection,
        process_id: int,
        kind: int,
        header: bytes | memoryview,
        payload: memoryview | bytes | bytearray | None,
    ) -> None:
        """Write a message for `connection`, or stall it where the ring is full. Its header may be used again after the call."""
        if not connection.stalled and self._writers[process_id].write(kind, header, payload):
            self._uncommitted.add(process_id)
            return
        connection.stalled.append((process_id, kind, bytes(header), payload))
        self.stalled.add(connection)
        self._seat.counters.add(RING_FULL, 1)

    def message_bytes_max(self, process_id: int) -> int:
        """Largest header and payload that a ring can ever take."""
        return self._writers[process_id].message_bytes_max

    def retry(self) -> list[Connection]:
        """Try the stalled messages again.

        returns   connections with nothing stalled any more: they may be read again
        """
        if not self.stalled:
            return []
        freed = []
        for connection in list(self.stalled):
            queue = connection.stalled
            while queue:
                process_id, kind, header, payload = queue[0]
                if not self._writers[process_id].write(kind, header, payload):
                    break
                self._uncommitted.add(process_id)
                queue.popleft()
            if not queue:
                self.stalled.discard(connection)
                freed.append(connection)
        return freed

    def forget(self, process_id: int) -> None:
        """A process died: its requests were answered with an error, so what stalled on its ring must not be sent."""
        for connection in self.stalled:
            kept = [message for message in connection.stalled if message[0] != process_id]
            connection.stalled.clear()
            connection.stalled.extend(kept)

    def drop(self, connection: Connection) -> list[tuple[int, int, bytes]]:
        """The connection is closed: what it had stalled is not sent.

        returns   (process id, kind, header) of what will not be answered: it has to be forgotten where it is waited for
        """
        dropped = [(process_id, kind, header) for process_id, kind, header, _payload in connection.stalled]
        connection.stalled.clear()
        self.stalled.discard(connection)
        return dropped

    def commit(self) -> int:
        """Publish everything written in this cycle and ring the doorbells of those who sleep.

        returns   number of rings committed
        """
        return commit_rings(self._seat, self._uncommitted)

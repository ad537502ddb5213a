"""What the large frames of all connections of a network worker may take, while they arrive and until they are handled.

Runs in: a network worker, one object. A frame that fits RECEIVE_BYTES_BUSY comes in any case. A larger one has its whole size
set aside before its connection's buffer grows for it; where that is not there, the connection is not read, and waits in line.
So every connection that was let in can finish, and none waits for one that waits. One that does not finish is given up after
TRICKLE_DEADLINE_MS; while others wait, already when it falls behind the pace that this takes: otherwise two unfinished frames
would hold up all others.

    memory for frames <= max(queued.max.request.bytes / network workers, socket.request.max.bytes)
                         + one frame, where all who hold some wait for more
                         + RECEIVE_BYTES_BUSY for each connection; while a buffer grows, half as much again

Source: Kafka `SimpleMemoryPool`, `queued.max.request.bytes` (KIP-72).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from headrace.workers.network.connections.connection import Connection

FRAMES_BY_DEFAULT: Final = 2  # of the largest size, where no bound is set


def frame_memory_max(queued_max: int, frame_max: int, network_count: int) -> int:
    """Bytes for one network worker: its share of the setting, one frame at least."""
    if queued_max < 0:
        return FRAMES_BY_DEFAULT * frame_max
    return max(frame_max, queued_max // network_count)


class FrameMemory:
    """Bytes that are set aside, and who waits for some."""

    def __init__(self, bytes_max: int) -> None:
        self.used = 0
        self.waiting: deque[tuple[Connection, int]] = deque()  # the bytes that its frame lacks
        self._bytes_max = bytes_max

    def take(self, connection: Connection, size_bytes: int) -> bool:
        """Set bytes aside; where they are not there, or others wait, the connection waits in line."""
        if not self.waiting and self.used + size_bytes <= self._bytes_max:
            self.used += size_bytes
            return True
        self.waiting.append((connection, size_bytes))
        return False

    def give(self, size_bytes: int) -> None:
        """Bytes that are no longer needed."""
        self.used -= size_bytes
        assert self.used >= 0

    def _is_all_waiting(self) -> bool:
        """Whether all that is set aside is of connections in line: then nobody would ever give any, and one is let in beyond the bound."""
        return self.used <= sum(connection.set_aside_bytes for connection, _size in self.waiting)

    def admit(self) -> list[Connection]:
        """Those at the head of the line whose bytes are there now; what they asked for is set aside."""
        admitted = []
        while self.waiting:
            connection, size_bytes = self.waiting[0]
            if not connection.is_closed:
                if self.used + size_bytes > self._bytes_max and not self._is_all_waiting():
                    break
                self.used += size_bytes
                connection.let_in(size_bytes)
                admitted.append(connection)
            self.waiting.popleft()
        return admitted

"""The one chunker: bodies cut into parts that a ring takes, and parts put together again.

Runs in: every process with a mailbox. A ring keeps the order of its messages, so the parts of a body come in theirs; those
of several bodies may come in between each other. A part says how many bytes of its body came before it:

    part begun=0 | part begun=n1 | ... | end begun=n1+n2+...

A part with `begun` 0 begins again, and an empty one releases what came: the asker has withdrawn. What does not fit
together is dropped, and its end finds nothing.

Bounds: bytes of one body, and of all that one process has begun; the oldest give way.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.limits import MAIL_BEGUN_COST


def cut(body: bytes | memoryview, bytes_max: int) -> Iterator[tuple[int, memoryview]]:
    """The parts of a body, (bytes before it, view) each; the last one is its end, and the only one of a small body.

    bytes_max   of a part, >= 1
    """
    assert bytes_max > 0
    rest = memoryview(body)
    for begun in range(0, max(len(rest), 1), bytes_max):
        yield begun, rest[begun : begun + bytes_max]


class Parts:
    """Beginnings of bodies by process and request id, the oldest first.

    body_bytes_max   of one body, its end included
    peer_bytes_max   of all that one process has begun, MAIL_BEGUN_COST for each of them included
    """

    def __init__(self, body_bytes_max: int, peer_bytes_max: int) -> None:
        assert body_bytes_max + MAIL_BEGUN_COST <= peer_bytes_max
        self._body_bytes_max = body_bytes_max
        self._peer_bytes_max = peer_bytes_max
        self._begun: dict[int, dict[int, bytearray]] = {}
        self._sizes: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._begun.values()))

    def bytes_of(self, process_id: int) -> int:
        """What is kept for a process, MAIL_BEGUN_COST for each body included."""
        return self._sizes.get(process_id, 0)

    def take(self, process_id: int, request_id: int, begun: int, part: memoryview) -> None:
        """Keep the next bytes of a body."""
        bodies = self._begun.setdefault(process_id, {})
        if not begun:
            self.drop(process_id, request_id)
            if not len(part):
                return
            bodies[request_id] = bytearray()
            self._sizes[process_id] = self._sizes.get(process_id, 0) + MAIL_BEGUN_COST
        body = bodies.get(request_id)
        if body is None:
            return
        if len(body) != begun or begun + len(part) > self._body_bytes_max:
            self.drop(process_id, request_id)
            return
        body += part
        self._sizes[process_id] += len(part)
        while self._sizes[process_id] > self._peer_bytes_max:
            self.drop(process_id, next(iter(bodies)))

    def finish(self, process_id: int, request_id: int, begun: int, end: memoryview) -> memoryview | None:
        """The whole of a body whose end has come; None, where what came before is not all there."""
        body = self.drop(process_id, request_id)
        if not begun:
            return end
        if body is None or len(body) != begun or begun + len(end) > self._body_bytes_max:
            return None
        body += end
        return memoryview(body)

    def drop(self, process_id: int, request_id: int) -> bytearray | None:
        """Drop what was begun; returns it."""
        bodies = self._begun.get(process_id)
        body = bodies.pop(request_id, None) if bodies else None
        if body is not None:
            self._sizes[process_id] -= len(body) + MAIL_BEGUN_COST
        return body

    def forget(self, process_id: int) -> None:
        """A process died: it ends nothing that it began."""
        self._begun.pop(process_id, None)
        self._sizes.pop(process_id, None)

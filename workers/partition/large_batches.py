"""Batches that no ring message holds: their parts, until the PRODUCE with the end comes.

Runs in: a partition worker. The one copy more that such a batch costs is made here: ring to heap, heap to page cache.
What a network worker begins and never ends (its connection was closed in between) goes after a while, and the oldest go
first where a peer's parts outgrow their bound; their end, should it come, is answered with a retriable error.
"""

from __future__ import annotations

from headrace.limits import BATCH_PARTS_AGE_MS_MAX
from headrace.shm.messages import PRODUCE_PART_HEADER


class LargeBatches:
    """Beginnings of batches by (network worker, request id, index), the oldest first.

    bytes_max   of one network worker's parts
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._begun: dict[tuple[int, int, int], tuple[bytearray, int]] = {}  # bytes, and when the first came
        self._sizes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._begun)

    def take(self, process_id: int, body: memoryview, monotonic_ms: int) -> None:
        """A PRODUCE_PART: the next bytes of a batch."""
        request_id, index = PRODUCE_PART_HEADER.unpack_from(body)
        part = body[PRODUCE_PART_HEADER.size :]
        key = (process_id, request_id, index)
        begun = self._begun.get(key)
        if begun is None:
            begun = self._begun[key] = (bytearray(), monotonic_ms)
        begun[0].extend(part)
        size = self._sizes[process_id] = self._sizes.get(process_id, 0) + len(part)
        if size > self._bytes_max:
            self._drop(next(known for known in self._begun if known[0] == process_id))

    def finish(self, process_id: int, request_id: int, index: int, size: int, end: memoryview) -> memoryview | None:
        """A batch whose first `size` bytes came in parts, in memory that may be written; None where they are gone."""
        key = (process_id, request_id, index)
        begun = self._begun.get(key)
        if begun is None:
            return None
        self._drop(key)
        batch = begun[0]
        if len(batch) != size:
            return None
        batch.extend(end)
        return memoryview(batch)

    def expire(self, monotonic_ms: int) -> None:
        """Release what was begun long ago."""
        while self._begun:
            key, (_batch, since_ms) = next(iter(self._begun.items()))
            if monotonic_ms - since_ms < BATCH_PARTS_AGE_MS_MAX:
                return
            self._drop(key)

    def forget(self, process_id: int) -> None:
        """A network worker died: it ends nothing that it began."""
        for key in [key for key in self._begun if key[0] == process_id]:
            self._drop(key)

    def _drop(self, key: tuple[int, int, int]) -> None:
        batch, _since_ms = self._begun.pop(key)
        self._sizes[key[0]] -= len(batch)

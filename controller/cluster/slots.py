"""Rows of the partition table for the replicas of this node.

Runs in: the controller process, which alone hands them out; a restarted one takes them over from the last
cluster view. A slot belongs to a replica from its creation until its owner said DELETED.
"""

from __future__ import annotations

import heapq

NO_SLOT = -1


class Slots:
    """Free and taken slots; the lowest free one goes first."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._taken: dict[tuple[str, int], int] = {}
        self._holders: dict[int, tuple[str, int]] = {}
        self._free: list[int] = []
        self._next = 0

    def restore(self, taken: dict[tuple[str, int], int]) -> None:
        """Take over the replicas that have their slots already."""
        self._taken = dict(taken)
        self._holders = {slot: replica for replica, slot in taken.items()}
        slots = set(taken.values())
        self._next = max(slots, default=-1) + 1
        self._free = [slot for slot in range(self._next) if slot not in slots]

    def get(self, topic: str, partition: int) -> int:
        """The replica's slot, NO_SLOT where it has none."""
        return self._taken.get((topic, partition), NO_SLOT)

    def holder(self, slot: int) -> tuple[str, int] | None:
        """The replica that has a slot, topic and partition."""
        return self._holders.get(slot)

    def take(self, topic: str, partition: int) -> int:
        """The replica's slot, a new one where it has none; NO_SLOT once all are taken."""
        slot = self.get(topic, partition)
        if slot != NO_SLOT or not self.has_room(1):
            return slot
        if self._free:
            slot = heapq.heappop(self._free)
        else:
            slot = self._next
            self._next += 1
        self._taken[topic, partition] = slot
        self._holders[slot] = (topic, partition)
        return slot

    def has_room(self, count: int) -> bool:
        return len(self._free) + self.count - self._next >= count

    def release(self, topic: str, partition: int) -> None:
        slot = self._taken.pop((topic, partition), None)
        if slot is not None:
            del self._holders[slot]
            heapq.heappush(self._free, slot)

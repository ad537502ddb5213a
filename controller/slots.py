"""Rows of the partition table for the replicas of this node.

A slot belongs to a replica from its creation until its owner said DELETED. The controller process alone hands
them out; a restarted one takes them over from the last cluster view.
"""

from __future__ import annotations

import heapq

from headrace.errors import ErrorCode, KafkaError


class Slots:
    """Free and taken slots; the lowest free one goes first."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken: dict[tuple[str, int], int] = {}
        self._free: list[int] = []
        self._next = 0

    def restore(self, taken: dict[tuple[str, int], int]) -> None:
        """Take over the replicas that have their slots already."""
        self._taken = dict(taken)
        slots = set(taken.values())
        self._next = max(slots, default=-1) + 1
        self._free = [slot for slot in range(self._next) if slot not in slots]

    def slot_of(self, topic: str, partition: int) -> int:
        """The replica's slot, a new one where it has none.

        raises   KafkaError POLICY_VIOLATION, where `headrace.partitions.max` is reached
        """
        name = (topic, partition)
        slot = self._taken.get(name)
        if slot is None:
            if self._free:
                slot = heapq.heappop(self._free)
            elif self._next < self._count:
                slot = self._next
                self._next += 1
            else:
                raise KafkaError(
                    ErrorCode.POLICY_VIOLATION,
                    f"this node holds {self._count} replicas, its headrace.partitions.max",
                )
            self._taken[name] = slot
        return slot

    def has_room(self, count: int) -> bool:
        return len(self._free) + self._count - self._next >= count

    def release(self, topic: str, partition: int) -> None:
        slot = self._taken.pop((topic, partition), None)
        if slot is not None:
            heapq.heappush(self._free, slot)

"""Where a group continues in the target, of a partition that is copied by key. Pure.

A record keeps its order by key there, and no other order, so one offset of the source is an offset in each target partition:

    place   (s, t of each target partition): no record at or above source offset s lies below its t

A group that has read below offset o gets the last place at or below o, so nothing is skipped. It may read records again: those between s
and o, and in a target partition those of other source partitions. Once it has read all that was copied, the place is the position and
nothing is read again.

Places are positions of the past. They get sparse with their distance from the position, so that their number grows with the logarithm of
it: a group that is L offsets before the position reads at most L offsets again, and what one checkpoint covers.

Source: Kafka `OffsetSyncStore` (KIP-382), which thins out its syncs in a like way.
"""

from __future__ import annotations

from bisect import bisect_right

from headrace.mirror.journal_record import KeyedPosition, Place


class Places:
    """Of one partition of a source."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[int, int], Place] = {}  # by generation and source offset

    def add(self, place: Place) -> None:
        self._by_key[place.generation, place.source] = place

    def withdraw(self, place: Place) -> None:
        self._by_key.pop((place.generation, place.source), None)

    def of(self, generation: int) -> list[Place]:
        """Those of a generation, by source offset."""
        return sorted(
            (one for one in self._by_key.values() if one.generation == generation), key=lambda one: one.source
        )

    def translate(self, position: KeyedPosition, offset: int | None) -> tuple[int, ...]:
        """For each target partition the offset at which a group continues.

        offset   the first that the group has not read; None: it has read nothing
        """
        if offset is not None and offset >= position.source:
            return position.targets
        known = self.of(position.generation)
        index = bisect_right([one.source for one in known], -1 if offset is None else offset) - 1
        found = known[max(0, index)].targets if known else ()
        # a target partition that has nothing of this partition may have it only from the position on
        return tuple(
            (found[number] if number < len(found) else 0) if ordinal else target
            for number, (ordinal, target) in enumerate(zip(position.ordinals, position.targets, strict=True))
        )

    def surplus(self, position: KeyedPosition) -> list[Place]:
        """Places that are to be withdrawn: of an earlier generation, or close to each other for their distance from the position."""
        gone = [one for one in self._by_key.values() if one.generation != position.generation]
        known = self.of(position.generation)
        following = position.source
        for index in range(len(known) - 1, 0, -1):
            if following - known[index - 1].source <= position.source - following:
                gone.append(known[index])
            else:
                following = known[index].source
        return gone

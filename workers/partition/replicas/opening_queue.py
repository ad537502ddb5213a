"""Which logs a partition worker has still to open, and in what order.

    1  asked for      a client wants to produce there: in the order of the requests
    2  coordinators   `__consumer_offsets`: every group of a consumer waits for one of them
    3  others         in the order of the view

What can't be opened for want of room is postponed: it is retried now and then, until one fails again. Where it said how much room it
wants, it waits until there is so much: a try that is refused in the end has read the log before.

Runs in: a partition worker. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from headrace.shm.partition_table import PartitionRow

ASKED, COORDINATORS, OTHERS = range(3)


def _always(_slot: int) -> bool:
    return True


class OpeningQueue:
    """Slots of the partition table whose log is to be opened; each is in it once.

    postponed   by slot, what their row said before the first try, and whether it was torn
    """

    __slots__ = ("_lanes", "_wanted", "postponed")

    def __init__(self) -> None:
        self._lanes: tuple[dict[int, None], dict[int, None], dict[int, None]] = ({}, {}, {})
        self.postponed: dict[int, tuple[PartitionRow, bool]] = {}
        self._wanted: dict[int, tuple[Path, int]] = {}  # of these, the bytes that a directory is to have free

    def __len__(self) -> int:
        return sum(map(len, self._lanes))

    def __bool__(self) -> bool:
        asked, coordinators, others = self._lanes
        return bool(asked or coordinators or others)

    def __contains__(self, slot: object) -> bool:
        return any(slot in lane for lane in self._lanes)

    def __iter__(self) -> Iterator[int]:
        """The slots in their order."""
        for lane in self._lanes:
            yield from lane

    def add(self, slot: int, *, is_coordinator: bool = False) -> None:
        """One more, last among its kind; where it waits already, it keeps its place."""
        if slot not in self:
            self._lanes[COORDINATORS if is_coordinator else OTHERS][slot] = None

    def ask(self, slot: int) -> None:
        """A client wants this one, if it waits: it comes before those that were not asked for."""
        for lane in self._lanes[COORDINATORS:]:
            if slot in lane:
                del lane[slot]
                self._lanes[ASKED][slot] = None

    def take(self) -> int | None:
        """The next one, which leaves the queue; None where nothing waits."""
        for lane in self._lanes:
            if lane:
                slot = next(iter(lane))
                del lane[slot]
                return slot
        return None

    def discard(self, slot: int) -> None:
        """It needs no opening any more."""
        self.settle(slot)
        self._leave(slot)

    def settle(self, slot: int) -> bool:
        """It waits for no room any more; returns whether it did."""
        self._wanted.pop(slot, None)
        return self.postponed.pop(slot, None) is not None

    def postpone(self, slot: int, row: PartitionRow, is_torn: bool, wanted: tuple[Path, int] | None = None) -> bool:
        """There was no room for it; returns whether that is news. Where it is not, the others that wait for room wait on.

        wanted   the bytes that have to be free in a directory before it can be opened; None: not known
        """
        is_news = not self.settle(slot)
        if wanted is not None:
            self._wanted[slot] = wanted
        self.postponed[slot] = (row, is_torn)  # the last one now: another is tried first the next time
        if not is_news:
            for other in self.postponed:
                self._leave(other)
        return is_news

    def try_again(self, has_room: Callable[[Path, int], bool], is_due: Callable[[int], bool] = _always) -> None:
        """There may be room again.

        has_room   whether a directory has this number of bytes free
        is_due     whether the log of a slot may be retried, as far as the time tells that its tries took
        """
        for slot in self.postponed:
            wanted = self._wanted.get(slot)
            if is_due(slot) and (wanted is None or has_room(*wanted)):
                self.add(slot)

    def _leave(self, slot: int) -> None:
        for lane in self._lanes:
            lane.pop(slot, None)

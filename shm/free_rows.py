"""Which rows of the cluster table are free.

Runs in: the controller process. Released rows are reused first, the latest first; then
those never used.
"""

from __future__ import annotations

from collections.abc import Iterable


class FreeRows:
    """The free rows of `count` rows.

    used   rows that are in use already
    """

    def __init__(self, count: int, used: Iterable[int]) -> None:
        taken = set(used)
        self._count = count
        self._next = max(taken, default=-1) + 1  # from here on no row was ever in use
        self._returned = [row for row in range(self._next) if row not in taken]

    def __len__(self) -> int:
        return len(self._returned) + self._count - self._next

    def peek(self, count: int) -> list[int]:
        """The rows that `take` is going to take."""
        assert count <= len(self), (count, len(self))
        found = self._returned[::-1][:count]
        return [*found, *range(self._next, self._next + count - len(found))]

    def take(self, count: int) -> None:
        """Set the number of rows in use."""
        from_returned = min(count, len(self._returned))
        del self._returned[len(self._returned) - from_returned :]
        self._next += count - from_returned

    def give(self, rows: Iterable[int]) -> None:
        """Release rows."""
        self._returned += rows

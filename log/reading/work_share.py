"""How much work a search may do before it stops, to go on when it has another share.

A cost is a number of bytes: those that were read or came out of a batch, and what else costs time, as so many bytes.

    SEGMENT_COST   a segment that is looked at: its time index opened and bisected
    STAT_COST      the date of a file
    HEADER_COST    a batch's header that is passed
    OPEN_COST      a batch that is opened, whatever is in it
    RECORD_COST    a record that is passed, in Python; the record kernel takes a fiftieth of it

A MiB is 8 ms or less.

Runs in: every process that reads a log; one object for each turn.
"""

from __future__ import annotations

from typing import Final

SEGMENT_COST: Final = 16 << 10
STAT_COST: Final = 2 << 10
HEADER_COST: Final = 128
OPEN_COST: Final = 4 << 10
RECORD_COST: Final = 64

UNBOUNDED: Final = 1 << 62


class WorkShare:
    """What is left of it."""

    __slots__ = ("left",)

    def __init__(self, cost: int = UNBOUNDED) -> None:
        self.left = cost

    @property
    def is_spent(self) -> bool:
        return self.left <= 0

    def spend(self, cost: int) -> None:
        self.left -= cost

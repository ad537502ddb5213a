"""How much one request may have the node open: a bound on what compressed bytes can make of a network worker.

    opened so far <= OPENED_BYTES_MAX + OPENED_RATIO_MAX x bytes of the request

Opened are bytes that went in, bytes that came out, OPENED_RECORD_COST for each record that was checked, and BATCH_COST
for each batch. Bytes that go in count because what comes out may be nothing, and because what does not decompress has cost as much.

A request that costs HEAVY_COST (30 ms or so) ends its turn: the loop serves no other frames in that cycle, beats and
sends, and serves the others first.

Runs in: a network worker, one object for a request that opens anything.
"""

from __future__ import annotations

from typing import Final

from headrace.limits import OPENED_BYTES_MAX, OPENED_RATIO_MAX, OPENED_RECORD_COST

HEAVY_COST: Final = 4 << 20
BATCH_COST: Final = 4 << 10  # 20 us, whatever is in it
VAIN_RATIO: Final = 1_024  # bytes that may have come out of one before it failed

assert HEAVY_COST < OPENED_BYTES_MAX


class OpeningBudget:
    """What is left of it, and what is spent."""

    __slots__ = ("_most", "spent")

    def __init__(self, request_bytes: int = 0) -> None:
        self._most = OPENED_BYTES_MAX + OPENED_RATIO_MAX * request_bytes
        self.spent = 0

    @property
    def limit(self) -> int:
        """Most bytes that may come out of the next batch."""
        return max(0, min(OPENED_BYTES_MAX, self._most - self.spent))

    @property
    def is_heavy(self) -> bool:
        return self.spent >= HEAVY_COST

    def spend(self, size_bytes: int, records: int) -> None:
        self.spent += size_bytes + OPENED_RECORD_COST * records

    def spend_in_vain(self, size_bytes: int) -> None:
        """This number of bytes could not be opened; what came out until then is unknown."""
        self.spent += min(self.limit, VAIN_RATIO * size_bytes)

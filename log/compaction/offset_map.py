"""The last offset of each key: compaction's memory, bounded.

Open addressing over 16-byte hashes of the keys, in three NumPy arrays; 24 bytes a slot, as Kafka's. A key is not kept: two
keys with the same hash are one. Slots are a prime number, the second hash is the step, so that every probe sequence visits
all of them. Whole columns of hashes are looked up at once: by the record kernel where it was built (`protocol/record_kernel.py`), else in
rounds, each of which probes one more slot for those not settled.

Runs in: the housekeeper. Source: Kafka `SkimpyOffsetMap`; Knuth, TAOCP 3, 6.4, algorithm D.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.log.compaction.record_columns import Ints, Words
from headrace.protocol import record_kernel

SLOT_BYTES = 24
SLOTS_MIN = 1021
NOT_FOUND = -1

_put_offsets: Final = record_kernel.put_offsets
_get_offsets: Final = record_kernel.get_offsets


class OffsetMap:
    """Offsets by hash.

    latest_offset   up to here every key is in it, or was compacted before; the caller's to move
    """

    def __init__(self, memory_bytes: int, load_factor: float, keys_expected: int = 2**62) -> None:
        """At most `memory_bytes`; less, where `keys_expected` need less: room for all of them, they may come in one batch."""
        most = max(memory_bytes // SLOT_BYTES, SLOTS_MIN)
        wanted = int(keys_expected / load_factor) + 1
        slots = _prime(max(wanted, SLOTS_MIN), 1) if wanted < most else _prime(most, -1)
        if slots > most:
            slots = _prime(most, -1)
        self._slots = np.uint64(slots)
        self._first = np.zeros(slots, np.uint64)
        self._second = np.zeros(slots, np.uint64)
        self._offsets = np.zeros(slots, np.int64)  # plus one; 0: free
        self.keys_max = max(1, int(slots * load_factor))
        self.latest_offset = NOT_FOUND
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def room(self) -> int:
        """How many keys more may be put."""
        return self.keys_max - self._count

    @property
    def memory_bytes(self) -> int:
        return int(self._first.nbytes + self._second.nbytes + self._offsets.nbytes)

    def put(self, first: Words, second: Words, offsets: Ints) -> None:
        """Remember offsets, which grow, and are above all that were put before. At most `room` new keys."""
        assert len(first) <= self.room
        if _put_offsets is not None:
            self._count += _put_offsets(first, second, offsets, self._first, self._second, self._offsets)
            return
        stored = offsets + 1
        place, step = self._start(first, second)
        open_ = np.arange(len(first))
        while len(open_):
            here = place[open_]
            occupied = self._offsets[here] > 0
            free = open_[~occupied]
            if len(free):
                # Of several that meet in a free slot the last one gets it: NumPy stores in order.
                slots = place[free]
                self._first[slots] = first[free]
                self._second[slots] = second[free]
                self._offsets[slots] = stored[free]
            is_same = (self._first[here] == first[open_]) & (self._second[here] == second[open_])
            known = open_[occupied & is_same]
            self._offsets[place[known]] = stored[known]
            self._count += len(np.unique(place[free])) if len(free) else 0
            open_ = open_[~is_same]
            place[open_] = (place[open_] + step[open_]) % self._slots

    def get(self, first: Words, second: Words) -> Ints:
        """The offset of each hash, NOT_FOUND where it was never put."""
        found = np.full(len(first), NOT_FOUND, np.int64)
        if _get_offsets is not None:
            _get_offsets(self._first, self._second, self._offsets, first, second, found)
            return found
        place, step = self._start(first, second)
        open_ = np.arange(len(first))
        while len(open_):
            here = place[open_]
            stored = self._offsets[here]
            is_same = (self._first[here] == first[open_]) & (self._second[here] == second[open_]) & (stored > 0)
            found[open_[is_same]] = stored[is_same] - 1
            open_ = open_[(stored > 0) & ~is_same]
            place[open_] = (place[open_] + step[open_]) % self._slots
        return found

    def _start(self, first: Words, second: Words) -> tuple[Words, Words]:
        """First slot and step of each probe sequence; the step is neither 0 nor the number of slots."""
        return first % self._slots, second % (self._slots - np.uint64(1)) + np.uint64(1)


def _prime(number: int, step: int) -> int:
    """The next prime from a number on, upwards or downwards; by trial division, some thousand steps for a map of 100 GB."""
    while not all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
        number += step
    return number

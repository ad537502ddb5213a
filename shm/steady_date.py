"""The steady date of a node's life: what ages stored records goes by it, and no process begins it again.

    word    the steady date less the monotonic clock, in nanoseconds; negative where the machine's date is before its own start

It begins with the wall clock's date, follows the monotonic clock, and makes up for a difference at half the pace of time. The
monotonic clock is the machine's. So a process that is made in place of another one reads the date that its predecessor read.

A start believes the wall clock, unless the life before it was killed. Then the regions of that life are still there, and the new life
continues with their date (`kept_offset_ns`): a supervisor that is killed is no reason to believe a date that its node did not.

Runs in: the supervisor alone writes it, at the start and at each tick; every process reads it. The word is stored and loaded whole.
"""

from __future__ import annotations

import os
from typing import Final

from headrace.memory import load_word, store_word
from headrace.shm.layout import PROCESS_STEADY_DATE, WORD
from headrace.shm.region import SHM_DIRECTORY, Region, RegionError

_INDEX: Final = PROCESS_STEADY_DATE // WORD
_SIGN: Final = 1 << 63
_MASK: Final = (1 << 64) - 1


class SteadyDate:
    """The date, in the process table's words."""

    __slots__ = ("_turned_ns", "_words")

    def __init__(self, words: memoryview) -> None:
        self._words = words
        self._turned_ns = 0

    def at_ms(self, monotonic_ns: int) -> int:
        """The date at a time of the monotonic clock."""
        return (monotonic_ns + _signed(load_word(self._words, _INDEX))) // 1_000_000

    # The supervisor's stores

    def begin(self, wall_ns: int, monotonic_ns: int, kept_ns: int = 0) -> None:
        """A life begins.

        kept_ns   the word of a life that was killed, in this boot of the machine; 0: there is none
        """
        self._turned_ns = monotonic_ns
        store_word(self._words, _INDEX, (kept_ns or wall_ns - monotonic_ns) & _MASK)

    def turn(self, wall_ns: int, monotonic_ns: int) -> None:
        """Come closer to the wall clock, by half of the time since the last turn at most."""
        bound_ns, self._turned_ns = (monotonic_ns - self._turned_ns) // 2, monotonic_ns
        offset_ns = _signed(load_word(self._words, _INDEX))
        missing_ns = wall_ns - monotonic_ns - offset_ns
        store_word(self._words, _INDEX, (offset_ns + max(-bound_ns, min(bound_ns, missing_ns))) & _MASK)


def kept_offset_ns(prefix: str, what: str) -> int:
    """The word of a life of this node that was killed; 0 where none was, or its regions are of another version.

    prefix, what   of the regions of this node, and the process table's name among them
    """
    kept = []
    for name in sorted(os.listdir(SHM_DIRECTORY)):
        if not (name.startswith(f"{prefix}-") and name.endswith(f"-{what}")):
            continue
        try:
            region = Region.attach(f"/{name}", writable=False)
        except RegionError:
            continue
        kept.append(_signed(load_word(region.words, _INDEX)))
        region.close()
    return min((one for one in kept if one), default=0)


def _signed(word: int) -> int:
    return word - (1 << 64) if word & _SIGN else word

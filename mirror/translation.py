"""Offsets of a source partition as offsets of its target, exactly. Pure.

The entries of the journal cut the source's offsets into runs, within which offsets grow together:

    source    100 101 102 | marker | 104 105 | removed | 110 ...
    target     40  41  42 |          43  44  |           45  ...
    entries   (100, 40)              (104, 43)           (110, 45)

An offset without a record is translated to where the next record is. Nothing at or above the position is translated further than the
position: what lies there is not in the target yet, so a group never gets ahead of it.

A partition that is copied by key has no such translation, as its records keep no common order: see `places.py`.

Source: Kafka `OffsetSync` and `OffsetSyncStore` (KIP-382), which keep a sample.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace

from headrace.mirror.journal_record import Entry, Position


class Translation:
    """Of one partition: the entries of its latest generation, and how far it is copied."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int, int], Entry] = {}  # by generation, source offset and life
        self._runs: list[Entry] | None = None  # as they apply; None: to be found again
        self._sources: list[int] = []
        self.position: Position | None = None

    def add(self, entry: Entry) -> None:
        """An entry of the journal, in its order: a later one of the same key replaces the earlier one."""
        key = (entry.generation, entry.source, entry.life)
        self._entries.pop(key, None)
        self._entries[key] = entry
        self._runs = None

    def withdraw(self, entry: Entry) -> None:
        self._entries.pop((entry.generation, entry.source, entry.life), None)
        self._runs = None

    def place(self, position: Position) -> None:
        """How far all is copied; an entry at or above it is not true yet.

        A claim repeats what its process had read before. A position that an earlier life wrote in between is further, and still holds.
        """
        known = self.position
        if known is not None and (position.generation, position.source) < (known.generation, known.source):
            position = replace(
                known,
                life=position.life,
                time_ms=position.time_ms,
                holder=position.holder,
                is_released=position.is_released,
            )
        self.position = position
        self._runs = None

    def entries(self) -> list[Entry]:
        """All that were not withdrawn, in the order in which they were written."""
        return list(self._entries.values())

    def translate(self, offset: int) -> int | None:
        """The target offset of the first record at or after a source offset; None: nothing was copied yet.

        offset   below the first that was copied: translated to the first
        """
        position = self.position
        if position is None or position.source < 0:
            return None
        if offset >= position.source:
            return position.target
        runs = self._applied(position)
        index = bisect_right(self._sources, offset) - 1
        if index < 0:
            return runs[0].target if runs else position.target
        run = runs[index]
        following = runs[index + 1] if index + 1 < len(runs) else position
        distance = offset - run.source
        if distance >= following.ordinal - run.ordinal:
            return following.target
        return run.target + distance

    def _applied(self, position: Position) -> list[Entry]:
        if self._runs is None:
            self._runs = applied(
                entry
                for entry in self._entries.values()
                if entry.generation == position.generation and entry.ordinal < position.ordinal
            )
            self._sources = [entry.source for entry in self._runs]
        return self._runs


def applied(entries: Iterable[Entry]) -> list[Entry]:
    """Entries by ordinal; of several with one ordinal the one that was written last."""
    by_ordinal: dict[int, Entry] = {}
    for entry in entries:
        by_ordinal[entry.ordinal] = entry
    return [by_ordinal[ordinal] for ordinal in sorted(by_ordinal)]

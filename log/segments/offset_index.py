"""The offset index of a segment: from a batch's last offset to the batch's position, every `index.interval.bytes`.

    entry   relative offset i32 BE | position i32 BE

An entry is stored as one aligned 8-byte word, so that another process sees all of it or zeros. Position 0 is
never indexed (a segment's first batch needs no entry), so a zero position is the unused tail.

Source: Kafka `OffsetIndex`.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from struct import Struct
from typing import ClassVar, Final

from headrace.errors import CorruptIndex
from headrace.log.disk import Disk
from headrace.log.index_layout import OFFSET_ENTRY
from headrace.log.segments.index_file import IndexFile
from headrace.memory import store_word

_ENTRY: Final = Struct(">ii")
_WORD: Final = Struct("=Q")
Buffer = bytes | memoryview | mmap.mmap

# a module's own, so that it is compiled (`tools/native/struct_functions.py`)
assert _ENTRY.format == OFFSET_ENTRY.format


class OffsetIndex(IndexFile):
    """The writing end."""

    ENTRY_BYTES: ClassVar[int] = OFFSET_ENTRY.size

    def __init__(self, path: Path, base_offset: int, disk: Disk, is_new: bool = False) -> None:
        self._words: memoryview | None = None  # of the map, an entry each
        self._entry = bytearray(_ENTRY.size)  # the next one
        super().__init__(path, disk, is_new)
        self.base_offset = base_offset
        self.entries = count_entries(self._map, self._capacity) if self._map is not None else 0

    def append(self, offset: int, position: int) -> None:
        """Index the batch that ends at `offset` and starts at `position`; raises OSError."""
        assert position > 0
        self._next_slot()
        assert self._words is not None
        _pack_entry(self._entry, 0, offset - self.base_offset, position)
        store_word(self._words, self.entries, _word_at(self._entry, 0))
        self.entries += 1

    def extend(self, packed: bytes) -> None:
        """Entries as the record kernel found them; raises OSError."""
        if packed:
            self._extend(packed)

    def entry(self, index: int) -> tuple[int, int]:
        """(offset, position)."""
        assert self._map is not None
        relative, position = OFFSET_ENTRY.unpack_from(self._map, index * self.ENTRY_BYTES)
        return relative + self.base_offset, position

    def last(self) -> tuple[int, int] | None:
        """The last entry, None where there is none."""
        return self.entry(self.entries - 1) if self.entries else None

    def truncate_to_position(self, position: int) -> None:
        """Drop the entries at or after a position: there is no batch any more."""
        entries = self.entries
        while entries and self.entry(entries - 1)[1] >= position:
            entries -= 1
        self.truncate(entries)

    def check(self, segment_bytes: int) -> None:
        """Compare the ends of the index with what can be.

        raises   CorruptIndex, where offsets or positions don't grow, or a position lies outside of the segment
        """
        if not self.entries:
            return
        first, last = self.entry(0), self.entry(self.entries - 1)
        if first[0] < self.base_offset or last[0] < first[0] or last[1] < first[1] or last[1] >= segment_bytes:
            raise CorruptIndex(f"{self.path}: first entry {first}, last {last}, segment of {segment_bytes} bytes")

    def _remap(self, fd: int) -> None:
        super()._remap(fd)
        self._words = memoryview(self._map).cast("Q") if self._map is not None else None

    def _unmap(self) -> None:
        if self._words is not None:
            self._words.release()
            self._words = None
        super()._unmap()


def _pack_entry(buffer: bytearray, place: int, relative_offset: int, position: int) -> None:
    _ENTRY.pack_into(buffer, place, relative_offset, position)


def _word_at(buffer: bytearray, place: int) -> int:
    return int(_WORD.unpack_from(buffer, place)[0])


def count_entries(buffer: Buffer, capacity: int) -> int:
    """Entries before the zero tail, by bisection."""
    low, high = 0, capacity
    while low < high:
        middle = (low + high) // 2
        if OFFSET_ENTRY.unpack_from(buffer, middle * OFFSET_ENTRY.size)[1]:
            low = middle + 1
        else:
            high = middle
    return low

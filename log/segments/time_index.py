"""The time index of a segment: the largest timestamp so far, and the last offset of the batch that has it.

    entry   timestamp i64 BE | relative offset i32 BE

Timestamps grow from entry to entry. A timestamp of 0 is the unused tail, so 0 and less are never indexed. The
entries are not aligned: a reader in another process may see the last one half stored, and leaves it out.

Source: Kafka `TimeIndex`.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from struct import Struct
from typing import ClassVar, Final

from headrace.errors import CorruptIndex
from headrace.log.disk import Disk
from headrace.log.index_layout import TIME_ENTRY
from headrace.log.segments.index_file import IndexFile

_TIMESTAMP: Final = Struct(">q")
_OFFSET: Final = Struct(">i")
Buffer = bytes | memoryview | mmap.mmap


class TimeIndex(IndexFile):
    """The writing end."""

    ENTRY_BYTES: ClassVar[int] = TIME_ENTRY.size

    def __init__(self, path: Path, base_offset: int, disk: Disk, is_new: bool = False) -> None:
        super().__init__(path, disk, is_new)
        self.base_offset = base_offset
        self.entries = count_entries(self._map, self._capacity) if self._map is not None else 0
        self.last_timestamp = self.entry(self.entries - 1)[0] if self.entries else -1

    def append(self, timestamp_ms: int, offset: int) -> None:
        """Index a timestamp, if it is larger than the last one; raises OSError."""
        if timestamp_ms <= max(self.last_timestamp, 0):
            return
        mapped = self._next_slot()
        start = self.entries * self.ENTRY_BYTES
        _OFFSET.pack_into(mapped, start + _TIMESTAMP.size, offset - self.base_offset)
        _TIMESTAMP.pack_into(mapped, start, timestamp_ms)
        self.entries += 1
        self.last_timestamp = timestamp_ms

    def extend(self, packed: bytes) -> None:
        """Entries as the record kernel found them, which grow; raises OSError."""
        if packed:
            self._extend(packed)
            self.last_timestamp = _TIMESTAMP.unpack_from(packed, len(packed) - self.ENTRY_BYTES)[0]

    def entry(self, index: int) -> tuple[int, int]:
        """(timestamp, offset)."""
        assert self._map is not None
        timestamp, relative = TIME_ENTRY.unpack_from(self._map, index * self.ENTRY_BYTES)
        return timestamp, relative + self.base_offset

    def truncate(self, entries: int) -> None:
        super().truncate(entries)
        self.last_timestamp = self.entry(entries - 1)[0] if entries else -1

    def truncate_to_offset(self, offset: int) -> None:
        """Drop the entries at or after an offset."""
        entries = self.entries
        while entries and self.entry(entries - 1)[1] >= offset:
            entries -= 1
        self.truncate(entries)

    def check(self) -> None:
        """raises   CorruptIndex, where timestamps or offsets don't grow from the first to the last entry"""
        if not self.entries:
            return
        first, last = self.entry(0), self.entry(self.entries - 1)
        if last[0] < first[0] or last[1] < first[1] or first[1] < self.base_offset:
            raise CorruptIndex(f"{self.path}: first entry {first}, last {last}")


def count_entries(buffer: Buffer, capacity: int) -> int:
    """Entries before the zero tail, by bisection."""
    low, high = 0, capacity
    while low < high:
        middle = (low + high) // 2
        if TIME_ENTRY.unpack_from(buffer, middle * TIME_ENTRY.size)[0]:
            low = middle + 1
        else:
            high = middle
    return low

"""The time index of a segment: the largest timestamp so far, and the offset that has it.

    entry   timestamp i64 BE | relative offset i32 BE

Timestamps grow from entry to entry. The relative offset is stored before the timestamp: a reader in another
process that sees a timestamp sees its offset. A timestamp of 0 is the unused tail.

Source: Kafka `TimeIndex`.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from struct import Struct

from headrace.errors import CorruptIndex
from headrace.log.disk import Disk
from headrace.log.index_file import IndexFile

ENTRY = Struct(">qi")
_TIMESTAMP = Struct(">q")
_OFFSET = Struct(">i")
Buffer = bytes | memoryview | mmap.mmap


class TimeIndex(IndexFile):
    """The writing end."""

    ENTRY_BYTES = ENTRY.size

    def __init__(self, path: Path, base_offset: int, disk: Disk) -> None:
        super().__init__(path, disk)
        self.base_offset = base_offset
        self.entries = count_entries(self._map, self._capacity) if self._map is not None else 0
        self.last_timestamp = self.entry(self.entries - 1)[0] if self.entries else -1

    def append(self, timestamp_ms: int, offset: int) -> None:
        """Index a timestamp, if it is larger than the last one."""
        if timestamp_ms <= max(self.last_timestamp, 0):
            return
        mapped = self._reserve()
        start = self.entries * self.ENTRY_BYTES
        _OFFSET.pack_into(mapped, start + 8, offset - self.base_offset)
        _TIMESTAMP.pack_into(mapped, start, timestamp_ms)
        self.entries += 1
        self.last_timestamp = timestamp_ms

    def entry(self, index: int) -> tuple[int, int]:
        """(timestamp, offset)."""
        assert self._map is not None
        timestamp, relative = ENTRY.unpack_from(self._map, index * self.ENTRY_BYTES)
        return timestamp, relative + self.base_offset

    def truncate_to_offset(self, offset: int) -> None:
        """Drop the entries at or behind an offset."""
        entries = self.entries
        while entries and self.entry(entries - 1)[1] >= offset:
            entries -= 1
        self.truncate(entries)
        self.last_timestamp = self.entry(entries - 1)[0] if entries else -1

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
        if ENTRY.unpack_from(buffer, middle * ENTRY.size)[0]:
            low = middle + 1
        else:
            high = middle
    return low


def lookup(buffer: Buffer, capacity: int, base_offset: int, timestamp_ms: int) -> tuple[int, int]:
    """(timestamp, offset) of the last entry below `timestamp_ms`; (-1, base_offset) where none is."""
    low, high = 0, capacity
    found = (-1, 0)
    while low < high:
        middle = (low + high) // 2
        timestamp, relative = ENTRY.unpack_from(buffer, middle * ENTRY.size)
        if timestamp and timestamp < timestamp_ms:
            found = (timestamp, relative)
            low = middle + 1
        else:
            high = middle
    return found[0], found[1] + base_offset

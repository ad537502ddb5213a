"""The transaction index of a segment, read: the transactions whose abort marker lies in it (`TransactionIndex` writes it).

Entries are written whole, in the order of markers; a last one that is cut short does not count. A segment may have millions of
them. So a fetch bisects to the first one that it needs, and stops at the last: it costs what it tells. A pass over all of them, at
an opening, reads block by block.

Runs in: network workers, for read_committed; the partition worker that owns the log, while it opens it.
Source: Kafka `TransactionIndex`; KIP-98.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from headrace.errors import CorruptIndex
from headrace.log.index_layout import TXN_ENTRY, TXN_VERSION, AbortedTransaction

BLOCK_ENTRIES: Final = 128  # that a lookup reads at once
PASS_ENTRIES: Final = 1 << 16  # that a pass over all of them reads at once, between two signs of life

_MARKER: Final = Struct(">q")
_MARKER_POSITION: Final = 18  # in an entry


class Checked(NamedTuple):
    """What a pass over an index found.

    below          how many entries have their marker below an offset
    last_marker    of the last of these; -1: there is none
    first_marker   of all entries; -1: there is none
    end_marker     of the last of all entries
    """

    below: int
    last_marker: int
    first_marker: int
    end_marker: int


def find_aborted(path: Path, offset: int, range_end: int, found: list[AbortedTransaction]) -> bool | None:
    """Add the transactions whose marker lies at or after an offset and whose first record lies before the end of a range.

    returns   True: what ended later than the last of them began after the range; False: a later segment may have more; None: there
              is no such file
    raises    CorruptIndex, where an entry that is read can't be; OSError
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        place = _first_from(fd, path, offset)
        marker_offset = -1
        while True:
            block = os.pread(fd, BLOCK_ENTRIES * TXN_ENTRY.size, place * TXN_ENTRY.size)
            entries = _entries_in(block, path, marker_offset)
            for one in entries:
                if one.last_offset >= offset and one.first_offset < range_end:
                    found.append(one)
                if one.last_stable_offset >= range_end:
                    return True
            if len(entries) < BLOCK_ENTRIES:
                return False
            marker_offset = entries[-1].last_offset
            place += BLOCK_ENTRIES
    finally:
        os.close(fd)


def check_entries(path: Path, offset: int, progress: Callable[[int], None] | None = None) -> Checked:
    """A pass over all entries of an index; of no file, as of one without entries.

    progress   called with 0 now and then: a sign of life
    raises     CorruptIndex, where an entry can't be; OSError
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return Checked(0, -1, -1, -1)
    try:
        place = count = 0
        last = first = end = -1
        while True:
            entries = _entries_in(os.pread(fd, PASS_ENTRIES * TXN_ENTRY.size, place * TXN_ENTRY.size), path, end)
            if entries:
                first = first if first >= 0 else entries[0].last_offset
                end = entries[-1].last_offset
                below = entries if end < offset else [one for one in entries if one.last_offset < offset]
                count += len(below)
                last = below[-1].last_offset if below else last
            if len(entries) < PASS_ENTRIES:
                return Checked(count, last, first, end)
            place += PASS_ENTRIES
            if progress is not None:
                progress(0)
    finally:
        os.close(fd)


def check_transaction_index(
    path: Path, base_offset: int, end_offset: int, progress: Callable[[int], None] | None = None
) -> None:
    """Compare an index with the segment it belongs to.

    progress   as of `check_entries`
    raises     CorruptIndex, where an entry can't be, or its marker lies outside of the segment; OSError
    """
    found = check_entries(path, end_offset, progress)
    if found.first_marker >= 0 and not base_offset <= found.first_marker <= found.end_marker < end_offset:
        raise CorruptIndex(f"{path}: markers outside of {base_offset} to {end_offset}")


def read_aborted(path: Path) -> list[AbortedTransaction]:
    """The entries of an index, in the order of markers; none where there is no file.

    raises   CorruptIndex, where an entry can't be; OSError
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return _entries_in(data, path, -1)


def _entries_in(data: bytes, path: Path, marker_offset: int) -> list[AbortedTransaction]:
    """Those of a part of an index; the marker before it is known. raises CorruptIndex"""
    entries = []
    for version, producer_id, first_offset, last_offset, stable in TXN_ENTRY.iter_unpack(
        data[: len(data) - len(data) % TXN_ENTRY.size]
    ):
        if version != TXN_VERSION:
            raise CorruptIndex(f"{path}: entry of version {version}")
        entry = AbortedTransaction(producer_id, first_offset, last_offset, stable)
        if not 0 <= first_offset <= last_offset or stable < 0 or last_offset <= marker_offset:
            raise CorruptIndex(f"{path}: {entry}")
        marker_offset = last_offset
        entries.append(entry)
    return entries


def _first_from(fd: int, path: Path, offset: int) -> int:
    """An entry before which all markers lie below an offset, at most a block before the first that does not. raises OSError"""
    low, high = 0, os.fstat(fd).st_size // TXN_ENTRY.size
    while high - low >= BLOCK_ENTRIES:
        middle = (low + high) // 2
        data = os.pread(fd, TXN_ENTRY.size, middle * TXN_ENTRY.size)
        if len(data) < TXN_ENTRY.size:
            raise CorruptIndex(f"{path}: truncated at entry {middle}")
        if _MARKER.unpack_from(data, _MARKER_POSITION)[0] < offset:
            low = middle
        else:
            high = middle
    return low


assert TXN_ENTRY.size - 2 * _MARKER.size == _MARKER_POSITION

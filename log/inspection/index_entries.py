"""The entries of the three index files, read in blocks up to the zeros at their end, whatever lies in them.

    .index       relative offset i32 | position i32
    .timeindex   timestamp i64 | relative offset i32
    .txnindex    version i16 = 0 | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

Source: Kafka `OffsetIndex`, `TimeIndex`, `TransactionIndex`, `AbortedTxn`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from headrace.log.index_layout import OFFSET_ENTRY, TIME_ENTRY, TXN_ENTRY

BLOCK_ENTRIES = 4096


class Indexed(NamedTuple):
    """An entry of an offset index."""

    place: int  # its byte in the index file
    offset: int
    position: int


class Timed(NamedTuple):
    """An entry of a time index."""

    place: int
    timestamp_ms: int
    offset: int


class Aborted(NamedTuple):
    """An entry of a transaction index: `last_offset` is that of the abort marker."""

    place: int
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def offset_entries(path: Path, base_offset: int) -> Iterator[Indexed]:
    """Up to the zeros at the end; raises OSError."""
    for place, (relative, position) in _entries(path, OFFSET_ENTRY):
        if not position and not relative and (place or not _has_more(path, OFFSET_ENTRY)):
            return
        yield Indexed(place, base_offset + relative, position)


def time_entries(path: Path, base_offset: int) -> Iterator[Timed]:
    """Up to the zeros at the end; raises OSError."""
    for place, (timestamp_ms, relative) in _entries(path, TIME_ENTRY):
        if not timestamp_ms and not relative:
            return
        yield Timed(place, timestamp_ms, base_offset + relative)


def aborted_entries(path: Path) -> Iterator[Aborted]:
    """All of them: the file has no reserve. raises OSError"""
    for place, fields in _entries(path, TXN_ENTRY):
        yield Aborted(place, *fields)


def _entries(path: Path, entry: Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    with open(path, "rb") as file:
        place = 0
        while block := file.read(BLOCK_ENTRIES * entry.size):
            for fields in entry.iter_unpack(block[: len(block) - len(block) % entry.size]):
                yield place, fields
                place += entry.size


def _has_more(path: Path, entry: Struct) -> bool:
    """Whether the second entry is no zero: the first one is real then, though it is all zeros."""
    with open(path, "rb") as file:
        return any(os.pread(file.fileno(), entry.size, entry.size))

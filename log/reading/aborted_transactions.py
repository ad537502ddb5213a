"""The transaction index of a segment, read: the transactions whose abort marker lies in it (`TransactionIndex` writes it).

Entries are written whole, in the order of markers; a last one that is cut short does not count.

Runs in: network workers, for read_committed; the partition worker that owns the log, while it opens it.
Source: Kafka `TransactionIndex`; KIP-98.
"""

from __future__ import annotations

from pathlib import Path

from headrace.errors import CorruptIndex
from headrace.log.index_layout import TXN_ENTRY, TXN_VERSION, AbortedTransaction


def read_aborted(path: Path) -> list[AbortedTransaction]:
    """The entries of an index, in the order of markers; none where there is no file.

    raises   CorruptIndex, where an entry can't be; OSError
    """
    entries = read_entries(path)
    marker_offset = -1
    for entry in entries:
        is_possible = 0 <= entry.first_offset <= entry.last_offset and entry.last_stable_offset >= 0
        if not is_possible or entry.last_offset <= marker_offset:
            raise CorruptIndex(f"{path}: {entry}")
        marker_offset = entry.last_offset
    return entries


def check_transaction_index(path: Path, base_offset: int, end_offset: int) -> None:
    """Compare an index with the segment it belongs to.

    raises   CorruptIndex, where an entry can't be, or its marker lies outside of the segment
    """
    entries = read_aborted(path)
    if entries and not base_offset <= entries[0].last_offset <= entries[-1].last_offset < end_offset:
        raise CorruptIndex(f"{path}: markers outside of {base_offset} to {end_offset}")


def read_entries(path: Path) -> list[AbortedTransaction]:
    """The entries as they stand, unchecked but for their version. raises CorruptIndex, OSError"""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    entries = []
    for version, *fields in TXN_ENTRY.iter_unpack(data[: len(data) - len(data) % TXN_ENTRY.size]):
        if version != TXN_VERSION:
            raise CorruptIndex(f"{path}: entry of version {version}")
        entries.append(AbortedTransaction(*fields))
    return entries

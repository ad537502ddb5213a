"""Which batches read_committed leaves out: those of transactions that were aborted.

An aborted transaction is an interval of one producer's offsets: (producer id, first offset, offset of the abort marker). A producer's
transactions follow one another, so the one that a batch may belong to is found by bisection (`decode.is_aborted`).

    files     the transaction indexes of the segments from the range's start on; a marker may lie far after the range's end
    network   Fetch names producer and first offset; the interval ends with that producer's next marker in the answer, or with the answer

Runs in: Spark's Python workers and readers. Indexes are read before segments are opened: compaction drops a transaction's entry when
none of its records is left, so an older index beside a newer segment has entries too many, never too few.

Source: KIP-98; Kafka `TransactionIndex`, `CompletedFetch.nextFetchedRecord`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from headrace.errors import CorruptIndex
from headrace.log.names import LOG_SUFFIX, SWAP_SUFFIX, SWAPPED_SUFFIX, TXN_INDEX_SUFFIX, bases_among, path_of
from headrace.log.reading.aborted_transactions import read_aborted
from headrace.log.reading.segment_file import SegmentFile
from headrace.protocol.message_set import iterate_entries
from headrace.protocol.record_batch import MAGIC_V2, CorruptRecord, parse_header

LISTINGS = 3  # of a directory in which compaction works
OFFSET_LAST = 2**63 - 1


def aborted_table(transactions: Iterable[tuple[int, int, int]]) -> Any:
    """(producer id, first offset, last offset) as the kernels take them: int64 (3, count), sorted."""
    found = sorted(transactions)
    return np.array(found, np.int64).reshape(len(found), 3).T.copy()


NONE_ABORTED = aborted_table(())


def aborted_in_files(directory: Path, start: int, end: int, decided: int) -> Any:
    """The aborted transactions with records in start <= offset < end, by a partition directory's indexes.

    decided   an offset below which all markers lie that decide about the range (the high watermark when it was planned)
    returns   an `aborted_table`; None if the files can't tell: they end before `decided`, an index is damaged, a swap is in progress
    """
    try:
        for _ in range(LISTINGS):
            names = _listed(directory)
            if any(name.endswith((SWAP_SUFFIX, SWAPPED_SUFFIX)) for name in names):
                return None
            is_whole = _reaches(directory, names, decided)  # before the indexes: files of a follower grow meanwhile
            found = _indexed(directory, names, start, end)
            if _listed(directory) == names:
                return found if is_whole else None
    except (OSError, CorruptIndex):
        return None
    return None


def aborted_in_fetch(data: Any, told: Iterable[tuple[int, int]]) -> Any:
    """The same of the bytes of a Fetch, whose response has (producer id, first offset)."""
    wanted = sorted(told)
    if not wanted:
        return NONE_ABORTED
    ends: dict[int, list[int]] = {producer_id: [] for producer_id, _first in wanted}
    view = memoryview(data)
    with suppress(CorruptRecord):  # the walk names it
        for position, size, magic in iterate_entries(view):
            if magic == MAGIC_V2:
                header = parse_header(view[position : position + size])
                if header.is_control and header.producer_id in ends:
                    ends[header.producer_id].append(header.base_offset)
    return aborted_table(
        (producer_id, first, next((end for end in ends[producer_id] if end > first), OFFSET_LAST))
        for producer_id, first in wanted
    )


def _listed(directory: Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if LOG_SUFFIX in name or TXN_INDEX_SUFFIX in name)


def _indexed(directory: Path, names: list[str], start: int, end: int) -> Any:
    """raises   OSError, CorruptIndex"""
    bases = bases_among(names, LOG_SUFFIX)
    first = max((base for base in bases if base <= start), default=0)
    found = []
    for base in bases_among(names, TXN_INDEX_SUFFIX):
        if base < first:
            continue
        for one in read_aborted(path_of(directory, base, TXN_INDEX_SUFFIX)):
            if one.last_offset >= start and one.first_offset < end:
                found.append((one.producer_id, one.first_offset, one.last_offset))
            if one.last_stable_offset >= end:
                return aborted_table(found)  # what ended later began after the range
    return aborted_table(found)


def _reaches(directory: Path, names: list[str], decided: int) -> bool:
    """Whether the log goes up to an offset. raises OSError"""
    bases = bases_among(names, LOG_SUFFIX)
    if not bases:
        return False
    segment = SegmentFile(directory, bases[-1])
    return bases[-1] >= decided or segment.find(decided - 1, segment.size_bytes()) is not None

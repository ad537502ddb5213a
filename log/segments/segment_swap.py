"""A compacted segment takes the place of those it was made from.

    .cleaned    the housekeeper's: written and synced by it, garbage whenever it is not at work
    .swap       the owner's: complete, and going in. The `.log.swap` is renamed last, and goes last

    1  .index.cleaned, ... -> .swap, then .log.cleaned -> .log.swap: from here on the swap happens, crash or not
    2  the old index of the first segment away: its entries would point into other batches
    3  a second name of .log.swap renamed over the first segment's .log: readers find the old batches or the new ones
    4  .index.swap -> .index, and so on; the transaction index only now, and over the old one: a reader of the old
       batches must not miss an aborted transaction
    5  the other segments -> .deleted, the last one first
    6  .log.swap away

Between 3 and 5 the new segment and some old ones hold the same offsets; a reader that goes from segment to segment by offset
reads each record once. A crash at any point: steps 2 to 6 are made again when the log is opened. The new segment ends where
the last of the old ones did (`compaction.py` sees to that), so that its last offset tells which go.

Nothing is synced here: renames in one directory reach the disk in their order on the journalled file systems we know, and the
housekeeper syncs the directory before it counts the swap as made.

Runs in: the partition worker that owns the log. Source: Kafka `LocalLog.replaceSegments`, `LogLoader`.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from headrace.log.batch_walk import walk
from headrace.log.disk import Disk
from headrace.log.names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SUFFIXES,
    SWAP_SUFFIX,
    SWAPPED_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    base_of,
    path_of,
    segment_bases,
)
from headrace.log.segments.segment_deletion import retire_file, retire_segment

_SIDE_SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)

_log: Final = logging.getLogger(__name__)


def swap_segments(directory: Path, bases: list[int], disk: Disk) -> None:
    """Put the `.cleaned` files of the first segment in the place of all of them; they are neighbours, and rolled.

    raises   FileNotFoundError before anything was done, where there are no such files; OSError
    """
    base = bases[0]
    if not path_of(directory, base, LOG_SUFFIX + CLEANED_SUFFIX).exists():
        raise FileNotFoundError(f"{directory}: no cleaned segment {base}")
    _rename(directory, base, TXN_INDEX_SUFFIX + CLEANED_SUFFIX, TXN_INDEX_SUFFIX + SWAP_SUFFIX, disk)
    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX):
        disk.rename(path_of(directory, base, suffix + CLEANED_SUFFIX), path_of(directory, base, suffix + SWAP_SUFFIX))
    _go_in(directory, base, bases[1:], disk)


def finish_swaps(directory: Path, disk: Disk) -> int:
    """Make the swaps that a crash interrupted, and remove what a crash left of smaller steps; returns how many swaps.

    raises   OSError
    """
    done = 0
    for name in sorted(os.listdir(directory)):
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            base = base_of(name.removesuffix(LOG_SUFFIX + SWAP_SUFFIX))
            if base is None:
                continue  # not ours
            last_offset = _last_offset(directory / name, base)
            others = [other for other in _bases_of_any_file(directory) if base < other <= last_offset]
            _go_in(directory, base, others, disk)
            _log.warning("swap finished directory=%s segment=%d replaced=%d", directory, base, len(others))
            done += 1
    kept = set(segment_bases(directory))
    for name in os.listdir(directory):
        stem, _, suffix = name.partition(".")
        base = base_of(stem)
        is_orphan = f".{suffix}" in _SIDE_SUFFIXES and base is not None and base not in kept
        if is_orphan or name.endswith((SWAP_SUFFIX, SWAPPED_SUFFIX)):  # without its log: not all of it was there
            disk.remove_file(directory / name)
    return done


def _go_in(directory: Path, base: int, others: list[int], disk: Disk) -> None:
    """Steps 2 to 6; can be made again from any point."""
    swap = path_of(directory, base, LOG_SUFFIX + SWAP_SUFFIX)
    target = path_of(directory, base, LOG_SUFFIX)
    if not (target.exists() and target.samefile(swap)):
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            retire_file(path_of(directory, base, suffix), disk)
        second = path_of(directory, base, LOG_SUFFIX + SWAPPED_SUFFIX)
        disk.remove_file(second)
        disk.link(swap, second)
        disk.rename(second, target)
    for suffix in _SIDE_SUFFIXES:
        _rename(directory, base, suffix + SWAP_SUFFIX, suffix, disk)
    for other in sorted(others, reverse=True):
        retire_segment(directory, other, disk)
    disk.unlink(swap)


def _rename(directory: Path, base: int, suffix: str, target_suffix: str, disk: Disk) -> None:
    try:
        disk.rename(path_of(directory, base, suffix), path_of(directory, base, target_suffix))
    except FileNotFoundError:
        pass


def _last_offset(path: Path, base: int) -> int:
    """Of the last batch in a file; before `base`, where there is none."""
    last_offset = base - 1
    with open(path, "rb") as file:
        for step in walk(file.fileno(), 0, os.fstat(file.fileno()).st_size, base, is_checked=False):
            last_offset = step[3]
    return last_offset


def _bases_of_any_file(directory: Path) -> set[int]:
    stems = (name.partition(".") for name in os.listdir(directory))
    bases = {base_of(stem) for stem, _, suffix in stems if f".{suffix}" in SUFFIXES}
    return {base for base in bases if base is not None}

"""A compacted segment takes the place of those it was made from.

    .log.cleaned                the housekeeper's: written and synced by it, with all names, garbage whenever it is not at work
    .index.swap, .group.swap    the same, as long as there is no .log.swap (`compaction/cleaned_segment.py`)
    .log.swap                   the owner's: complete, and going in, with the other `.swap` files

    1  .log.cleaned -> .log.swap; the directory is synced: from here on the swap happens, crash or not
    2  the old index of the first segment away: its entries would point into other batches
    3  a second name of .log.swap renamed over the first segment's .log: readers find the old batches or the new ones
    4  .index.swap -> .index, and so on; the transaction index only now, and over the old one: a reader of the old
       batches must not miss an aborted transaction
    5  the other segments -> .deleted, the last one first; the directory is synced
    6  .log.swap away, then .group.swap

Between 3 and 5 the new segment and some old ones hold the same offsets; a reader that goes from segment to segment by offset
reads each record once. The group's file says up to which offset old ones go (`log/group_file.py`): the last batches of the group may
be gone, so that the new segment does not. A swap without that file is Kafka's, or an older version's: up to its last batch.

A crash of the process: steps 2 to 6 are made again when the log is opened, from the sync on. A crash of the machine loses
changes of names in any order, but none from before a sync. Either .log.swap is not there: nothing was done. Or it is, and each
of the other names is from before the swap or from after it: all steps are made again.

A `.cleaned` file beside a `.log.swap` says that the first sync had not returned, or that Kafka was interrupted while it renamed
its set: the swap is taken back, as Kafka does.

The two syncs wait in the owner, once for each new segment (docs/decisions/008).

Runs in: the partition worker that owns the log. Source: Kafka `LocalLog.replaceSegments`, `LogLoader`, KAFKA-6264.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from headrace.log.batch_walk import walk
from headrace.log.disk import Disk
from headrace.log.group_file import read_group
from headrace.log.names import (
    CLEANED_SUFFIX,
    GROUP_SUFFIX,
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
_ALL_SUFFIXES: Final = (*_SIDE_SUFFIXES, GROUP_SUFFIX, LOG_SUFFIX)

_log: Final = logging.getLogger(__name__)


def swap_segments(directory: Path, bases: list[int], end_offset: int, disk: Disk) -> None:
    """Put the `.cleaned` files of the first segment in the place of all of them; they are neighbours, and rolled.

    end_offset   where the last of them ends: what the files were written for
    raises       FileNotFoundError before anything of the log was changed, where there are no such files; OSError
    """
    base = bases[0]
    if read_group(path_of(directory, base, GROUP_SUFFIX + SWAP_SUFFIX)) != end_offset:
        raise FileNotFoundError(f"{directory}: no cleaned segment {base} up to {end_offset}")
    disk.rename(
        path_of(directory, base, LOG_SUFFIX + CLEANED_SUFFIX), path_of(directory, base, LOG_SUFFIX + SWAP_SUFFIX)
    )
    _go_in(directory, base, bases[1:], disk)


def finish_swaps(directory: Path, disk: Disk) -> int:
    """Make the swaps that a crash interrupted, and remove what a crash left of smaller steps; returns how many swaps.

    raises   OSError
    """
    done = 0
    for name in sorted(os.listdir(directory)):
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            base = base_of(name.removesuffix(LOG_SUFFIX + SWAP_SUFFIX))
            if base is not None:  # else not ours
                done += _finish(directory, base, disk)
    kept = set(segment_bases(directory))
    for name in os.listdir(directory):
        stem, _, suffix = name.partition(".")
        base = base_of(stem)
        is_orphan = f".{suffix}" in _SIDE_SUFFIXES and base is not None and base not in kept
        is_left_by_kafka = f".{suffix}" == GROUP_SUFFIX and base is not None  # it takes `.swap` off every name
        if is_orphan or is_left_by_kafka or name.endswith((SWAP_SUFFIX, SWAPPED_SUFFIX)):  # not all of it was there
            disk.remove_file(directory / name)
    return done


def _finish(directory: Path, base: int, disk: Disk) -> bool:
    """One swap that a crash interrupted; returns whether it was made, and not taken back."""
    if any(path_of(directory, base, suffix + CLEANED_SUFFIX).exists() for suffix in _ALL_SUFFIXES):
        _take_back(directory, base, disk)
        return False
    swap = path_of(directory, base, LOG_SUFFIX + SWAP_SUFFIX)
    end_offset = read_group(path_of(directory, base, GROUP_SUFFIX + SWAP_SUFFIX))
    if end_offset is None:
        end_offset = _last_offset(swap, base, disk) + 1
    others = [other for other in _bases_of_any_file(directory) if base < other < end_offset]
    _go_in(directory, base, others, disk)
    _log.warning("swap finished directory=%s segment=%d replaced=%d", directory, base, len(others))
    return True


def _take_back(directory: Path, base: int, disk: Disk) -> None:
    """A swap that was not on the disk as a whole. What says that goes last: a crash in here comes here again."""
    disk.remove_file(path_of(directory, base, LOG_SUFFIX + SWAP_SUFFIX))
    disk.sync_directory(directory)
    for suffix in _ALL_SUFFIXES:
        for state in (SWAP_SUFFIX, CLEANED_SUFFIX):
            disk.remove_file(path_of(directory, base, suffix + state))
    _log.warning("swap rolled back, not all of its names were on disk directory=%s segment=%d", directory, base)


def _go_in(directory: Path, base: int, others: list[int], disk: Disk) -> None:
    """The sync of step 1, and steps 2 to 6; can be made again from any point."""
    disk.sync_directory(directory)
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
    disk.sync_directory(directory)
    disk.unlink(swap)
    disk.remove_file(path_of(directory, base, GROUP_SUFFIX + SWAP_SUFFIX))


def _rename(directory: Path, base: int, suffix: str, target_suffix: str, disk: Disk) -> None:
    try:
        disk.rename(path_of(directory, base, suffix), path_of(directory, base, target_suffix))
    except FileNotFoundError:
        pass


def _last_offset(path: Path, base: int, disk: Disk) -> int:
    """Of the last batch in a file; before `base`, where there is none."""
    last_offset = base - 1
    with open(path, "rb") as file:
        for step in walk(file.fileno(), 0, os.fstat(file.fileno()).st_size, base, is_checked=False, disk=disk):
            last_offset = step.last_offset
    return last_offset


def _bases_of_any_file(directory: Path) -> set[int]:
    stems = (name.partition(".") for name in os.listdir(directory))
    bases = {base_of(stem) for stem, _, suffix in stems if f".{suffix}" in SUFFIXES}
    return {base for base in bases if base is not None}

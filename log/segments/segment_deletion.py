"""Segments that left their log: renamed to `.deleted`, removed when `file.delete.delay.ms` has passed.

    00000000000000001234.log.deleted | .index.deleted | .timeindex.deleted | .txnindex.deleted

Runs in: the partition worker renames; from then on a file belongs to the housekeeper, which removes it. The delay is
for readers that have the name and not yet the descriptor. It counts from when the housekeeper first saw the name, by the
monotonic clock: a file's own times are dates, and a date may be set.

A crash between the renames of one segment leaves indexes without a log: `log_loader.py` removes such.

Source: Kafka `LocalLog.deleteSegmentFiles`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from headrace.log.disk import Disk
from headrace.log.names import DELETED_SUFFIX, SUFFIXES, path_of

_DISK: Final = Disk()


def retire_segment(directory: Path, base_offset: int, disk: Disk) -> None:
    """Take a segment out of its log, the batches first. Can be run again. raises OSError"""
    for suffix in SUFFIXES:
        retire_file(path_of(directory, base_offset, suffix), disk)


def retire_file(path: Path, disk: Disk) -> None:
    """Rename a file to `.deleted`, if it is there. raises OSError"""
    try:
        disk.rename(path, path.with_name(path.name + DELETED_SUFFIX))
    except FileNotFoundError:
        pass


def remove_retired(directory: Path, seen: dict[str, int], monotonic_ms: int, delay_ms: int, disk: Disk = _DISK) -> int:
    """Remove the files whose delay has passed; returns how many. raises OSError

    seen   when each name was first seen; is brought up to date, and has those that are left
    """
    names = [name for name in os.listdir(directory) if name.endswith(DELETED_SUFFIX)]
    for gone in seen.keys() - set(names):
        del seen[gone]
    removed = 0
    for name in names:
        if monotonic_ms - seen.setdefault(name, monotonic_ms) >= delay_ms:
            disk.unlink(directory / name)
            del seen[name]
            removed += 1
    return removed

"""How far the log in a directory reaches: read, and not changed. Where a replica lies twice, the one that reaches further is kept.

    what was synced (below the recovery point of its own directory)    believed; of the last segment the headers show where it ends
    what follows                                                       every batch checked, up to the first that is damaged, or to a
                                                                       hole at which opening would cut it

Records of later leader epochs come before longer logs: what was written in an older one after that was never committed.

Runs in: the partition worker that owns the log, before it opens it.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from headrace.ids import NO_EPOCH
from headrace.log.batch_walk import walk_runs
from headrace.log.disk import Disk
from headrace.log.names import LOG_SUFFIX, path_of, segment_bases
from headrace.log.recovery.recovery import Progress
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, OFFSET_MAX, BadCheckpoint, read_leader_epochs
from headrace.log.state.compacted_offset import is_loss
from headrace.log.state.leader_epochs import written
from headrace.log.state.truncation_mark import TruncationMark


class LogReach(NamedTuple):
    """Compared in this order.

    leader_epoch   of its last record, -1: none
    end_offset     after its last good batch; -1: there is no segment
    """

    leader_epoch: int
    end_offset: int


def log_reach(
    directory: Path,
    recovery_point: int = 0,
    progress: Progress | None = None,
    *,
    is_compacted: bool = False,
    is_sole: bool = False,
) -> LogReach:
    """How far a log reaches. raises OSError

    recovery_point   below it everything was synced; OFFSET_MAX: the last stop closed the log
    progress         called now and then while this takes long
    is_compacted     the topic's policy
    is_sole          no other replica has what this one may have lost: what follows a hole is kept
    """
    bases = segment_bases(directory)
    if not bases:
        return LogReach(NO_EPOCH, -1)
    synced = TruncationMark(directory, Disk()).bound(recovery_point)
    epoch, end = NO_EPOCH, bases[0]
    for base, following in pairwise(bases):
        if following <= synced:
            end = following
            continue
        if base < end:
            break  # it lies twice: what was cut came back
        found, end, is_whole = _reach_in(directory, base, progress, is_checked=True)
        epoch = max(epoch, found)
        is_hole = end < following and not is_sole and is_loss(directory, following, is_compacted)
        if not is_whole or end > following or is_hole:
            break
    else:
        if end <= bases[-1]:
            found, end, _is_whole = _reach_in(directory, bases[-1], progress, is_checked=synced < OFFSET_MAX)
            epoch = max(epoch, found)
    return LogReach(max(epoch, _noted_epoch(directory, end)), end)


def _reach_in(directory: Path, base: int, progress: Progress | None, *, is_checked: bool) -> tuple[int, int, bool]:
    """(latest leader epoch, offset after the last good batch, whether nothing follows that).

    is_checked   else the headers are believed
    """
    epoch, end, position = NO_EPOCH, base, 0
    fd = os.open(path_of(directory, base, LOG_SUFFIX), os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        for run in walk_runs(fd, 0, size, base, is_checked, Disk()):
            for step in run:
                epoch = max(epoch, step.leader_epoch)
            position, end = run[-1].position + run[-1].size, run[-1].last_offset + 1
            if progress is not None:
                progress(0)
    finally:
        os.close(fd)
    return epoch, end, position == size


def _noted_epoch(directory: Path, end_offset: int) -> int:
    """The leader epoch of the last record, as the file has it: one that began at the end was assigned, and has no record."""
    try:
        epochs = read_leader_epochs(directory / LEADER_EPOCH_FILE)
    except BadCheckpoint:
        return NO_EPOCH
    return written(epochs, end_offset)

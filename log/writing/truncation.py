"""Cutting a log back to an offset, so that a crash anywhere leaves a log that opens, and nothing false is trusted.

    1  the truncation file says: behind offset T nothing counts as synced, up to the old end E     durable
    2  segments behind the one that holds T go, the last one first                                names synced
    3  that segment is cut at the batch that holds T                                              durable

The recovery point in the checkpoint may be above T for a while (the housekeeper writes it now and then). Should the log
grow over T again, and the machine crash, that checkpoint would vouch for batches that it never saw. So the file stays
until everything below E has been synced again, and opening takes the smaller of the two.

    headrace.truncation   `0`, `1`, then `T E`: the format of Kafka's checkpoints, which Kafka doesn't look at

Runs in: the partition worker that owns the log. Source: Kafka `LocalLog.truncateTo`, `UnifiedLog.truncateTo`.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from headrace.log.disk import Disk
from headrace.log.names import LOG_SUFFIX, path_of, segment_bases
from headrace.log.segments.segment import remove_segment
from headrace.log.state.checkpoints import BadCheckpoint, read_lines, write_lines
from headrace.protocol.record_batch import MAGIC_POSITION, MAGIC_V2

TRUNCATION_FILE = "headrace.truncation"

_log = logging.getLogger(__name__)


class TruncationMark:
    """The truncation file of one log.

    distrusted_until   a flush up to here makes it needless; -1: there is none
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / TRUNCATION_FILE
        self._disk = disk
        self._target = -1
        self.distrusted_until = -1
        try:
            lines = read_lines(self._path)
            if lines:
                target, end = lines[0].split()
                self._target, self.distrusted_until = int(target), int(end)
        except (BadCheckpoint, ValueError) as failure:
            _log.warning("truncation file can't be read: nothing counts as synced reason=%s", failure)
            self._target, self.distrusted_until = 0, 2**63 - 1

    def bound(self, recovery_point: int) -> int:
        """What of a recovery point can be believed."""
        return recovery_point if self.distrusted_until < 0 else min(recovery_point, self._target)

    def write(self, target: int, end_offset: int) -> None:
        """Before a truncation; raises OSError."""
        if self.distrusted_until >= 0:
            target, end_offset = min(target, self._target), max(end_offset, self.distrusted_until)
        write_lines(self._path, [f"{target} {end_offset}"], self._disk)
        self._target, self.distrusted_until = target, end_offset

    def remove(self) -> None:
        """Everything that it doubted is synced; raises OSError."""
        if self.distrusted_until >= 0:
            self._path.unlink(missing_ok=True)
            self._disk.sync_directory(self._path.parent)
            self._target = self.distrusted_until = -1


def first_offset(directory: Path, segment: int, position: int, default: int) -> int:
    """No more than the first offset of the batch at a position; `default` at the end of the file.

    An entry of an old format names its last offset alone: that of its segment is the bound then.
    """
    with open(path_of(directory, segment, LOG_SUFFIX), "rb") as file:
        head = os.pread(file.fileno(), MAGIC_POSITION + 1, position)
    if len(head) <= MAGIC_POSITION:
        return default
    return int.from_bytes(head[:8], "big") if head[MAGIC_POSITION] >= MAGIC_V2 else segment


def cut_files(directory: Path, segment: int, position: int, disk: Disk) -> None:
    """Steps 2 and 3. No segment is left where `segment` is -1. raises OSError"""
    for base in reversed(segment_bases(directory)):
        if base > segment:
            remove_segment(directory, base)
    disk.sync_directory(directory)
    if segment < 0:
        return
    fd = os.open(path_of(directory, segment, LOG_SUFFIX), os.O_RDWR)
    try:
        disk.truncate(fd, position)
        disk.fsync(fd)
    finally:
        os.close(fd)

"""Cutting a log back to an offset, so that a crash anywhere leaves a log that opens, and nothing false is trusted.

    1  the truncation file says: after offset T nothing counts as synced, up to the old end E;
       and of committed records that go, which checkpoints are too high                           durable
    2  segments after the one that holds T go, the last one first                                 names synced
    3  that segment is cut at the batch that holds T                                              durable

Where records below the high watermark go (an unclean election), processes on this host may have them mapped: a page that is cut off
is a SIGBUS there. So step 3 leaves the file to them, and a copy of its first bytes takes the name. The copy is made before step 2: where
there is no room for it, nothing was done, and retention may make some.

What is left is opened like any log (`PartitionLog` does that), whole up to where it was cut. The file of step 1 is
`state/truncation_mark.py`.

Runs in: the partition worker that owns the log. Source: Kafka `LocalLog.truncateTo`, `UnifiedLog.truncateTo`.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from headrace.log.disk import Disk
from headrace.log.names import CUT_SUFFIX, LOG_SUFFIX, path_of, segment_bases
from headrace.log.segments.segment import remove_segment
from headrace.log.state.truncation_mark import TakenBack, TruncationMark
from headrace.log.writing.segment_list import SegmentList
from headrace.protocol.record_batch import MAGIC_POSITION, MAGIC_V2, unpack_base_offset

COPY_BYTES: Final = 1 << 20


class Truncation:
    """Cuts the files of one log. Its list of segments is another afterwards, and has to be loaded again.

    has_begun   something was changed, and the log was not loaded again since; its owner resets it
    """

    __slots__ = ("_directory", "_disk", "_mark", "_segments", "has_begun")

    def __init__(self, directory: Path, segments: SegmentList, mark: TruncationMark, disk: Disk) -> None:
        self._directory = directory
        self._segments = segments
        self._mark = mark
        self._disk = disk
        self.has_begun = False

    def cut(self, offset: int, segment: int, position: int, log_start_offset: int, *, is_mapped: bool = False) -> None:
        """Cut where the batch that holds an offset begins: in a segment, at a byte. raises OSError

        is_mapped   committed records go: other processes may have mapped them
        """
        cut_at = min(offset, first_offset(self._directory, segment, position, offset))
        end_offset = self._segments.end_offset
        self._mark.write(cut_at, end_offset, TakenBack(cut_at, log_start_offset, end_offset) if is_mapped else None)
        if is_mapped:
            path = path_of(self._directory, segment, LOG_SUFFIX)
            try:
                _copy(path, position, self._disk)
            except OSError:
                self._disk.remove_file(_copy_of(path))
                raise
        self.has_begun = True
        self._segments.active.close()
        cut_files(self._directory, segment, position, self._disk, is_mapped=is_mapped)

    def cut_all(self, offset: int, log_start_offset: int) -> None:
        """Leave no segment, so that the log can begin at an offset. raises OSError

        log_start_offset   as it is
        """
        end_offset = self._segments.end_offset
        taken_back = TakenBack(offset, log_start_offset, end_offset) if offset < log_start_offset else None
        self._mark.write(0, max(end_offset, offset), taken_back)
        self.has_begun = True
        self._segments.active.close()
        cut_files(self._directory, -1, 0, self._disk)


def first_offset(directory: Path, segment: int, position: int, default: int) -> int:
    """No more than the first offset of the batch at a position; `default` at the end of the file.

    An entry of an old format names its last offset alone: that of its segment is the bound then.
    """
    with open(path_of(directory, segment, LOG_SUFFIX), "rb") as file:
        head = os.pread(file.fileno(), MAGIC_POSITION + 1, position)
    if len(head) <= MAGIC_POSITION:
        return default
    return unpack_base_offset(head, 0) if head[MAGIC_POSITION] >= MAGIC_V2 else segment


def cut_files(directory: Path, segment: int, position: int, disk: Disk, *, is_mapped: bool = False) -> None:
    """Steps 2 and 3. No segment is left where `segment` is -1. raises OSError

    is_mapped   the copy is there (`_copy`)
    """
    for base in reversed(segment_bases(directory)):
        if base > segment:
            remove_segment(directory, base, disk)
    disk.sync_directory(directory)
    if segment < 0:
        return
    path = path_of(directory, segment, LOG_SUFFIX)
    if is_mapped:
        disk.rename(_copy_of(path), path)
        disk.sync_directory(path.parent)
        return
    fd = disk.open(path, os.O_RDWR)
    try:
        disk.truncate(fd, position)
        disk.fsync(fd)
    finally:
        os.close(fd)


def _copy(path: Path, size: int, disk: Disk) -> None:
    """Another file, of the first bytes, that is to get the same name; whoever has the old one open keeps it. Synced. raises OSError"""
    window = memoryview(bytearray(min(COPY_BYTES, size)))
    source = os.open(path, os.O_RDONLY)
    try:
        target = disk.open(_copy_of(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            for position in range(0, size, COPY_BYTES):
                part = window[: size - position]
                done = disk.preadv(source, [part], position)
                if done < len(part):
                    raise OSError(errno.EIO, f"{path}: {done} of {len(part)} bytes read at {position}")
                disk.write_all(target, [part], position)
            disk.fsync(target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _copy_of(path: Path) -> Path:
    return path.with_name(path.name + CUT_SUFFIX)

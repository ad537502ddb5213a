"""What follows a damaged batch that was whole once: kept, before the segment is cut there.

A crash tears the end of a log, where nothing was synced. A batch below the recovery point was synced: what damaged it was the disk, and
batches after it may be as they were. So before they go they are copied

    beside the partition's directory    as what leaves a log is (`segments/stray.py`): for an operator
    into a segment of their own         where no other replica has them: from the next whole batch on they stay in the log, as
                                        what follows a hole does

    1  all from the damaged batch on is copied aside      a crash: as before, and a copy too many
    2  the new segment is copied, with a name of its own  the same; an opening removes such files
    3  the old segment is cut                             a crash: the log ends there, what followed is in the copy
    4  the new segment gets its name

The next whole batch is the one that the damaged one's length leads to. Where that is damaged, or more than one is, it is not looked for.

Runs in: the partition worker that owns the log, while it opens it.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from headrace.log.batch_walk import walk
from headrace.log.disk import Disk
from headrace.log.names import CUT_SUFFIX, LOG_SUFFIX, path_of
from headrace.log.segments.segment import Segment
from headrace.log.segments.stray import make_aside
from headrace.log.state.truncation_mark import doubt_all
from headrace.protocol.record_batch import HEADER_BYTES, LENGTH_POSITION, LOG_OVERHEAD_BYTES, MAGIC_POSITION, MAGIC_V2

_WINDOW_BYTES: Final = 1 << 20


def next_batch(segment: Segment, position: int, next_offset: int, disk: Disk) -> tuple[int, int] | None:
    """(position, base offset) of the whole batch after a damaged one; None where there is none. raises OSError"""
    size = segment.size_bytes
    head = os.pread(segment.fd, HEADER_BYTES, position)
    if len(head) < HEADER_BYTES or head[MAGIC_POSITION] != MAGIC_V2:
        return None
    length = int.from_bytes(head[LENGTH_POSITION : LENGTH_POSITION + 4], "big") + LOG_OVERHEAD_BYTES
    if not HEADER_BYTES <= length < size - position:
        return None
    for step in walk(segment.fd, position + length, size, next_offset + 1, is_checked=True, disk=disk):
        return step.position, step.base_offset
    return None


def check_room(segment: Segment, position: int, copies: int, disk: Disk) -> None:
    """Whether what follows a position can be copied so often: asked first, for a copy that fails takes the room of all others.

    raises   OSError, ENOSPC
    """
    wanted = copies * (segment.size_bytes - position)
    if disk.free_bytes(segment.directory) < wanted:
        reason = f"no room to keep the {wanted} bytes that follow a damaged batch"
        raise OSError(errno.ENOSPC, reason, str(segment.directory))


def put_aside_rest(segment: Segment, position: int, next_offset: int, disk: Disk) -> Path:
    """Copy what a segment has from a position on beside the partition's directory, named as a segment from this offset on is.

    It is safe when this returns.

    returns   the file
    raises    OSError
    """
    target = make_aside(segment.directory, disk, doubt_all)
    path = path_of(target, next_offset, LOG_SUFFIX)
    try:
        _copy(segment, position, path, disk)
        disk.sync_directory(target)
    except OSError:
        disk.remove_tree(target)  # a full disk is tried again each second
        raise
    return path


def begin_split(segment: Segment, position: int, base_offset: int, disk: Disk) -> None:
    """Copy what follows a position into a segment of its own, which has no name yet. raises OSError"""
    _copy(segment, position, _unnamed(segment.directory, base_offset), disk)


def finish_split(directory: Path, base_offset: int, disk: Disk) -> None:
    """The segment before it was cut: give it its name. raises OSError"""
    disk.rename(_unnamed(directory, base_offset), path_of(directory, base_offset, LOG_SUFFIX))
    disk.sync_directory(directory)


def _unnamed(directory: Path, base_offset: int) -> Path:
    path = path_of(directory, base_offset, LOG_SUFFIX)
    return path.with_name(path.name + CUT_SUFFIX)


def _copy(segment: Segment, start: int, path: Path, disk: Disk) -> None:
    end = segment.size_bytes
    window = memoryview(bytearray(min(_WINDOW_BYTES, end - start)))
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for position in range(start, end, len(window)):
            part = window[: end - position]
            if disk.preadv(segment.fd, [part], position) < len(part):
                raise OSError(
                    errno.EIO, f"bytes at {position} of segment {segment.base_offset} can't be read", str(path)
                )
            disk.write_all(fd, [part], position - start)
        disk.fsync(fd)
    finally:
        os.close(fd)

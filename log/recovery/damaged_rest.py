"""What follows a damaged batch that was whole once: kept, before the segment is cut there.

A crash tears the end of a log, where nothing was synced. A batch below the recovery point was synced: what damaged it was the disk, and
batches after it may be as they were. So was one of a log that is synced before each answer, where a whole one follows it. So before they
go they are copied

    beside the partition's directory    as what leaves a log is (`segments/stray.py`): for an operator
    into a segment of their own         where no other replica has them: from the next whole batch on they stay in the log, as
                                        what follows a hole does

    1  all from the damaged batch on is copied aside      a crash: as before; the next opening goes on with that copy
    2  the new segment is copied, with a name of its own  the same; an opening removes such files
    3  the old segment is cut                             a crash: the log ends there, what followed is in the copy
    4  the new segment gets its name

The next whole batch is the one that the damaged one's length leads to. Where that is damaged, or more than one is, the log goes on with
none: a search may find bytes of a client's that look like a batch. It says only whether something whole may follow (`has_whole_batch`).

Runs in: the partition worker that owns the log, while it opens it.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import RoomWanted
from headrace.limits import REST_SEARCH_BYTES_MAX
from headrace.log.batch_walk import walk
from headrace.log.disk import Disk
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.names import CUT_SUFFIX, LOG_SUFFIX, path_of
from headrace.log.segments.segment import Segment
from headrace.log.segments.stray import directories_aside, make_aside
from headrace.log.state.truncation_mark import doubt_all
from headrace.protocol.record_batch import HEADER_BYTES, MAGIC_POSITION, MAGIC_V2, entry_bytes, unpack_base_offset

_WINDOW_BYTES: Final = 1 << 20


class Copy(NamedTuple):
    """What an opening before this one had copied of the rest: a file, and how much is in it."""

    path: Path
    size_bytes: int


def next_batch(segment: Segment, position: int, next_offset: int, disk: Disk) -> tuple[int, int] | None:
    """(position, base offset) of the whole batch after a damaged one; None where there is none. raises OSError"""
    size = segment.size_bytes
    head = os.pread(segment.fd, HEADER_BYTES, position)
    if len(head) < HEADER_BYTES or head[MAGIC_POSITION] != MAGIC_V2:
        return None
    length = entry_bytes(head, 0)
    if not HEADER_BYTES <= length < size - position:
        return None
    for step in walk(segment.fd, position + length, size, next_offset + 1, is_checked=True, disk=disk):
        return step.position, step.base_offset
    return None


def has_whole_batch(segment: Segment, position: int, next_offset: int, disk: Disk, reaching: int = -1) -> bool:
    """Whether a whole batch of this segment lies anywhere from a damaged one on: a lost sector takes many small ones, or a length.

    reaching   the last offset that it has at least

    Its offset may be below the one that is due: no checksum is of the offset before it. The search goes as far as
    REST_SEARCH_BYTES_MAX. Where the bytes are so odd that this does not tell, there may be one.

    raises   OSError
    """
    if reaching < 0 and next_batch(segment, position, next_offset, disk) is not None:
        return True
    size = min(segment.size_bytes, position + REST_SEARCH_BYTES_MAX)
    left = REST_SEARCH_BYTES_MAX  # to be compared with a checksum
    window = memoryview(bytearray(min(_WINDOW_BYTES, max(size - position, 1))))
    least, most = segment.base_offset, segment.base_offset + RELATIVE_OFFSET_MAX
    patterns = [_pattern(high) for high in sorted({least >> 32, most >> 32})]
    start = position
    while start < size:
        part = window[: min(len(window), size - start)]
        got = disk.preadv(segment.fd, [part], start)
        for pattern in patterns:
            for match in pattern.finditer(part[:got]):
                at = match.start() - MAGIC_POSITION
                offset, length = unpack_base_offset(part, at), entry_bytes(part, at)
                end = start + at + length
                if not least <= offset <= most or length < HEADER_BYTES or end > segment.size_bytes:
                    continue
                left -= length
                if left < 0:
                    return True
                for step in walk(segment.fd, start + at, end, least, is_checked=True, disk=disk):
                    if step.last_offset >= reaching:
                        return True
        if got < len(part) or start + got >= size:
            return False
        start += got - MAGIC_POSITION  # a header may have begun there
    return False


def _pattern(high: int) -> re.Pattern[bytes]:
    """The magic of a header whose offset has these high 32 bits: a search for one byte, and a look back."""
    return re.compile(
        b"\x02(?<=" + re.escape(high.to_bytes(4, "big")) + b".{%d}\x02)" % (MAGIC_POSITION - 4), re.DOTALL
    )


def check_room(directory: Path, wanted: int, disk: Disk) -> None:
    """Whether so many bytes can be copied: asked first, for a copy that fails takes the room of all others.

    raises   RoomWanted
    """
    if disk.free_bytes(directory) < wanted:
        reason = f"no space to keep the {wanted} bytes that follow a damaged batch"
        raise RoomWanted(errno.ENOSPC, reason, str(directory), wanted)


def find_copy(segment: Segment, position: int, next_offset: int, disk: Disk) -> Copy | None:
    """What an opening that was killed had put aside of the rest, in whole or in part; None where it had nothing. raises OSError"""
    name = path_of(segment.directory, next_offset, LOG_SUFFIX).name
    for directory in directories_aside(segment.directory):
        path = directory / name
        try:
            fd = disk.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            size = os.fstat(fd).st_size
            if 0 < size <= segment.size_bytes - position and _are_alike(segment.fd, position, fd, size, disk):
                return Copy(path, size)
        finally:
            os.close(fd)
    return None


def put_aside_rest(segment: Segment, position: int, next_offset: int, disk: Disk, begun: Copy | None = None) -> Path:
    """Copy what a segment has from a position on beside the partition's directory, named as a segment from this offset on is.

    It is safe when this returns.

    begun     what of it is there already
    returns   the file
    raises    OSError
    """
    if begun is not None:
        _copy(segment, position, begun.path, disk, begun.size_bytes)
        disk.sync_directory(begun.path.parent)
        disk.sync_directory(segment.directory.parent)
        return begun.path
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


def _are_alike(one: int, one_position: int, other: int, size: int, disk: Disk) -> bool:
    """Whether two files have the same bytes: of the other all. raises OSError"""
    windows = [memoryview(bytearray(min(_WINDOW_BYTES, size))) for _ in range(2)]
    for done in range(0, size, _WINDOW_BYTES):
        left, right = (window[: size - done] for window in windows)
        if disk.preadv(one, [left], one_position + done) != disk.preadv(other, [right], done) or left != right:
            return False
    return True


def _copy(segment: Segment, start: int, path: Path, disk: Disk, there_bytes: int = 0) -> None:
    """there_bytes   that are in the file already"""
    end = segment.size_bytes
    window = memoryview(bytearray(max(1, min(_WINDOW_BYTES, end - start))))
    fd = disk.open(path, os.O_WRONLY | (0 if there_bytes else os.O_CREAT | os.O_TRUNC))
    try:
        for position in range(start + there_bytes, end, len(window)):
            part = window[: end - position]
            if disk.preadv(segment.fd, [part], position) < len(part):
                raise OSError(
                    errno.EIO, f"bytes at {position} of segment {segment.base_offset} can't be read", str(path)
                )
            disk.write_all(fd, [part], position - start)
        disk.fsync(fd)
    finally:
        os.close(fd)

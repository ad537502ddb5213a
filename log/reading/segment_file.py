"""One segment, open for reading: the batch that holds an offset.

Runs in: network workers, Spark tasks, tools, and the owner; many at once, beside the one writer.

A descriptor stays open as long as anyone holds its `SegmentFile`: a range keeps it until it is sent, whatever
happens to the segment meanwhile. Nothing here is mapped, so that a file which is cut can't kill its reader.

A lookup: bisect the index, walk headers (one `pread` of a few KiB) to the batch. Offsets whose place is known
from the last range skip the index.

A walk that looks for a time may be long, so it has a share of work (`work_share.py`) and says how far it came. So does one through
a segment whose index the disk can't read. It remembers places as it goes. Where its share ends it raises, and the next one goes on
from there.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import HeadraceError
from headrace.limits import KNOWN_PLACES_MAX, UNINDEXED_PLACES_MAX
from headrace.log.batch_walk import Found
from headrace.log.index_layout import OFFSET_ENTRY
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, path_of
from headrace.log.reading.index_reader import Entry, TolerantIndexReader
from headrace.log.reading.work_share import HEADER_COST, WorkShare
from headrace.protocol.message_set import ENTRY_BYTES_MIN, old_header
from headrace.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    entry_bytes,
    parse_header,
    unpack_base_offset,
    unpack_header,
    unpack_last_delta,
    unpack_length,
)

WINDOW_BYTES: Final = 8 * 1024
SCAN_BYTES: Final = 256 * 1024

ANY_TIME: Final = -(2**63)
PLACE_COST: Final = 1 << 20  # of walks without an index, between two places that are remembered
CROWDED_WINDOW: Final = 16  # headers: the next window is larger

assert HEADER_BYTES <= WINDOW_BYTES <= SCAN_BYTES


class Promise(NamedTuple):
    """How far a walk for a time came.

    position      of the next batch; the end, where there is none
    next_offset   after the last batch that was passed; -1: none was
    batch         one whose header promises the time, at that position; None: none before it
    largest_ms    that the headers which were passed promise
    """

    position: int
    next_offset: int
    batch: Found | None
    largest_ms: int


class UnindexedSegment(HeadraceError):
    """The index can't be read, and the walk that stands in for it is not done; it goes on when the next one asks."""


class CorruptSegment(HeadraceError):
    """Bytes of a segment that are no batch, where one has to be; names file and position."""


class SegmentFile:
    """One segment. The end of what may be read comes from the caller: it read it from the partition's row."""

    __slots__ = (
        "_boundary",
        "_index",
        "_known",
        "_live",
        "_places",
        "_scale",
        "_walks",
        "base_offset",
        "directory",
        "fd",
    )

    def __init__(
        self, directory: Path, base_offset: int, live: list[int] | None = None, walks: WorkShare | None = None
    ) -> None:
        """Open a segment. raises FileNotFoundError, OSError

        live    of one element, counts those that are open
        walks   of who serves others meanwhile: for walks without an index; None: they may be of any length
        """
        self.fd = -1
        self._live = live if live is not None else [0]
        self._walks = walks
        self._places: list[tuple[int, int]] = []  # without an index: (offset, position) that walks came to, in order
        self.directory = directory
        self.base_offset = base_offset
        self.fd = os.open(path_of(directory, base_offset, LOG_SUFFIX), os.O_RDONLY)
        self._live[0] += 1
        self._index: TolerantIndexReader | None = None
        self._known: dict[int, int] = {}  # offset -> position: a batch begins with it, or will begin, there
        self._boundary = -1  # a position where a batch begins, or will begin, whatever its offset
        self._scale = 0.0  # index entries for each offset, as the last lookup found it

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self._live[0] -= 1

    def size_bytes(self) -> int:
        return os.fstat(self.fd).st_size

    def remember(self, position: int, offset: int = -1) -> None:
        """A batch ends at `position`; `offset` is that of the next record, where the caller knows it."""
        self._boundary = position
        if offset >= 0:
            known = self._known
            known[offset] = position
            if len(known) > KNOWN_PLACES_MAX:
                del known[next(iter(known))]

    def forget(self) -> None:
        """The log may have been cut: nothing is known any more."""
        self._known.clear()
        self._places.clear()
        self._boundary = -1

    def is_replaced(self) -> bool:
        """Whether another file has its name now (compaction), or none."""
        try:
            found = os.stat(path_of(self.directory, self.base_offset, LOG_SUFFIX))
        except FileNotFoundError:
            return True
        return found.st_ino != os.fstat(self.fd).st_ino

    def known_position(self, offset: int) -> int:
        """Where a batch begins with `offset`, -1 where that has to be searched."""
        return self._known.get(offset, -1)

    def find(self, offset: int, end: int) -> tuple[int, int] | None:
        """(position, size) of the batch that holds `offset`, or of the next one; None where there is none before `end`.

        The size is 0 where the walk to it met bytes that are no batch, at that position: `corrupt` names them.

        raises   UnindexedSegment; CorruptSegment, where the index can't be read either; OSError
        """
        start = self.known_position(offset)
        if start < 0:
            start = self._boundary
        if 0 <= start < end:
            found = self._walk(offset, start, end, is_exact=True)
            if found is not None:
                return found
        start = self._indexed_position(offset)
        if 0 < start < end:
            found = self._walk(offset, start, end, is_bounded=True)
            if found is None or found[1]:
                return found
        if self._index is not None and self._index.is_unreadable:
            return self._walk_unindexed(offset, end)
        return self._walk(offset, 0, end)  # no entry, or one that was wrong: the headers alone, from the start

    def offset_after(self, position: int, default: int) -> int:
        """An offset at or after the last record before a position, as far as the index shows; else `default`."""
        index = self._index_reader()
        entry = index.first(lambda entry: 0 < entry[1] < position) if index is not None else None
        return self.base_offset + entry[0] + 1 if entry is not None and entry[1] else default

    def indexed_position(self, most: int) -> int:
        """Where a batch begins at or below a position, as far as the index shows; else 0."""
        index = self._index_reader()
        entry = index.lookup(lambda entry: 0 < entry[1] <= most) if index is not None else None
        return entry[1] if entry is not None else 0

    def offset_before(self, position: int) -> int:
        """An offset at or before the last batch before a position, as far as the index shows; else the first one."""
        index = self._index_reader()
        entry = index.lookup(lambda entry: 0 < entry[1] < position) if index is not None else None
        return self.base_offset + entry[0] if entry is not None else self.base_offset

    def corrupt(self, position: int) -> CorruptSegment:
        """The error that names bytes which are no batch."""
        path = path_of(self.directory, self.base_offset, LOG_SUFFIX)
        return CorruptSegment(f"{path}: no batch at byte {position}")

    def batches(self, position: int, end: int) -> Iterator[Found]:
        """The batches from a position on, by their headers; raises CorruptSegment."""
        while end - position >= ENTRY_BYTES_MIN:
            window = os.pread(self.fd, min(SCAN_BYTES, end - position), position)
            least = HEADER_BYTES if position + len(window) < end else ENTRY_BYTES_MIN
            place = 0
            while len(window) - place >= least:
                if window[place + MAGIC_POSITION] == MAGIC_V2:
                    if len(window) - place < HEADER_BYTES:
                        return
                    header = parse_header(window, place)
                    size = header.size_bytes
                    bytes_min = HEADER_BYTES
                else:
                    header = old_header(window, place)
                    size = header.size_bytes
                    bytes_min = ENTRY_BYTES_MIN if 0 <= header.magic < MAGIC_V2 else size + 1
                if size < bytes_min:
                    raise self.corrupt(position + place)
                if size > end - position - place:
                    return
                yield Found(position + place, size, header)
                place += size
            if not place:
                return  # cut meanwhile
            position += place

    def read(self, found: Found) -> bytes:
        """The bytes of a batch."""
        return os.pread(self.fd, found.size, found.position)

    def read_at(self, position: int, size: int) -> bytes:
        """Bytes of a batch, fewer where the segment was cut meanwhile."""
        return os.pread(self.fd, size, position)

    def position_before(self, offset: int, end: int) -> int:
        """Where a batch begins at or below `offset`, as far as the index shows; else 0."""
        position = self.known_position(offset)
        if 0 <= position <= end:
            return position
        position = self._indexed_position(offset) or self._place_before(offset)
        if not 0 < position < end:
            return 0
        window = os.pread(self.fd, ENTRY_BYTES_MIN, position)
        if len(window) < ENTRY_BYTES_MIN:
            return 0
        is_batch = window[MAGIC_POSITION] <= MAGIC_V2 and 0 < entry_bytes(window, 0) <= end - position
        return position if is_batch and unpack_base_offset(window, 0) <= offset else 0

    def first_promise(self, position: int, end: int, timestamp_ms: int, offset: int, share: WorkShare) -> Promise:
        """Walk headers to the first batch that promises a record of that time or later, at or after an offset.

        raises   CorruptSegment; OSError
        """
        window_bytes = WINDOW_BYTES
        next_offset, most_ms = -1, ANY_TIME
        while end - position >= ENTRY_BYTES_MIN:
            if share.is_spent:
                return Promise(position, next_offset, None, most_ms)
            window = os.pread(self.fd, min(window_bytes, end - position), position)
            least = HEADER_BYTES if position + len(window) < end else ENTRY_BYTES_MIN
            place = count = 0
            while len(window) - place >= least:
                if window[place + MAGIC_POSITION] == MAGIC_V2:
                    if len(window) - place < HEADER_BYTES:
                        return Promise(end, next_offset, None, most_ms)
                    base_offset, length, _, _, _, _, last_delta, _, largest_ms, *_ = unpack_header(window, place)
                    size = length + LOG_OVERHEAD_BYTES
                    size_min = HEADER_BYTES
                else:
                    old = old_header(window, place)
                    base_offset, last_delta, largest_ms, size = old.base_offset, 0, old.max_timestamp, old.size_bytes
                    size_min = ENTRY_BYTES_MIN if 0 <= old.magic < MAGIC_V2 else size + 1
                if size < size_min:
                    raise self.corrupt(position + place)
                if size > end - position - place:
                    return Promise(end, next_offset, None, most_ms)
                if largest_ms >= timestamp_ms and base_offset + last_delta >= offset:
                    share.spend(len(window) + HEADER_COST * count)
                    return Promise(position + place, next_offset, _found(window, position, place, size), most_ms)
                if largest_ms > most_ms:
                    most_ms = largest_ms
                next_offset = base_offset + last_delta + 1
                place += size
                count += 1
            share.spend(len(window) + HEADER_COST * count)
            if not place:
                return Promise(end, next_offset, None, most_ms)  # cut meanwhile
            position += place
            window_bytes = min(2 * window_bytes, SCAN_BYTES) if count >= CROWDED_WINDOW else WINDOW_BYTES
        return Promise(end, next_offset, None, most_ms)

    def _walk(
        self, offset: int, start: int, end: int, *, is_exact: bool = False, is_bounded: bool = False
    ) -> tuple[int, int] | None:
        """The batch that holds `offset`, or the next one.

        is_exact     None unless the first batch begins with `offset`
        is_bounded   size 0 unless the first batch begins at or below it, as an index entry promises
        """
        position = start
        while end - position >= ENTRY_BYTES_MIN:
            window = os.pread(self.fd, min(WINDOW_BYTES, end - position), position)
            least = HEADER_BYTES if position + len(window) < end else ENTRY_BYTES_MIN
            if len(window) < least:
                return None  # cut meanwhile
            place = 0
            while len(window) - place >= least:
                size = unpack_length(window, place) % 2**32 + LOG_OVERHEAD_BYTES  # a negative one is beyond the end
                magic = window[place + MAGIC_POSITION]
                is_batch = magic == MAGIC_V2
                if size < (HEADER_BYTES if is_batch else ENTRY_BYTES_MIN) or magic > MAGIC_V2:
                    return None if is_exact else (position + place, 0)
                if size > end - position - place:
                    # `end` was a file's size, and its last batch is being written; or the index was wrong
                    return (position + place, 0) if is_bounded else None
                base_offset = unpack_base_offset(window, place)
                if is_exact and base_offset != offset:
                    return None
                if is_bounded and base_offset > offset:
                    return position + place, 0
                is_bounded = False
                last_delta = unpack_last_delta(window, place) if is_batch else 0
                if base_offset + last_delta >= offset:
                    return position + place, size
                place += size
            position += place
        return None

    def _walk_unindexed(self, offset: int, end: int) -> tuple[int, int] | None:
        """`find` from the nearest place that an earlier walk came to. raises UnindexedSegment; CorruptSegment; OSError"""
        position = self._place_before(offset)
        walks = self._walks if self._walks is not None else WorkShare()
        while not walks.is_spent:
            piece = WorkShare(PLACE_COST)
            found = self.first_promise(position, end, ANY_TIME, offset, piece)
            walks.spend(PLACE_COST - piece.left)
            if found.batch is not None:
                return found.position, found.batch.size
            if found.position >= end:
                return None
            position = found.position
            if not self._places or found.next_offset > self._places[-1][0]:
                self._places.append((found.next_offset, position))
                if len(self._places) > UNINDEXED_PLACES_MAX:
                    del self._places[::2]
        path = path_of(self.directory, self.base_offset, INDEX_SUFFIX)
        raise UnindexedSegment(
            f"{path}: can't be read; the next search for offset {offset} continues at byte {position}"
        )

    def _place_before(self, offset: int) -> int:
        """The nearest position at or before an offset that a walk without an index came to; else 0."""
        index = bisect_right(self._places, offset, key=lambda place: place[0])
        return self._places[index - 1][1] if index else 0

    def _indexed_position(self, offset: int) -> int:
        """The position of a batch at or below `offset`."""
        index = self._index_reader()
        if index is None:
            return 0
        relative = offset - self.base_offset

        def is_wanted(entry: Entry) -> bool:
            return entry[1] > 0 and entry[0] <= relative

        count, entry = index.lookup_near(is_wanted, int(relative * self._scale))
        if entry is None:
            return 0
        self._scale = count / max(1, entry[0])
        return entry[1]

    def _index_reader(self) -> TolerantIndexReader | None:
        """The index, None where it is that of other batches."""
        if self._index is None or not (self._index.is_open or self._index.is_unreadable):
            self._index = TolerantIndexReader(path_of(self.directory, self.base_offset, INDEX_SUFFIX), OFFSET_ENTRY)
            if self._index.is_open and self.is_replaced():
                self._index.close()
                return None
        return self._index


def _found(window: bytes, position: int, place: int, size: int) -> Found:
    """The batch at a place of a window that begins at `position`."""
    if window[place + MAGIC_POSITION] == MAGIC_V2:
        return Found(position + place, size, parse_header(window, place))
    return Found(position + place, size, old_header(window, place))

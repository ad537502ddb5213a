"""The first record of a time, and the latest one, looked for in slices.

    segment of the place  ->  its time index: skip it, or where to begin  ->  headers, up to a batch that promises such a record
                          ->  the records of that batch  ->  found, or the header lied: on to the next header

What a header says its client wrote, and a log may have any number of small batches. So a search does as much as its share
(`work_share.py`) lets it, and keeps its place. The next call goes on there, in the same process, with a later share. Whatever the
work, the answer is the true one.

The place is an offset, and a position in an open segment while the log's segments are the same. Compaction, retention and rolls
may change these between two calls; then the offset is looked up again.

A search that waits releases what it has open (`release`). One that had too little time continues when the same is asked again, up
to where the log ends then (`follow_end`).

A batch that can't be opened has no record that any client could read. It is passed like one without such a record, and noted.

The latest record (KIP-734): the largest timestamp that any header promises, and the first record that has it. Where that header
lied, the search takes the latest record of the log's last batches, and goes up from there, batch by batch.

Runs in: network workers, tools. Source: Kafka `LogSegment.findOffsetByTimestamp`, `UnifiedLog.fetchOffsetByTimestamp`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.errors import HeadraceError
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading.batch_search import EARLIEST, LATEST, BatchSearch
from headrace.log.reading.index_reader import Entry
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.reading.work_share import SEGMENT_COST, WorkShare
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord

if TYPE_CHECKING:
    from headrace.log.reading.reader import LogReader

NEVER: Final = LATEST + 1  # a time that no header promises

# Called with a segment, the first offset of a batch in it that could not be opened, and why.
NoteUnopened = Callable[[Path, int, HeadraceError], None]


class TimestampOffset(NamedTuple):
    timestamp_ms: int
    offset: int
    leader_epoch: int


def _no_note(_segment: Path, _offset: int, _failure: HeadraceError) -> None:
    """Default: the caller tells nobody."""


class _Place:
    """Where a search is in a log: all before `offset` was seen."""

    __slots__ = ("end", "end_position", "end_segment", "is_over", "left", "offset", "position", "segment", "version")

    def __init__(self, offset: int, end_segment: int, end_position: int) -> None:
        self.offset = offset
        self.end_segment = end_segment
        self.end_position = end_position
        self.is_over = False  # no segment is left
        self.segment: SegmentFile | None = None
        self.position = self.end = 0  # in the segment
        self.version = -1  # of the list of segments
        self.left: tuple[int, Path, int, int] | None = (
            None  # version, directory, base offset and position when it was released
        )

    def is_in_segment(self, reader: LogReader) -> bool:
        """Whether the position is right: else the offset has to be looked up."""
        if self.version != reader.version or self.is_elsewhere(reader):
            self.segment = None
        return self.segment is not None

    def is_elsewhere(self, reader: LogReader) -> bool:
        """Whether the replica was moved to another log directory since: what is open is in the old one."""
        return self.segment is not None and self.segment.directory != reader.directory

    def base(self, reader: LogReader) -> int:
        """The base offset of the segment that holds the offset; -1: the search is over."""
        base = reader.base_of(self.offset)
        return base if base <= self.end_segment else -1

    def enter(self, reader: LogReader, base: int, offset: int) -> None:
        """raises   OSError"""
        segment = reader.segment(base)
        self.end = self.end_position if base == self.end_segment else segment.size_bytes()
        if self.left is not None and self.left[:3] == (reader.version, reader.directory, base):
            self.position = self.left[3]
        else:
            self.position = segment.position_before(offset, self.end)
        self.segment, self.version, self.left = segment, reader.version, None

    def copy(self) -> _Place:
        """The same place, for another search."""
        copied = _Place(self.offset, self.end_segment, self.end_position)
        copied.segment, copied.version = self.segment, self.version
        copied.position, copied.end, copied.left = self.position, self.end, self.left
        return copied

    def release(self) -> None:
        """Release the open segment. The position is right still, where the list of segments stays the same."""
        if self.segment is not None:
            self.left = (self.version, self.segment.directory, self.segment.base_offset, self.position)
            self.segment = None

    def follow_end(self, end_segment: int, end_position: int) -> None:
        """The log goes on to there now."""
        self.release()
        self.end_segment, self.end_position = end_segment, end_position

    def skip_segment(self, reader: LogReader, base: int) -> None:
        """Nothing is left in it."""
        following = reader.base_after(base)
        self.segment = None
        if following < 0 or base >= self.end_segment:
            self.is_over = True
        else:
            self.offset = max(self.offset, following)


class TimeSearch:
    """The first record at or after a time.

    start   where it begins; None: at the log's start

    found   once it is over; None: there is no such record before the end
    spent   the cost of its steps, as its caller counts them
    """

    def __init__(
        self,
        timestamp_ms: int,
        end_segment: int,
        end_position: int,
        note_unopened: NoteUnopened = _no_note,
        start: _Place | None = None,
    ) -> None:
        self.found: TimestampOffset | None = None
        self.spent = 0
        self._timestamp_ms = timestamp_ms
        self._place = start if start is not None else _Place(0, end_segment, end_position)
        self._batch: BatchSearch | None = None
        self._note_unopened = note_unopened

    def step(self, reader: LogReader, log_start_offset: int, share: WorkShare) -> bool:
        """Go on; returns whether it is over.

        raises   CorruptSegment; FileNotFoundError, where what is looked for was deleted; OSError
        """
        try:
            return self._step(reader, log_start_offset, share)
        except FileNotFoundError:
            self._place.segment = None
            reader.list_again(self._place.end_segment)
            return self._step(reader, log_start_offset, share)

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch is open."""
        return self._batch is not None

    def release(self) -> None:
        """Release what is open: the batch that is searched is searched from its beginning again."""
        self._batch = None
        self._place.release()

    def follow_end(self, _since_offset: int, end_segment: int, end_position: int) -> None:
        """Continue up to a later end. In between nothing was truncated."""
        self.release()
        self._place.follow_end(end_segment, end_position)

    def raise_time(self, timestamp_ms: int) -> None:
        """Go on after what was found, for a later time."""
        self._timestamp_ms, self.found = timestamp_ms, None

    def _step(self, reader: LogReader, log_start_offset: int, share: WorkShare) -> bool:
        place = self._place
        if place.is_elsewhere(reader):
            self._batch = None
        while not place.is_over:
            if self._batch is not None:
                if self._search_batch(self._batch, log_start_offset, share):
                    return True
                if self._batch is not None:
                    return False
            if share.is_spent:
                return False
            base = place.base(reader)
            if base < 0:
                break
            if not place.is_in_segment(reader) and not self._enter(reader, base, log_start_offset, share):
                place.skip_segment(reader, base)
                continue
            assert place.segment is not None
            least = max(place.offset, log_start_offset)
            found = place.segment.first_promise(place.position, place.end, self._timestamp_ms, least, share)
            place.position, place.offset = found.position, max(place.offset, found.next_offset)
            if found.batch is not None:
                self._batch = BatchSearch(place.segment, found.batch)
            elif found.position >= place.end or not share.is_spent:
                place.skip_segment(reader, place.segment.base_offset)
        place.is_over = True
        place.segment = None
        return True

    def _enter(self, reader: LogReader, base: int, log_start_offset: int, share: WorkShare) -> bool:
        """Find where to begin in a segment; False, where its time index says that it has nothing."""
        timestamp_ms = self._timestamp_ms

        def is_before(entry: Entry) -> bool:
            return 0 < entry[0] < timestamp_ms

        is_active = base == self._place.end_segment
        share.spend(SEGMENT_COST)
        times = reader.times(base)
        last = None if is_active else times.last()
        before = times.lookup(is_before, without_last=is_active)
        reader.close_times(base, times)
        if last is not None and last[0] < timestamp_ms:
            return False  # the last entry of a rolled segment is its largest timestamp
        start_offset = base + before[1] if before is not None else base
        self._place.enter(reader, base, max(start_offset, log_start_offset, self._place.offset))
        return True

    def _search_batch(self, search: BatchSearch, log_start_offset: int, share: WorkShare) -> bool:
        """Whether the record was found in a batch; once all of it was searched in vain, its place is passed."""
        place, batch = self._place, search.batch
        try:
            found = search.next_at(self._timestamp_ms, log_start_offset, share)
        except (CorruptRecord, CompressionError) as failure:
            assert place.segment is not None
            self._note_unopened(
                path_of(place.segment.directory, place.segment.base_offset, LOG_SUFFIX),
                batch.header.base_offset,
                failure,
            )
            found, search.is_over = None, True
        if found is not None:
            self.found = TimestampOffset(*found, batch.header.partition_leader_epoch)
            return True
        if search.is_over:
            self._batch = None
            place.position = batch.position + batch.size
            place.offset = max(place.offset, batch.header.last_offset + 1)
        return False


class LatestSearch:
    """The record with the largest timestamp, the first of them; None in an empty log (KIP-734).

    The largest time that headers promise is that of time indexes and, in the active segment, of the headers after the last entry. If
    the first record of that time is not there, the header lied. Then the latest record after the last entry of the index is taken, and
    the search goes from the first record of that time to a later one, until there is none.
    """

    def __init__(self, end_segment: int, end_position: int, note_unopened: NoteUnopened = _no_note) -> None:
        self.found: TimestampOffset | None = None
        self.spent = 0
        self._ends = (end_segment, end_position)
        self._note_unopened = note_unopened
        self._place = _Place(0, *self._ends)
        self._promised: int | None = None  # at most, by the headers that were seen
        self._promised_before: int | None = None  # by those before:
        self._tail: _Place | None = None  # headers were read from there on
        self._search: TimeSearch | None = None
        self._is_kept = True  # what headers promise, as far as is known
        self._is_in_tail = False
        self._further: tuple[int, int, int] | None = None  # where the log went on after the end, and its end now
        self._beyond: TimeSearch | None = None  # of the records from there on

    def step(self, reader: LogReader, log_start_offset: int, share: WorkShare) -> bool:
        """As `TimeSearch.step`."""
        if self._beyond is None:
            try:
                is_over = self._step(reader, log_start_offset, share)
            except FileNotFoundError:
                self._place.segment = None
                reader.list_again(self._ends[0])
                is_over = self._step(reader, log_start_offset, share)
            if not is_over or self._further is None:
                return is_over
            since_offset, ends = self._further[0], self._further[1:]
            earliest_ms = EARLIEST if self.found is None else self.found.timestamp_ms + 1
            self._beyond = TimeSearch(earliest_ms, *ends, self._note_unopened, _Place(since_offset, *ends))
        return self._rise(self._beyond, reader, log_start_offset, share)

    @property
    def is_in_batch(self) -> bool:
        """`TimeSearch.is_in_batch`."""
        return any(one is not None and one.is_in_batch for one in (self._search, self._beyond))

    def release(self) -> None:
        """`TimeSearch.release`."""
        for one in (self._place, self._tail, self._search, self._beyond):
            if one is not None:
                one.release()

    def follow_end(self, since_offset: int, end_segment: int, end_position: int) -> None:
        """Search the records from an offset on as well, up to a later end. In between nothing was truncated.

        since_offset   where the log ended when the search began, or before
        """
        self.release()
        if self._beyond is not None:
            self._beyond.follow_end(since_offset, end_segment, end_position)
        elif self._further is not None:
            self._further = (self._further[0], end_segment, end_position)
        elif (end_segment, end_position) != self._ends:
            self._further = (since_offset, end_segment, end_position)

    def _step(self, reader: LogReader, log_start_offset: int, share: WorkShare) -> bool:
        if not self._place.is_over and not self._read_headers(reader, share):
            return False
        if self._promised is None:
            return True
        if self._search is None:
            is_in_tail = self._promised_before is None or self._promised > self._promised_before
            start = self._tail.copy() if self._tail is not None and is_in_tail else None
            self._search = TimeSearch(self._promised, *self._ends, self._note_unopened, start)
        if self._is_kept:
            if not self._search.step(reader, log_start_offset, share):
                return False
            self.found = self._search.found
            if self.found is not None:
                return True
            self._is_kept, self._is_in_tail = False, True
            near = _Place(reader.offset_near(*self._ends), *self._ends)
            self._search = TimeSearch(EARLIEST, *self._ends, start=near)
        if self._is_in_tail:
            if not self._rise(self._search, reader, log_start_offset, share):
                return False
            self._is_in_tail = False
            self._search = TimeSearch(EARLIEST if self.found is None else self.found.timestamp_ms, *self._ends)
        return self._rise(self._search, reader, log_start_offset, share)

    def _read_headers(self, reader: LogReader, share: WorkShare) -> bool:
        """Whether the largest time that is promised is known."""
        place = self._place
        while not place.is_over:
            if share.is_spent:
                return False
            base = place.base(reader)
            if base < 0:
                break
            if not place.is_in_segment(reader) and not self._enter(reader, base, share):
                place.skip_segment(reader, base)
                continue
            assert place.segment is not None
            found = place.segment.first_promise(place.position, place.end, NEVER, 0, share)
            place.position, place.offset = found.position, max(place.offset, found.next_offset)
            if found.next_offset >= 0:
                self._promised = found.largest_ms if self._promised is None else max(self._promised, found.largest_ms)
            if found.position >= place.end or not share.is_spent:
                place.skip_segment(reader, place.segment.base_offset)
        place.is_over = True
        place.segment = None
        return True

    def _enter(self, reader: LogReader, base: int, share: WorkShare) -> bool:
        """Whether headers of a segment have to be read: its time index may say all."""
        is_active = base == self._place.end_segment
        share.spend(SEGMENT_COST)
        times = reader.times(base)
        last = times.lookup(any, without_last=is_active)
        reader.close_times(base, times)
        if last is not None:
            self._promised = last[0] if self._promised is None else max(self._promised, last[0])
            if not is_active:
                return False  # the last entry of a rolled segment is its largest timestamp
        start_offset = max(base + last[1] if last is not None else base, self._place.offset)
        self._promised_before = self._promised
        self._place.enter(reader, base, start_offset)
        self._place.offset = start_offset
        self._tail = self._place.copy()
        return True

    def _rise(self, search: TimeSearch, reader: LogReader, log_start_offset: int, share: WorkShare) -> bool:
        """From one record to the next later one; whether there is none."""
        while search.step(reader, log_start_offset, share):
            if search.found is None:
                return True
            self.found = search.found
            search.raise_time(self.found.timestamp_ms + 1)
        return False

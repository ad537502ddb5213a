"""The reading side of a partition's directory: positions for offsets, offsets for timestamps.

Runs in: network workers, Spark tasks, tools; many at once, beside the one writer. It trusts the end that the
caller read from the partition's row (or froze as an offset) and never reads past it.

A lookup: bisect the segment list, then the segment's index and headers (`segment_file.py`). A reader that goes
on where the last range ended skips the index; where it also told what offset follows, it makes no system call.

The rule for descriptors: a `FileRange` holds its `SegmentFile`, and that closes its descriptor when nothing holds
it any more. So a range can be sent whatever became of the segment, the reader or its cache meanwhile; keep the
range, not the number. A reader itself keeps READER_SEGMENTS_MAX of them, those of a process share a bound (`open_segments.py`).
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from headrace.limits import READER_SEGMENTS_MAX
from headrace.log.batch_walk import Found
from headrace.log.index_layout import TIME_ENTRY, AbortedTransaction
from headrace.log.names import LOG_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, bases_among, path_of
from headrace.log.reading.aborted_transactions import find_aborted
from headrace.log.reading.index_reader import TolerantIndexReader
from headrace.log.reading.open_segments import OpenSegments
from headrace.log.reading.segment_file import SegmentFile
from headrace.log.reading.time_search import LatestSearch, TimeSearch, TimestampOffset
from headrace.log.reading.work_share import WorkShare
from headrace.protocol.message_set import peek_entry


class FileRange(NamedTuple):
    """Bytes of a segment that hold whole batches (the last one may be cut). `segment` keeps `fd` open."""

    fd: int
    position: int
    length: int
    segment: Any


def _no_check() -> None:
    """Default: file names are never reused."""


class LogReader:
    """Read access to one partition's segments.

    confirm   called after each opening by name, before anything of it is returned: raises where the name may have
              become another partition's meanwhile (its topic was deleted and created again)
    shared    with the process's other readers
    """

    def __init__(
        self, directory: Path, confirm: Callable[[], None] = _no_check, shared: OpenSegments | None = None
    ) -> None:
        self.directory = directory
        self.confirm = confirm
        self._shared = shared or OpenSegments(READER_SEGMENTS_MAX)
        self._version = -1
        self._bases: list[int] = []
        self._aborted_in: frozenset[int] = frozenset()  # segments with a transaction index, as of the listing
        self._last_aborted_in = -1  # the last of these
        self._unreadable_times: set[int] = set()  # segments whose time index the disk can't read, as of the listing
        self._open: OrderedDict[int, SegmentFile] = OrderedDict()

    def refresh(self, segments_version: int) -> None:
        """List the directory again where the row says that the segments changed, or that one got a transaction index."""
        if segments_version != self._version:
            names = os.listdir(self.directory)
            self.confirm()
            self._bases = bases_among(names, LOG_SUFFIX)
            self._aborted_in = frozenset(bases_among(names, TXN_INDEX_SUFFIX))
            self._last_aborted_in = max(self._aborted_in, default=-1)
            self._version = segments_version
            self._unreadable_times.clear()
            known = set(self._bases)
            for base, segment in list(self._open.items()):
                if base not in known or segment.is_replaced():
                    self._shared.release(segment)
                else:
                    segment.forget()

    @property
    def version(self) -> int:
        """Of the list of segments."""
        return self._version

    def base_of(self, offset: int) -> int:
        """The base offset of the segment that holds an offset, or of the first one; -1: there is none."""
        return self._bases[max(0, bisect_right(self._bases, offset) - 1)] if self._bases else -1

    def base_after(self, base: int) -> int:
        """The base offset of the segment after another; -1: there is none."""
        index = bisect_right(self._bases, base)
        return self._bases[index] if index < len(self._bases) else -1

    def times(self, base: int) -> TolerantIndexReader:
        """The time index of a segment, which `close_times` closes. One that the disk could not read has no entries. raises OSError"""
        is_unreadable = base in self._unreadable_times
        return TolerantIndexReader(
            path_of(self.directory, base, TIME_INDEX_SUFFIX), TIME_ENTRY, is_unreadable=is_unreadable
        )

    def close_times(self, base: int, times: TolerantIndexReader) -> None:
        """What was read of it may be returned, and that it can't be read is remembered. raises as `confirm`"""
        if times.is_unreadable:
            self._unreadable_times.add(base)
        times.close()
        self.confirm()

    def offset_near(self, end_segment: int, end_position: int) -> int:
        """An offset at or before the last batches before an end, as near as the index shows. raises OSError"""
        base = end_segment
        if not end_position:
            index = bisect_right(self._bases, end_segment - 1)
            base = self._bases[index - 1] if index else end_segment
            end_position = self.segment(base).size_bytes()
        return self.segment(base).offset_before(end_position)

    def list_again(self, offset: int) -> None:
        """A segment was deleted or compacted away since the directory was listed. raises FileNotFoundError: deleted"""
        version, self._version = self._version, -1
        self.refresh(version)
        if not self._bases or offset < self._bases[0]:
            raise FileNotFoundError(f"{self.directory}: offset {offset} was deleted")

    @property
    def bases(self) -> Sequence[int]:
        """Base offsets, in order: the reader's own list, which the next `refresh` replaces."""
        return self._bases

    def segment_bases(self) -> list[int]:
        """Base offsets, in order."""
        return list(self._bases)

    def segment(self, base: int) -> SegmentFile:
        """An open segment; raises FileNotFoundError, where it has been deleted, OSError."""
        segment = self._open.get(base)
        if segment is None:
            segment = self._shared.open(self.directory, base)
            self.confirm()
            self._shared.hold(segment, self._open)
            if len(self._open) > READER_SEGMENTS_MAX:
                self._shared.release(next(iter(self._open.values())))
        else:
            self._shared.use(segment)
            if len(self._open) > 1:
                self._open.move_to_end(base)
        return segment

    def locate(
        self,
        offset: int,
        max_bytes: int,
        end_segment: int,
        end_position: int,
        at_least_one: bool,
        end_offset: int = -1,
    ) -> FileRange | None:
        """The bytes from the batch that holds `offset`, up to `max_bytes` and the end, within one segment.

        end_segment, end_position   where reading stops, from the row: high watermark or last stable offset
        at_least_one                a first batch above `max_bytes` is returned whole; without it nothing is
        end_offset                  the offset at that end, if known: makes the next lookup free
        returns                     None, where nothing lies between `offset` and the end, or nothing fits
        raises                      CorruptSegment; FileNotFoundError, where `offset` was deleted; OSError, where a segment
                                    can't be opened
        """
        try:
            return self._locate(offset, max_bytes, end_segment, end_position, at_least_one, end_offset)
        except FileNotFoundError:
            self.list_again(offset)
            return self._locate(offset, max_bytes, end_segment, end_position, at_least_one, end_offset)

    def _locate(
        self, offset: int, max_bytes: int, end_segment: int, end_position: int, at_least_one: bool, end_offset: int
    ) -> FileRange | None:
        index = max(0, bisect_right(self._bases, offset) - 1)
        while index < len(self._bases):
            base = self._bases[index]
            if base > end_segment:
                return None
            segment = self.segment(base)
            end = end_position if base == end_segment else segment.size_bytes()
            position = segment.known_position(offset)
            if position < 0 or not 0 < end - position <= max_bytes:
                found = _find(segment, offset, end)
                if found is None:
                    index += 1  # between this segment's last batch and the next one's first
                    continue
                position, first_bytes = found
                if end - position > max_bytes:
                    if first_bytes <= max_bytes:
                        return FileRange(segment.fd, position, max_bytes, segment)
                    return FileRange(segment.fd, position, first_bytes, segment) if at_least_one else None
            if base == end_segment:
                segment.remember(end, end_offset)
            return FileRange(segment.fd, position, end - position, segment)
        return None

    def position_of(self, offset: int, end_segment: int, end_position: int) -> tuple[int, int]:
        """(segment, position) of the batch that holds `offset`, or of the next one; the end where there is none.

        raises   CorruptSegment; OSError
        """
        first = max(0, bisect_right(self._bases, offset) - 1)
        for base, end in self._ranges(end_segment, end_position, first):
            found = _find(self.segment(base), offset, end)
            if found is not None:
                return base, found[0]
        return end_segment, end_position

    def batches_from(self, offset: int, end_segment: int, end_position: int) -> Iterator[Found]:
        """Headers of the batches from the one that holds `offset` up to the end. raises CorruptSegment; OSError"""
        first = max(0, bisect_right(self._bases, offset) - 1)
        for base, end in self._ranges(end_segment, end_position, first):
            segment = self.segment(base)
            found = _find(segment, offset, end)
            if found is not None:
                yield from segment.batches(found[0], end)

    def check_entry(self, base: int, found: Found) -> None:
        """Whether a batch of a segment is an entry of an old format: one of today with a damaged magic has other lengths within it.

        raises   CorruptSegment; OSError
        """
        segment = self.segment(base)
        data = segment.read(found)
        if peek_entry(data, 0, len(data)) is None:
            raise segment.corrupt(found.position)

    def ranges_from(self, offset: int, end_segment: int, end_position: int) -> Iterator[tuple[int, int]]:
        """(segment, end) of the segments from the one that holds `offset` up to the end."""
        yield from self._ranges(end_segment, end_position, max(0, bisect_right(self._bases, offset) - 1))

    def first_offset_at(
        self, timestamp_ms: int, log_start_offset: int, end_segment: int, end_position: int
    ) -> TimestampOffset | None:
        """The first record whose timestamp is at least `timestamp_ms`, None where there is none before the end.

        All at once: who serves others meanwhile takes the search itself (`time_search.py`).

        raises   CorruptSegment; OSError
        """
        search = TimeSearch(timestamp_ms, end_segment, end_position)
        search.step(self, log_start_offset, WorkShare())
        return search.found

    def aborted_transactions(
        self, offset: int, found: FileRange, end_segment: int, end_offset: int
    ) -> list[AbortedTransaction]:
        """The aborted transactions that a read_committed reader of a range has to leave out, in the order of markers.

        offset        that was asked for; `found` is what `locate` gave for it
        end_segment   the active segment, or one before it at which reading stops
        end_offset    where reading stops: the last stable offset
        returns       those whose marker lies at or after `offset` and whose first record lies before the end of the
                      range (as far as the index shows that end: a few more do no harm)
        raises        CorruptIndex; FileNotFoundError, where `offset` was deleted; OSError
        source        Kafka `LocalLog.collectAbortedTransactions`, `TransactionIndex.collectAbortedTxns`
        """
        try:
            return self._aborted_transactions(offset, found, end_segment, end_offset)
        except FileNotFoundError:
            self.list_again(offset)
            return self._aborted_transactions(offset, found, end_segment, end_offset)

    def _aborted_transactions(
        self, offset: int, found: FileRange, end_segment: int, end_offset: int
    ) -> list[AbortedTransaction]:
        segment = found.segment
        assert isinstance(segment, SegmentFile)
        first = bisect_right(self._bases, segment.base_offset) - 1
        if self._last_aborted_in < self._bases[max(first, 0)]:
            return []  # of most logs; no system call for them
        following = self._bases[first + 1] if first + 1 < len(self._bases) else end_offset
        range_end = min(segment.offset_after(found.position + found.length, following), end_offset)
        aborted: list[AbortedTransaction] = []
        for base in self._bases[max(first, 0) :]:
            if base not in self._aborted_in:
                continue  # it had none when the list was read, which is as new as the row that told `end_offset`
            path = path_of(self.directory, base, TXN_INDEX_SUFFIX)
            is_through = find_aborted(path, offset, range_end, aborted)
            self.confirm()
            if is_through is None:
                raise FileNotFoundError(f"{path}: compacted into another segment since the directory was listed")
            if is_through or base >= end_segment:
                break
        return aborted

    def max_timestamp(self, end_segment: int, end_position: int, log_start_offset: int = 0) -> TimestampOffset | None:
        """The record with the largest timestamp, the first of them; None in an empty log (KIP-734).

        All at once, as `first_offset_at`.

        raises   CorruptSegment; OSError
        """
        search = LatestSearch(end_segment, end_position)
        search.step(self, log_start_offset, WorkShare())
        return search.found

    def close(self) -> None:
        """Release the segments; ranges that are under way keep theirs."""
        for segment in list(self._open.values()):
            self._shared.release(segment)

    def _ranges(self, end_segment: int, end_position: int, first: int = 0) -> Iterator[tuple[int, int]]:
        """(segment, end) of every segment from the `first` one up to the end."""
        for base in self._bases[first:]:
            if base <= end_segment:
                yield base, end_position if base == end_segment else self.segment(base).size_bytes()


def _find(segment: SegmentFile, offset: int, end: int) -> tuple[int, int] | None:
    """`SegmentFile.find`; raises CorruptSegment, where that meets bytes that are no batch."""
    found = segment.find(offset, end)
    if found is not None and not found[1]:
        raise segment.corrupt(found[0])
    return found

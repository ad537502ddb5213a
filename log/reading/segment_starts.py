"""Where segments begin, the newest first, from the last one on that is not younger than a time: what ListOffsets v0 asks for.

A segment's age is that of its file. These dates grow with offsets: a segment is written to until the next one begins, and one that
compaction wrote has the date of the last one that it replaces. So the time is bisected for, with one `stat` for each halving, however
many segments there are. Where dates were changed from outside (a copy, a restored backup) the answer is one of the places where older and
younger segments meet.

The offsets are gathered in slices, as other searches continue (`time_search.py`). The place is an offset.

Runs in: network workers. Source: Kafka `UnifiedLog.legacyFetchOffsetsBefore`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.reading.work_share import STAT_COST, WorkShare

if TYPE_CHECKING:
    from headrace.log.reading.reader import LogReader

LATEST: Final = -1
EARLIEST: Final = -2
OFFSET_COST: Final = 64  # of one that is gathered
OFFSETS_AT_ONCE: Final = 1_000


class SegmentStarts:
    """Of one partition.

    timestamp_ms     or LATEST: all of them; EARLIEST: the first one
    most             offsets that are wanted
    end_segment      the active one
    end_offset       of the log, the newest offset of all; -1: the active segment is empty, and begins there
    high_watermark   of offsets beyond it, only that is returned

    found   once it is over
    """

    def __init__(
        self, timestamp_ms: int, most: int, end_segment: int, end_offset: int, high_watermark: int, now_ms: int
    ) -> None:
        self.found: list[int] = []
        self.spent = 0  # the cost of its steps, as its caller counts them
        self._timestamp_ms = timestamp_ms
        self._most = most
        self._end_segment = end_segment
        self._end_offset = end_offset
        self._high_watermark = high_watermark
        self._now_ms = now_ms
        self._before: int | None = None  # segments that begin before it are left; None: not looked for yet

    def step(self, reader: LogReader, log_start_offset: int, share: WorkShare) -> bool:
        """Continue; returns whether it is over. raises FileNotFoundError, where what is looked for was deleted; OSError"""
        if self._before is None:
            try:
                self._before = self._begin(reader, share)
            except FileNotFoundError:
                reader.list_again(self._end_segment)
                self._before = self._begin(reader, share)
        bases, found = reader.bases, self.found
        while len(found) < self._most:
            last = bisect_left(bases, self._before)
            if not last:
                break
            if share.is_spent:
                return False
            part = bases[max(0, last - min(OFFSETS_AT_ONCE, self._most - len(found))) : last]
            self._before = part[0]
            found += [max(base, log_start_offset) for base in reversed(part)]
            share.spend(OFFSET_COST * len(part))
        mark = self._high_watermark
        if found and found[0] > mark:
            self.found = [mark, *(offset for offset in found if offset <= mark)]
        return True

    def _begin(self, reader: LogReader, share: WorkShare) -> int:
        """The offset before which the segments begin that are old enough; the log's end, where that counts, is gathered."""
        bases, has_end = reader.bases, self._end_offset >= 0
        count = bisect_right(bases, self._end_segment)
        if self._timestamp_ms == EARLIEST:
            if not count and has_end and self._most > 0:
                self.found.append(self._end_offset)
            return bases[0] + 1 if count else 0
        if self._timestamp_ms != LATEST:
            has_end = has_end and self._now_ms <= self._timestamp_ms
            if not has_end:
                count = bisect_right(
                    range(count), self._timestamp_ms, key=lambda index: self._written_ms(reader, index, share)
                )
        if has_end and self._most > 0:
            self.found.append(self._end_offset)
        return bases[count - 1] + 1 if count else 0

    def _written_ms(self, reader: LogReader, index: int, share: WorkShare) -> int:
        share.spend(STAT_COST)
        return path_of(reader.directory, reader.bases[index], LOG_SUFFIX).stat().st_mtime_ns // 1_000_000

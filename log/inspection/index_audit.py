"""Indexes held against the segment that they lead into, in the same pass over it.

    offset index   an entry (offset, position) is sound where a batch begins at the position and no batch before it reaches
                   the offset: a lookup that starts there misses nothing. It is exact where the batch ends at the offset;
                   followers of Kafka write one entry for several batches, so that one is a note
    time index     an entry (timestamp, offset) is sound where no batch that ends before the offset is later than the
                   timestamp, exact where the batch that ends at the offset has it
    both           entries grow; of a rolled segment the last time entry is the largest timestamp

Source: Kafka `OffsetIndex.lookup`, `LogSegment.findOffsetByTimestamp`, `DumpLogSegments` for what is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from headrace.log.index_layout import OFFSET_ENTRY, TIME_ENTRY
from headrace.log.inspection.entry_scan import Entry
from headrace.log.inspection.fault import Findings
from headrace.log.inspection.index_entries import Indexed, Timed, offset_entries, time_entries

REBUILD = "remove it: the next start of the node rebuilds it from the segment"
HARMLESS = "nothing: lookups still find every batch"


def check_size(findings: Findings, entry: Struct) -> None:
    """A fault where an index ends inside of an entry; raises OSError."""
    if findings.path.stat().st_size % entry.size:
        findings.fault(-1, f"its size is not a multiple of {entry.size}", REBUILD)


class _Inexact:
    """Entries that are sound and not exact: each one told, or the first one, and the others counted."""

    def __init__(self, findings: Findings, is_each: bool) -> None:
        self._findings = findings
        self._is_each = is_each
        self._place = -1
        self._first = ""
        self._count = 0

    def add(self, place: int, what: str) -> None:
        if self._is_each:
            self._findings.note(place, what, HARMLESS)
            return
        self._count += 1
        if self._count == 1:
            self._place, self._first = place, what

    def tell(self) -> None:
        if self._count:
            others = f" ({self._count - 1} more like it)" if self._count > 1 else ""
            self._findings.note(self._place, self._first + others, HARMLESS)
        self._count = 0


class OffsetIndexAudit:
    """Takes the batches of a segment in order, compares the entries as it passes them."""

    def __init__(self, path: Path, base_offset: int, is_each: bool = False) -> None:
        self.findings = Findings(path)
        self._inexact = _Inexact(self.findings, is_each)
        self.count = 0
        self._last = (-1, -1)  # offset, position
        self._last_end = base_offset - 1  # last offset of the batches so far
        check_size(self.findings, OFFSET_ENTRY)
        self._entries: Iterator[Indexed] = offset_entries(path, base_offset)
        self._next = next(self._entries, None)

    def saw(self, entry: Entry) -> None:
        """The next batch of the segment."""
        while (indexed := self._next) is not None and indexed.position <= entry.position:
            if indexed.position < entry.position:
                self._fault(indexed, "no batch begins there")
            elif not self._last_end < indexed.offset or indexed.offset < entry.base_offset:
                self._fault(indexed, f"the batch there holds {entry.base_offset} to {entry.last_offset}")
            elif indexed.offset != entry.last_offset:
                what = (
                    f"offset {indexed.offset} at byte {indexed.position}, where the batch ends at {entry.last_offset}"
                )
                self._inexact.add(indexed.place, what)
            self._advance(indexed)
        self._last_end = max(self._last_end, entry.last_offset)

    def pass_over(self, entry: Entry) -> None:
        """The next batch, whose header can't be believed."""
        while (indexed := self._next) is not None and indexed.position <= entry.position:
            self._advance(indexed)

    def finish(self, end: int, is_active: bool) -> None:
        """The segment ends at byte `end`. An active one may have got batches after it since."""
        while (indexed := self._next) is not None:
            if indexed.position < end or not is_active:
                self._fault(indexed, f"the segment ends at byte {end}")
            self._advance(indexed)
        self._inexact.tell()

    def _advance(self, indexed: Indexed) -> None:
        if self.count and (indexed.offset <= self._last[0] or indexed.position <= self._last[1]):
            self._fault(indexed, f"it follows offset {self._last[0]} at byte {self._last[1]}")
        self._last = (indexed.offset, indexed.position)
        self.count += 1
        self._next = next(self._entries, None)

    def _fault(self, indexed: Indexed, why: str) -> None:
        self.findings.fault(indexed.place, f"offset {indexed.offset} at byte {indexed.position}: {why}", REBUILD)


class TimeIndexAudit:
    """The same for the time index."""

    def __init__(self, path: Path, base_offset: int, is_each: bool = False) -> None:
        self.findings = Findings(path)
        self._inexact = _Inexact(self.findings, is_each)
        self.count = 0
        self._last = (-1, -1)  # timestamp, offset
        self._latest_ms = -1  # of the batches so far
        check_size(self.findings, TIME_ENTRY)
        self._entries: Iterator[Timed] = time_entries(path, base_offset)
        self._next = next(self._entries, None)

    def saw(self, entry: Entry) -> None:
        """The next batch of the segment."""
        while (timed := self._next) is not None and timed.offset <= entry.last_offset:
            if self._latest_ms > timed.timestamp_ms:
                self._fault(timed, f"a batch before it has timestamp {self._latest_ms}")
            elif timed.offset < entry.last_offset or timed.timestamp_ms != entry.max_timestamp:
                self._not_exact(timed, entry)
            self._advance(timed)
        self._latest_ms = max(self._latest_ms, entry.max_timestamp)

    def finish(self, end: int, is_active: bool) -> None:
        """The segment ends here. An active one may have got batches since."""
        while (timed := self._next) is not None:
            if not is_active:
                self._fault(timed, "no batch of the segment reaches that offset")
            self._advance(timed)
        self._inexact.tell()
        if not is_active and self._latest_ms > max(self._last[0], 0):
            what = f"the latest batch has timestamp {self._latest_ms}, the last entry {self._last[0]}"
            self.findings.fault(-1, what, REBUILD)

    def _not_exact(self, timed: Timed, entry: Entry) -> None:
        what = f"timestamp {timed.timestamp_ms} at offset {timed.offset}, but the batch has timestamp {entry.max_timestamp}"
        what += f" and ends at {entry.last_offset}"
        if timed.timestamp_ms < entry.max_timestamp and timed.offset >= entry.last_offset:
            self.findings.fault(timed.place, what, REBUILD)
        else:
            self._inexact.add(timed.place, what)

    def _advance(self, timed: Timed) -> None:
        if self.count and (timed.timestamp_ms <= self._last[0] or timed.offset < self._last[1]):
            self._fault(timed, f"it follows timestamp {self._last[0]} at offset {self._last[1]}")
        self._last = (timed.timestamp_ms, timed.offset)
        self.count += 1
        self._next = next(self._entries, None)

    def _fault(self, timed: Timed, why: str) -> None:
        self.findings.fault(timed.place, f"timestamp {timed.timestamp_ms} at offset {timed.offset}: {why}", REBUILD)

"""One compaction of one log: what is superseded goes, offsets stay.

    1. scan     the headers of the whole log: outcomes of transactions, last batches of producers
    2. map      the keys of the dirty part, oldest first, into a bounded map, until it is full
    3. clean    segments from the first one up to where the map ends, in groups that fit one segment: what stays goes into
                `.cleaned` files, synced; then the owner of the log is asked to put them in place (`segment_swap.py`)

`steps` is a generator: it yields the bytes it has moved, so that its caller may keep a rate, beat, or do something else; and
a `Swap`, to which the caller sends whether it was done. It can be dropped anywhere. It reads segments that are rolled and
committed, with `pread`; what it finds wrong it raises, and changes nothing.

What is empty goes, also the end of a group: the log holds nothing that Kafka's cleaner would not leave. Where the group ends
is in a file of its own (`cleaned_segment.py`), on which recovery relies. Empty batches that older versions left at the ends of
groups go with the next pass.

Runs in: the housekeeper. Source: Kafka `LogCleaner`, `Cleaner.doClean`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.limits import GROUP_SEGMENTS_MAX
from headrace.log.compaction.batch_cleaner import BatchCleaner, Lanes, decode
from headrace.log.compaction.cleaned_segment import CleanedSegment, remove_cleaned
from headrace.log.compaction.compaction_plan import CompactionFailed, CompactionLimits, Swap, SwapRefused
from headrace.log.compaction.offset_map import OffsetMap
from headrace.log.compaction.record_columns import hash_keys
from headrace.log.compaction.segment_chunks import Batch, read_chunks
from headrace.log.compaction.transaction_scan import Outcome, TransactionScan
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.index_layout import RELATIVE_OFFSET_MAX, TXN_ENTRY
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, path_of, segment_bases
from headrace.log.reading.segment_file import SegmentFile
from headrace.protocol.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT

PLAIN_BYTES_RATIO = 2  # decompressed bytes at a time, in chunks
SCAN_STEP_BATCHES = 4096
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class CompactionStats:
    """What a compaction did."""

    bytes_before: int = 0
    bytes_after: int = 0
    segments_before: int = 0
    segments_after: int = 0
    records_read: int = 0
    records_kept: int = 0
    map_entries: int = 0
    map_bytes: int = 0


class _Source(NamedTuple):
    base_offset: int
    end_offset: int
    size_bytes: int


@dataclass(slots=True)
class Compaction:
    """One pass. After `steps` is through: `end_offset` is where the next one begins.

    first_dirty_offset   everything below it was compacted before
    uncleanable_offset   a segment that begins here or above, or holds it, is left alone
    log_end              (segment, position): up to there batches are whole
    """

    directory: Path
    config: LogConfig
    first_dirty_offset: int
    uncleanable_offset: int
    log_end: tuple[int, int]
    now_ms: int
    limits: CompactionLimits = field(default_factory=CompactionLimits)
    disk: Disk = field(default_factory=Disk)
    stats: CompactionStats = field(default_factory=CompactionStats)
    end_offset: int = -1

    def steps(self) -> Generator[int | Swap, bool | None, None]:
        """Yields bytes moved, and swaps to be made.

        raises   CompactionFailed, CorruptSegment, CorruptRecord, CompressionError or SegmentOverflow: this log needs an
                 operator; SwapRefused, OSError: try again later
        """
        remove_cleaned(self.directory, self.disk)
        bases = segment_bases(self.directory)
        sources = [
            _Source(base, following, path_of(self.directory, base, LOG_SUFFIX).stat().st_size)
            for base, following in pairwise(bases)
            if following <= self.uncleanable_offset
        ]
        transactions = TransactionScan()
        yield from self._scan(bases, transactions)
        offsets = OffsetMap(
            self.limits.map_bytes,
            self.limits.load_factor,
            max(0, (sources[-1].end_offset if sources else 0) - self.first_dirty_offset),
        )
        offsets.latest_offset = self.first_dirty_offset - 1
        yield from self._fill(
            offsets, [one for one in sources if one.end_offset > self.first_dirty_offset], transactions
        )
        self.stats.map_entries, self.stats.map_bytes = len(offsets), offsets.memory_bytes
        self.end_offset = offsets.latest_offset + 1
        cleaner = BatchCleaner(
            offsets, transactions, self.now_ms, self.config.delete_retention_ms,
            PLAIN_BYTES_RATIO * self.limits.chunk_bytes,
        )  # fmt: skip
        for group in self._groups([one for one in sources if one.base_offset < self.end_offset]):
            yield from self._clean(group, cleaner)
        self.stats.records_read, self.stats.records_kept = cleaner.records_read, cleaner.records_kept

    def _scan(self, bases: list[int], transactions: TransactionScan) -> Iterator[int]:
        """The headers of all batches up to the log's end."""
        end_segment, end_position = self.log_end
        for base in bases:
            if base > end_segment:
                return
            segment = SegmentFile(self.directory, base)
            age_ms = self.now_ms - os.fstat(segment.fd).st_mtime_ns // 1_000_000
            is_active = age_ms <= self.limits.producer_expiration_ms
            end = end_position if base == end_segment else segment.size_bytes()
            moved = 0
            for count, batch in enumerate(segment.batches(0, end)):
                if batch[2].producer_id >= 0:
                    transactions.take(segment, batch, is_active)
                moved += batch.size
                if count % SCAN_STEP_BATCHES == SCAN_STEP_BATCHES - 1:
                    yield moved
                    moved = 0
            yield moved

    def _fill(self, offsets: OffsetMap, sources: list[_Source], transactions: TransactionScan) -> Iterator[int]:
        """Put the keys of the dirty part into the map, as many batches as fit."""
        for source in sources:
            for batches, size in self._chunks(source):
                wanted: list[Batch] = []
                is_open = False
                for header, batch in batches:
                    if header[0] + header[6] < self.first_dirty_offset:
                        continue
                    if header.attributes & (TRANSACTIONAL_BIT | CONTROL_BIT):
                        if header.is_control or not header.record_count:
                            continue
                        outcome = transactions.outcome(header)
                        is_open = outcome is Outcome.OPEN
                        if is_open:
                            break
                        if outcome is not Outcome.COMMITTED:
                            continue
                    wanted.append((header, batch))
                for lanes in decode(wanted, PLAIN_BYTES_RATIO * self.limits.chunk_bytes):
                    keyed = (lanes.columns.key_length >= 0) & (lanes.offsets() >= self.first_dirty_offset)
                    if not self._put(offsets, lanes, keyed):
                        return
                if is_open:
                    return
                offsets.latest_offset = max(offsets.latest_offset, batches[-1][0].last_offset)
                yield size

    def _put(self, offsets: OffsetMap, lanes: Lanes, keyed: Flags) -> bool:
        """Put the chosen records, batch by batch as long as there is room; returns whether all went in.

        raises   CompactionFailed, where not even the first batch fits
        """
        columns = lanes.columns
        counts = np.bincount(columns.lane[keyed], minlength=len(lanes.batches))
        records = np.nonzero(keyed)[0]
        first, second = hash_keys(lanes.data, columns.key_start[records], columns.key_length[records])
        numbers = lanes.offsets()[records]
        ends = np.cumsum(counts)
        lane = place = 0
        while lane < len(counts):
            upto = int(np.searchsorted(ends, place + offsets.room, side="right"))
            if upto <= lane:
                break
            upto_place = int(ends[upto - 1])
            offsets.put(first[place:upto_place], second[place:upto_place], numbers[place:upto_place])
            lane, place = upto, upto_place
            offsets.latest_offset = max(offsets.latest_offset, lanes.batches[lane - 1][0].last_offset)
        if lane == len(counts):
            return True
        if offsets.latest_offset < self.first_dirty_offset:
            raise CompactionFailed(
                f"{self.directory}: a batch of {int(counts[lane])} keys does not fit into a map of {offsets.keys_max}: "
                "log.cleaner.dedupe.buffer.size is too small"
            )
        return False

    def _clean(self, group: list[_Source], cleaner: BatchCleaner) -> Generator[int | Swap, bool | None, None]:
        """Write what is left of a group, have it put in place."""
        base = group[0].base_offset
        cleaner.abort_markers.clear()
        target = CleanedSegment(self.directory, base, self.config.index_interval_bytes, self.disk)
        is_changed = len(group) > 1
        try:
            for source in group:
                for batches, size in self._chunks(source):
                    kept = cleaner.clean(batches)
                    for (_header, batch), one in zip(batches, kept, strict=True):
                        is_changed = is_changed or one is None or one[1] is not batch
                        if one is not None:
                            target.put(one[1], one[0])
                    yield size + target.write()
            size = sum(one.size_bytes for one in group)
            self.stats.bytes_before += size
            self.stats.segments_before += len(group)
            self.stats.segments_after += 1
            self.stats.bytes_after += target.size_bytes
            if is_changed:
                aborted = self._aborted_transactions(group, cleaner.abort_markers)
                target.finish(aborted, self._modified_ns(group[-1]), group[-1].end_offset)
        finally:
            target.close()
        if not is_changed:
            remove_cleaned(self.directory, self.disk, base)
        elif not (yield Swap([(one.base_offset, one.size_bytes) for one in group])):
            raise SwapRefused(f"{self.directory}: segments {base} to {group[-1].base_offset}")

    def _chunks(self, source: _Source) -> Iterator[tuple[list[Batch], int]]:
        segment = SegmentFile(self.directory, source.base_offset)
        return read_chunks(segment, source.size_bytes, self.limits.chunk_bytes)

    def _groups(self, sources: list[_Source]) -> Iterator[list[_Source]]:
        """Neighbours that fit into one segment and its indexes. source: Kafka `Cleaner.groupSegmentsBySize`"""
        group: list[_Source] = []
        size = index_bytes = time_bytes = 0
        for source in sources:
            indexes = [self._size_of(source.base_offset, suffix) for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)]
            if group and (
                size + source.size_bytes > self.config.segment_bytes
                or max(index_bytes + indexes[0], time_bytes + indexes[1]) > self.config.index_bytes_max
                or source.end_offset - 1 - group[0].base_offset > RELATIVE_OFFSET_MAX
                or len(group) == GROUP_SEGMENTS_MAX
            ):
                yield group
                group, size, index_bytes, time_bytes = [], 0, 0, 0
            group.append(source)
            size += source.size_bytes
            index_bytes += indexes[0]
            time_bytes += indexes[1]
        if group:
            yield group

    def _size_of(self, base: int, suffix: str) -> int:
        try:
            return path_of(self.directory, base, suffix).stat().st_size
        except FileNotFoundError:
            return 0

    def _modified_ns(self, source: _Source) -> int:
        return path_of(self.directory, source.base_offset, LOG_SUFFIX).stat().st_mtime_ns

    def _aborted_transactions(self, group: list[_Source], markers: set[int]) -> bytes | None:
        """Entries of the group's transaction indexes whose marker stayed: one without would never end for a consumer."""
        out: bytearray | None = None
        for source in group:
            try:
                data = path_of(self.directory, source.base_offset, TXN_INDEX_SUFFIX).read_bytes()
            except FileNotFoundError:
                continue
            out = out or bytearray()
            for entry in TXN_ENTRY.iter_unpack(data[: len(data) - len(data) % TXN_ENTRY.size]):
                if entry[3] in markers:
                    out += TXN_ENTRY.pack(*entry)
        return None if out is None else bytes(out)

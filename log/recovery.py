"""Finding the end of a segment: a parser of batch headers plus a checksum.

A crash leaves whole batches, then perhaps a torn one, zeros, or noise. The valid end is the first byte that
does not begin a whole batch with the right checksum and an offset that follows. Nothing behind it was
acknowledged: an acknowledgement follows the write that holds the batch.

    header walk       structure only: for what is known to be whole
    checked walk      CRC-32C of every batch besides, at memory speed

Entries of the formats v0 and v1, which an older Kafka left, are walked in the same way by their own lengths and CRC-32.

Runs in: the partition worker that owns the log, while it opens; the walks also in readers.
Source: Kafka `LogSegment.recover`, `LogLoader`.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import NamedTuple

from crc32c import crc32c

from headrace.errors import CorruptIndex
from headrace.log.leader_epochs import LeaderEpochs
from headrace.log.segment import RELATIVE_OFFSET_MAX, Segment
from headrace.protocol.message_set import ENTRY_BYTES_MIN, compute_message_crc, peek_entry
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    RecordBatchHeader,
)

_LENGTH_MIN = HEADER_BYTES - LOG_OVERHEAD_BYTES
PROGRESS_COST = 64 << 20  # bytes read between two calls of `progress`, and as many index entries are due at most
BATCH_COST = 2048  # what a batch costs besides its bytes, as bytes

Progress = Callable[[], None]
Step = tuple[int, int, int, int, int, int]  # position, size, base offset, last offset, max timestamp, leader epoch


class Found(NamedTuple):
    """One valid batch, or entry of an old format (`message_set.old_header`): where it lies, and its header."""

    position: int
    size: int
    header: RecordBatchHeader


def walk(fd: int, start: int, end: int, next_offset: int, is_checked: bool) -> Iterator[Step]:
    """The valid batches from byte `start`; ends at the first byte that begins none, or at `end`.

    next_offset   the smallest offset that the first batch may have
    is_checked    whether checksums are compared
    """
    if end - start < ENTRY_BYTES_MIN:
        return
    unpack = HEADER.unpack_from
    with mmap.mmap(fd, end, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
        position = start
        last_start = end - HEADER_BYTES
        while True:
            if position > last_start or view[position + MAGIC_POSITION] < MAGIC_V2:
                step = _old_step(view, position, end, next_offset, is_checked)
                if step is None:
                    return
                yield step
                position += step[1]
                next_offset = step[3] + 1
                continue
            base_offset, length, epoch, magic, crc, _attributes, last_delta, _base_timestamp, max_timestamp, *_rest = (
                unpack(view, position)
            )
            behind = position + length + LOG_OVERHEAD_BYTES
            if magic != MAGIC_V2 or length < _LENGTH_MIN or behind > end or base_offset < next_offset or last_delta < 0:
                return
            if is_checked:
                with view[position + ATTRIBUTES_POSITION : behind] as body:
                    if crc32c(body) != crc:
                        return
            last_offset = base_offset + last_delta
            yield position, behind - position, base_offset, last_offset, max_timestamp, epoch
            position = behind
            next_offset = last_offset + 1


def _old_step(view: memoryview, position: int, end: int, next_offset: int, is_checked: bool) -> Step | None:
    """The entry of v0 or v1 at a position, None where there is none that fits."""
    entry = peek_entry(view, position, end)
    if entry is None or entry.last_offset < next_offset:
        return None
    if is_checked and compute_message_crc(view, position, entry.size) != entry.crc:
        return None
    return position, entry.size, entry.last_offset, entry.last_offset, entry.timestamp_ms, -1


class Recovery:
    """Makes one segment true: its end, its indexes, the leader epochs that begin in it."""

    def __init__(self, segment: Segment, epochs: LeaderEpochs, index_interval_bytes: int, progress: Progress | None):
        self._segment = segment
        self._epochs = epochs
        self._interval_bytes = index_interval_bytes
        self._progress = progress
        self._end = 0
        self.next_offset = segment.base_offset  # behind the last valid batch, once `run` is through

    def run(self, known_end: int) -> int:
        """Cut what is behind the last valid batch, and make the indexes cover what is left.

        known_end   up to this byte the segment is known to be whole, so that structure is enough: the last stop was
                    clean, or the owner before us had published it; 0: nothing is known
        returns     the number of bytes cut
        raises      OSError
        """
        segment = self._segment
        size = segment.size_bytes
        known_end = min(known_end, size)
        if not (known_end and self._trust_up_to(known_end)):
            self._forget_indexes()
        self._scan(size)
        if segment.first_timestamp_ms < 0 < self._end:
            first = next(walk(segment.fd, 0, self._end, segment.base_offset, is_checked=False))
            segment.first_timestamp_ms = first[4]
        if self._end < size:
            segment.truncate(self._end)
        return size - self._end

    def rebuild_indexes(self) -> None:
        """Index a segment that is known to be whole, and cut nothing: without checksums, as far as headers lead.

        raises   OSError
        """
        self._forget_indexes()
        self._scan(self._segment.size_bytes, is_checked=False)

    def _trust_up_to(self, known_end: int) -> bool:
        """Walk the headers from the last index entry to the known end; False where they don't fit together."""
        segment = self._segment
        index, times = segment.offset_index, segment.time_index
        try:
            index.check(segment.size_bytes)
            times.check()
        except CorruptIndex:
            return False
        index.truncate_to_position(known_end)
        last = index.last()
        start = last[1] if last is not None else 0
        end, next_offset = start, segment.base_offset
        largest_ms, largest_offset = -1, segment.base_offset
        steps = walk(segment.fd, start, known_end, segment.base_offset, is_checked=False)
        for position, size, _base_offset, last_offset, timestamp_ms, _epoch in self._watched(steps):
            if last is not None and position == start and last_offset != last[0]:
                return False  # the entry points at another batch
            end = position + size
            next_offset = last_offset + 1
            if timestamp_ms > largest_ms:
                largest_ms, largest_offset = timestamp_ms, last_offset
        if index.entries and not times.entries and largest_ms > 0:
            return False  # the time index was lost
        times.truncate_to_offset(next_offset)
        segment.max_timestamp_ms, segment.max_timestamp_offset = times.last_timestamp, segment.base_offset
        if largest_ms > segment.max_timestamp_ms:
            segment.max_timestamp_ms, segment.max_timestamp_offset = largest_ms, largest_offset
        segment.bytes_since_index = end - start
        self._end, self.next_offset = end, next_offset
        return end == known_end

    def _forget_indexes(self) -> None:
        segment = self._segment
        segment.offset_index.truncate(0)
        segment.time_index.truncate(0)
        segment.max_timestamp_ms = -1
        segment.max_timestamp_offset = segment.base_offset
        segment.bytes_since_index = 0
        self._end, self.next_offset = 0, segment.base_offset

    def _scan(self, size: int, is_checked: bool = True) -> None:
        """Index every batch behind what is trusted, up to the first that is none."""
        segment = self._segment
        saw_batch, interval_bytes = segment.saw_batch, self._interval_bytes
        latest_epoch = self._epochs.latest
        last_offset_max = segment.base_offset + RELATIVE_OFFSET_MAX
        steps = walk(segment.fd, self._end, size, self.next_offset, is_checked)
        for position, batch_bytes, base_offset, last_offset, timestamp_ms, epoch in self._watched(steps):
            if last_offset > last_offset_max:
                break  # no index could hold it: not of this segment
            saw_batch(last_offset, position, batch_bytes, timestamp_ms, interval_bytes)
            if epoch > latest_epoch:
                latest_epoch = epoch
                self._epochs.assign(epoch, base_offset)
            self._end = position + batch_bytes
            self.next_offset = last_offset + 1
        segment.write_index()

    def _watched(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The same steps; now and then somebody is told, and the index entries that are due are stored."""
        cost = 0
        for step in steps:
            yield step
            cost += step[1] + BATCH_COST
            if cost >= PROGRESS_COST:
                cost = 0
                self._segment.write_index()
                if self._progress is not None:
                    self._progress()

"""Finding the end of a segment: a parser of batch headers plus a checksum.

A crash leaves whole batches, then perhaps a torn one, zeros, or noise. The valid end is the first byte that
does not begin a whole batch with the right checksum and an offset that follows. Nothing after it was
acknowledged: an acknowledgement follows the write that holds the batch. That is so of what was not synced; for what was, the
caller keeps it (`log_loader.py`). What is cut is cut durably, so that a second
crash doesn't bring it back under batches that were written over it.

    header walk       structure only: for what is known to be whole
    checked walk      CRC-32C of every batch besides; producers, transactions and epochs are learnt in the same pass

Entries of the formats v0 and v1, which an older Kafka left, are walked in the same way by their own lengths and CRC-32.

Runs in: the partition worker that owns the log, while it opens.
Source: Kafka `LogSegment.recover`, `LogLoader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from headrace.errors import CorruptIndex
from headrace.log.batch_walk import Run, size_of, walk, walk_runs
from headrace.log.disk import Disk
from headrace.log.index_layout import RELATIVE_OFFSET_MAX
from headrace.log.recovery.replay import ProducerReplay
from headrace.log.segments.segment import Segment
from headrace.log.state.leader_epochs import LeaderEpochs

PROGRESS_COST: Final = 64 << 20  # bytes read between two calls of `progress`, and as many index entries are due at most
BATCH_COST: Final = 2048  # what a batch costs besides its bytes, as bytes

# Called with the bytes that were read since the last call.
Progress = Callable[[int], None]


class Recovery:
    """Makes one segment true: its end, its indexes, the leader epochs that begin in it, the producers' state.

    before_cut   called before damaged batches go, with their position and the offset that was expected there
    """

    def __init__(
        self,
        segment: Segment,
        epochs: LeaderEpochs,
        index_interval_bytes: int,
        progress: Progress | None,
        disk: Disk,
        replay: ProducerReplay | None = None,
        before_cut: Callable[[int, int], None] | None = None,
    ) -> None:
        self._segment = segment
        self._epochs = epochs
        segment.index_interval_bytes = index_interval_bytes
        self._disk = disk
        self._progress = progress
        self._replay = replay
        self._before_cut = before_cut
        self._end = 0
        self.next_offset = segment.base_offset  # after the last valid batch, once `run` is through
        self.scanned_from = 0  # from this byte on every batch told its epoch

    def run(self, known_end: int, *, was_cut: bool = False) -> int:
        """Cut what is after the last valid batch, and make the indexes cover what is left.

        known_end   up to this byte the segment is known to be whole, so that structure is enough: the last stop was
                    clean, or the owner before us had published it; 0: nothing is known
        was_cut     by its owner, at that byte: entries of what went say nothing against the index
        returns     the number of bytes cut
        raises      OSError
        """
        segment = self._segment
        size = segment.size_bytes
        known_end = min(known_end, size)
        if not (known_end and self._trust_up_to(known_end, was_cut=was_cut)):
            self._forget_indexes()
        if self._replay is not None:
            segment.transaction_index.truncate_to_offset(self.next_offset, self._progress)
            self._replay.catch_up(segment.base_offset, self._end, self.next_offset, segment.transaction_index)
        self._scan(size)
        if segment.first_timestamp_ms < 0 < self._end:
            for first in walk(segment.fd, 0, self._end, segment.base_offset, is_checked=False, disk=self._disk):
                segment.first_timestamp_ms = first.max_timestamp_ms
                break  # where the first header is damaged, and a clean stop vouched for it, there is none
        if self._end < size:
            if self._before_cut is not None:
                self._before_cut(self._end, self.next_offset)
            segment.truncate(self._end)
            segment.sync()
        return size - self._end

    def rebuild_indexes(self) -> None:
        """Index a segment that is known to be whole, and cut nothing: without checksums, as far as headers lead.

        raises   OSError
        """
        self._forget_indexes()
        self._scan(self._segment.size_bytes, is_checked=False)

    def _trust_up_to(self, known_end: int, *, was_cut: bool) -> bool:
        """Walk the headers from the last index entry to the known end; False where they don't fit together."""
        segment = self._segment
        index, times = segment.offset_index, segment.time_index
        if was_cut:
            index.truncate_to_position(known_end)
        try:
            index.check(segment.size_bytes)
            times.check()
        except CorruptIndex:
            return False
        if index.is_remade or times.is_remade:
            return False
        index.truncate_to_position(known_end)
        last = index.last()
        start = last[1] if last is not None else 0
        if start < 0:
            return False
        end, next_offset, begins = start, segment.base_offset, start
        largest_ms, largest_offset = -1, segment.base_offset
        runs = walk_runs(segment.fd, start, known_end, segment.base_offset, is_checked=False, disk=self._disk)
        for step in chain.from_iterable(self._watched(runs, is_recovery=False)):
            if last is not None and step.position == start and step.base_offset > last[0]:
                return False  # the entry points at another batch (Kafka's followers index the last offset of a fetch)
            begins = step.position
            end = begins + step.size
            next_offset = step.last_offset + 1
            if step.max_timestamp_ms > largest_ms:
                largest_ms, largest_offset = step.max_timestamp_ms, step.last_offset
        if last is None and begins > segment.index_interval_bytes:
            return False  # the index was lost: each look-up would walk all of these batches
        if index.entries and not times.entries and largest_ms > 0:
            return False  # the time index was lost
        times.truncate_to_offset(next_offset)
        segment.max_timestamp_ms, segment.max_timestamp_offset = times.last_timestamp, segment.base_offset
        if times.entries:
            segment.max_timestamp_offset = times.entry(times.entries - 1)[1]
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
        """Index every batch after what is trusted, up to the first that is none."""
        segment = self._segment
        last_offset_max = segment.base_offset + RELATIVE_OFFSET_MAX
        self.scanned_from = self._end
        for run in self._watched(walk_runs(segment.fd, self._end, size, self.next_offset, is_checked, self._disk)):
            fitting = run
            if run[-1].last_offset > last_offset_max:  # no index could hold it: not of this segment
                fitting = [step for step in run if step.last_offset <= last_offset_max]
            if fitting:
                self._take(fitting)
            if len(fitting) < len(run):
                break
        segment.write_index()

    def _take(self, run: Run) -> None:
        """Batches that were found good, after all that were taken before."""
        segment, replay = self._segment, self._replay
        take_batch = segment.take_batch
        latest_epoch = self._epochs.latest
        for (
            position,
            size,
            base_offset,
            last_offset,
            max_timestamp_ms,
            leader_epoch,
            _id,
            _epoch,
            _sequence,
            _bits,
        ) in run:
            take_batch(
                last_offset, position, size, max_timestamp_ms
            )  # fits: no limits are set, and `_scan` saw the offsets
            if leader_epoch > latest_epoch:
                latest_epoch = leader_epoch
                self._epochs.assign(latest_epoch, base_offset)
        if replay is not None:
            replay.take(run, segment.fd, segment.transaction_index)
        self._end = run[-1].position + run[-1].size
        self.next_offset = run[-1].last_offset + 1

    def _watched(self, runs: Iterator[Run], *, is_recovery: bool = True) -> Iterator[Run]:
        """The same runs; now and then `progress` is called, and the index entries that are due are stored.

        is_recovery   not the walk at the end of a log that is known to be whole: that is a sign of life, no bytes
        """
        cost = unreported = 0
        for run in runs:
            yield run
            cost += size_of(run) + len(run) * BATCH_COST
            unreported += size_of(run) * is_recovery
            if cost >= PROGRESS_COST:
                self._segment.write_index()
                if self._progress is not None:
                    self._progress(unreported)
                cost = unreported = 0
        if self._progress is not None and unreported:
            self._progress(unreported)

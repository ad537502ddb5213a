"""The end of a log, where batches go: what appends of clients, leaders and coordinators have in common.

    write        aborted transactions, whose markers are among the batches, into their index; the batches into the active segment;
                 the index entries that are due; then the log's end moves
    roll         the next segment begins at the log's end; the producers' state is written down
    settle       after the last write of a call: a flush, or a snapshot of the producers, where one is due

Runs in: the partition worker that owns the log. Source: Kafka `UnifiedLog.append`, `maybeRoll`.
"""

from __future__ import annotations

from headrace.errors import is_exhausted
from headrace.log.config import LogConfig
from headrace.log.index_layout import AbortedTransaction
from headrace.log.segments.segment import Segment
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.producer_state import ProducerState
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.segment_list import SegmentList
from headrace.log.writing.sync_state import SyncState


class LogTail:
    """Of one log.

    bytes_since_snapshot   what a restart would replay of the log for its producers
    """

    __slots__ = ("_epochs", "_interval_bytes", "_latch", "_producers", "_segments", "_sync", "bytes_since_snapshot")

    def __init__(
        self,
        segments: SegmentList,
        sync: SyncState,
        epochs: LeaderEpochs,
        producers: ProducerState,
        latch: FailureLatch,
        snapshot_interval_bytes: int,
        bytes_since_snapshot: int,
    ) -> None:
        self._segments = segments
        self._sync = sync
        self._epochs = epochs
        self._producers = producers
        self._latch = latch
        self._interval_bytes = snapshot_interval_bytes
        self.bytes_since_snapshot = bytes_since_snapshot

    def write(self, batches: list[memoryview], end_offset: int) -> None:
        """Write whole batches that the active segment took; the log then ends at an offset. raises StorageFailed"""
        segment = self._segments.active
        start = segment.size_bytes
        try:
            segment.write(batches)
        except OSError as failure:
            self._latch.fail(f"write of {len(batches)} batches", failure)
        self.bytes_since_snapshot += segment.size_bytes - start
        self._segments.end_offset = end_offset

    def write_run(self, run: memoryview, end_offset: int, aborted: list[AbortedTransaction]) -> None:
        """Write the aborted transactions whose markers are among batches that lie side by side, then these batches.

        An index entry without its marker tells readers of nothing, and opening cuts it. A marker without its entry would be read
        as if nothing had been aborted.

        aborted   is empty after it
        raises    StorageFailed
        """
        try:
            for one in aborted:
                if self._segments.active.transaction_index.append(one):
                    self._segments.note_transaction_index()
        except OSError as failure:
            self._latch.fail("transaction index", failure)
        aborted.clear()
        if len(run):
            self.write([run], end_offset)

    def roll(self, config: LogConfig) -> Segment:
        """Begin the next segment, which is returned. raises StorageFailed"""
        segment = self._segments.roll()
        self._snapshot()
        segment.set_limits(config)
        return segment

    def settle(self, config: LogConfig) -> None:
        """An append is through: flush or snapshot where one is due. raises StorageFailed"""
        self._sync.note_append(config.flush_messages)
        if self.bytes_since_snapshot >= self._interval_bytes:
            self._snapshot()

    def sync_due(self, config: LogConfig) -> None:
        """Flush where `flush.messages` wants that, though nothing was written now. raises StorageFailed"""
        self._sync.flush_records(config.flush_messages)

    def begin_epoch(self, epoch: int, offset: int) -> None:
        """A leader epoch begins at an offset, unless it is known. raises StorageFailed"""
        try:
            self._epochs.assign(epoch, offset, is_durable=False)  # synced before the recovery point passes its batches
        except OSError as failure:
            self._latch.fail("leader epoch", failure)

    def drop_empty_epoch(self) -> None:
        """The latest epoch has no record, and an earlier one goes on where it began. raises StorageFailed"""
        try:
            self._epochs.truncate_from_end(self._segments.end_offset)
        except OSError as failure:
            self._latch.fail("leader epochs", failure)

    def forget_epochs(self) -> None:
        """Batches of an old format come: no epoch is known from here on. raises StorageFailed"""
        try:
            self._epochs.replace([])
        except OSError as failure:
            self._latch.fail("leader epochs", failure)

    def _snapshot(self) -> None:
        """Bounds how much of the log a restart replays. Only the process's death has to leave it whole.

        Without room there is none for now: a restart replays more.
        """
        try:
            self._producers.write_snapshot(self._segments.end_offset, self._segments.bases, is_durable=False)
        except OSError as failure:
            if not is_exhausted(failure):
                self._latch.fail("snapshot", failure)
        self.bytes_since_snapshot = 0

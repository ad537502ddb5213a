"""What of a log is synced, and the flush that syncs the rest.

Nothing in the append path syncs unless `flush.messages` says so; rolled segments are synced by the housekeeper, which tells
(`note_synced`). Beginning a log syncs nothing either: the first flush does, with the name of its directory and its small
files. What a crash of the machine leaves of a log that was never flushed opens as an empty one.

Before the recovery point moves, the leader epochs are synced, where they are not: recovery learns those of the batches after it,
and of no others (`log/state/leader_epochs.py`).

Runs in: the partition worker that owns the log. Source: Kafka `UnifiedLog.flush`; docs/decisions/006.
"""

from __future__ import annotations

from pathlib import Path

from headrace.clock import Clock
from headrace.log.disk import Disk
from headrace.log.segments.segment import sync_segment
from headrace.log.state.checkpoints import sync_beginning
from headrace.log.state.leader_epochs import LeaderEpochs
from headrace.log.state.truncation_mark import TruncationMark
from headrace.log.writing.failure_latch import FailureLatch
from headrace.log.writing.segment_list import SegmentList


class SyncState:
    """Of one log.

    recovery_point   everything below it has been synced
    is_begun         the log was made by this process, and neither its name nor its small files were synced since
    """

    __slots__ = (
        "_clock",
        "_directory",
        "_disk",
        "_epochs",
        "_latch",
        "_mark",
        "_segments",
        "_unflushed_since_ms",
        "is_begun",
        "recovery_point",
    )

    def __init__(
        self,
        directory: Path,
        segments: SegmentList,
        mark: TruncationMark,
        epochs: LeaderEpochs,
        disk: Disk,
        clock: Clock,
        latch: FailureLatch,
        recovery_point: int,
        *,
        is_begun: bool,
    ) -> None:
        self._directory = directory
        self._epochs = epochs
        self._segments = segments
        self._mark = mark
        self._disk = disk
        self._clock = clock
        self._latch = latch
        self.recovery_point = recovery_point
        self.is_begun = is_begun
        self._unflushed_since_ms = (
            0  # when the first batch after the recovery point came, or was found, monotonic; 0: none
        )
        if recovery_point < segments.end_offset:
            self._unflushed_since_ms = clock.monotonic_ns() // 1_000_000

    def note_append(self, flush_messages: int) -> None:
        """Batches were written. Flushes where so many records are not synced; raises StorageFailed."""
        if not self._unflushed_since_ms:
            self._unflushed_since_ms = self._clock.monotonic_ns() // 1_000_000
        self.flush_records(flush_messages)

    def flush_records(self, flush_messages: int) -> None:
        """Flush where so many records are not synced. raises StorageFailed"""
        if self._segments.end_offset - self.recovery_point >= flush_messages:
            self.flush()

    def flush(self) -> None:
        """Sync everything; the recovery point moves to the log's end.

        raises   StorageFailed: what was written since the last flush may be gone, retrying would lie about it
        """
        self._latch.check()
        segments = self._segments
        if self.recovery_point == segments.end_offset and not segments.unsynced and not segments.has_new_names:
            return
        self._save_epochs()
        try:
            for base_offset in segments.unsynced:
                self._sync_rolled(base_offset)
                segments.has_new_names = True
            segments.active.sync()
            if self.is_begun:
                sync_beginning(self._directory, self._disk)
            if self._epochs.sync() or segments.has_new_names:
                self._disk.sync_directory(self._directory)
            if 0 <= self._mark.distrusted_until <= segments.end_offset:
                self._mark.remove()
        except OSError as failure:
            self._latch.fail("fsync", failure, is_sync=True)
        segments.unsynced.clear()
        segments.has_new_names = self.is_begun = False
        self.recovery_point = segments.end_offset
        self._unflushed_since_ms = 0

    def flush_due(self, monotonic_ms: int, flush_ms: int | None) -> bool:
        """Flush if `flush.ms` has passed since the first unsynced batch; returns whether it did. raises StorageFailed"""
        if flush_ms is None or not self._unflushed_since_ms or monotonic_ms - self._unflushed_since_ms < flush_ms:
            return False
        self.flush()
        return True

    def note_synced(self, offset: int, since_version: int) -> bool:
        """Another process synced everything from the recovery point up to an offset; returns whether that is news.

        since_version   the list's version when the recovery point was where it began: of another log than this, a truncation
                        came in between, it says nothing
        raises          StorageFailed
        """
        segments = self._segments
        if self._latch.reason is not None or since_version < segments.cut_version or offset > segments.end_offset:
            return False
        following = [*segments.bases[1:], segments.end_offset]
        ends = dict(zip(segments.bases, following, strict=True))
        segments.unsynced = [base for base in segments.unsynced if ends.get(base, 0) > offset]
        if offset <= self.recovery_point:
            return False
        self._save_epochs()
        try:
            if self._epochs.sync():
                self._disk.sync_directory(self._directory)
            if 0 <= self._mark.distrusted_until <= offset:
                self._mark.remove()
        except OSError as failure:
            self._latch.fail("fsync", failure, is_sync=True)
        self.recovery_point = offset
        if self._unflushed_since_ms and offset == segments.end_offset:
            self._unflushed_since_ms = 0
        return True

    def _save_epochs(self) -> None:
        """Before anything is synced, for a lack of room is final there, and not here. raises StorageFailed"""
        try:
            self._epochs.save()
        except OSError as failure:
            self._latch.fail("leader epochs", failure)

    def _sync_rolled(self, base_offset: int) -> None:
        try:
            sync_segment(self._directory, base_offset, self._disk, is_named=False)
        except FileNotFoundError:
            pass  # deleted meanwhile

"""The fsync of segments that rolled, and how far that brought each log: its recovery point.

Runs in: the housekeeper. The owner is told (`owners.py`), so that a flush or a clean stop syncs only what is not: it
would sync every segment once more, and might not be through in its share of the stop. A pass comes every second, and most
logs rest: one whose row says what it said when nothing was left to do costs no system call.

Where a log is synced, its row says (docs/decisions/006): the owner knows which files it opened, and what was cut off them. A
checkpoint does not: it speaks of whatever lay there when it was written. So a pass begins at the row's recovery point, and
what it adds counts once the owner has taken it. The owner refuses what was synced of another log than it has now.

Source: Kafka `UnifiedLog.flush`, `LogManager.checkpointLogRecoveryOffsets`.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from headrace.clock import Clock
from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.log.disk import storage_failure
from headrace.log.names import segment_bases
from headrace.log.segments.segment import sync_segment
from headrace.log.state.checkpoints import (
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
)
from headrace.runtime.failed_directory import report_failed
from headrace.shm.partition_table import PartitionRow
from headrace.shm.seat import Seat
from headrace.workers.housekeeper.checkpoints import Checkpoints
from headrace.workers.housekeeper.hosted import Hosted, HostedReplicas, Serving
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.quarantine import Quarantine
from headrace.workers.watched_disk import WatchedDisk

SEGMENTS_PER_NOTE = 32

_log = logging.getLogger(__name__)


class _Synced(NamedTuple):
    """What this process has synced of one log.

    key, generation   of the row that it began with
    since_version     the log's `segments_version` in that row: the owner refuses what is older than its last cut
    point             everything below it is synced
    """

    key: int
    generation: int
    since_version: int
    point: int


class SegmentSync:
    """How far each log is synced, of the replicas as of the last pass."""

    def __init__(
        self,
        seat: Seat,
        clock: Clock,
        replicas: HostedReplicas,
        owners: Owners,
        checkpoints: Checkpoints,
        quarantine: Quarantine,
    ) -> None:
        self._seat = seat
        self._clock = clock
        self._replicas = replicas
        self._owners = owners
        self._checkpoints = checkpoints
        self._quarantine = quarantine
        self._disk = WatchedDisk(seat, clock)
        self._known: dict[TopicPartition, _Synced] = {}
        self._told: dict[TopicPartition, _Synced] = {}  # the same, as their owners were notified
        self._taken_back: dict[Path, dict[TopicPartition, tuple[str, int]]] = {}  # cleaner offsets that say too much
        self._done: dict[TopicPartition, tuple[int, ...]] = {}  # what their row said when nothing was left to do

    def run(self) -> bool:
        """One pass; returns whether a file says of a name what is of another log, or of no topic."""
        serving = {one.name: one for one in self._replicas.in_service()}
        is_news = self._follow(serving)
        for name, one in serving.items():
            if self._done.get(name) == _what_counts(one.row):
                continue
            self._seat.beat(self._clock.monotonic_ns())
            hosted = self._replicas.place(one)
            if hosted is not None:
                is_news |= self._forget_other(hosted)
                self._quarantine.run(("sync", hosted.slot, hosted.row.key), name, self._sync, hosted)
        self._write_taken_back()
        return is_news

    def _forget_other(self, hosted: Hosted) -> bool:
        """Whether the checkpoints are of what lay there before: they vouch for more than the log's owner does, or has, or tell a start or
        a mark that a truncation has taken back.

        What was compacted of that says nothing of this log either, or of what comes after a cut: a tombstone would go before what
        it deletes.
        """
        row, offset = hosted.row, self._checkpoints.offset
        cleaned = offset(CLEANER_OFFSET_FILE, hosted)
        if (
            offset(RECOVERY_POINT_FILE, hosted) <= row.recovery_point
            and cleaned <= row.log_end_offset
            and offset(LOG_START_OFFSET_FILE, hosted) <= row.log_start_offset
            and offset(REPLICATION_OFFSET_FILE, hosted) <= row.high_watermark
        ):
            return False
        if cleaned > row.recovery_point:
            entries = self._taken_back.setdefault(hosted.log_dir, {})
            entries[hosted.name] = (hosted.topic_id, row.recovery_point)
        return True

    def _write_taken_back(self) -> None:
        """Once for each directory: after a crash that may be thousands of logs, and each write has the rows of all."""
        taken_back, self._taken_back = self._taken_back, {}
        for log_dir, entries in taken_back.items():
            try:
                self._checkpoints.write(log_dir, CLEANER_OFFSET_FILE, entries)
            except OSError as failure:
                _log.error("checkpoint not written directory=%s reason=%s", log_dir, failure)

    def _synced(self, hosted: Hosted) -> _Synced:
        """What is known of the log that its owner has now."""
        row, known = hosted.row, self._known.get(hosted.name)
        if known is None or (known.key, known.generation) != (row.key, row.generation):
            known = _Synced(row.key, row.generation, row.segments_version, row.recovery_point)
        return known._replace(point=max(known.point, row.recovery_point))

    def _follow(self, serving: dict[TopicPartition, Serving]) -> bool:
        """What was synced of a topic says nothing of another one by its name."""
        known = self._known.items()
        gone = [name for name, one in known if name not in serving or serving[name].row.key != one.key]
        for name in gone:
            self._forget(name)
            if name in serving and not serving[name].topic.topic_id:  # one with an id is told from another by that
                hosted = self._replicas.place(serving[name])
                if hosted is not None:
                    self._checkpoints.forget(hosted.log_dir, name, "")
        return bool(gone)

    def _forget(self, name: TopicPartition) -> None:
        self._known.pop(name, None)
        self._told.pop(name, None)
        self._done.pop(name, None)

    def _sync(self, hosted: Hosted) -> None:
        row, directory = hosted.row, hosted.directory
        synced = self._synced(hosted)
        # What lies below the log's start needs no sync, as soon as a start on disk says so: else a power loss brings it back.
        start_on_disk = self._checkpoints.offset(LOG_START_OFFSET_FILE, hosted)
        point = max(synced.point, min(row.log_start_offset, start_on_disk))
        if point < row.end_segment:
            try:
                for done, (base_offset, end_offset) in enumerate(
                    _segments_between(directory, point, row.end_segment), 1
                ):
                    try:
                        sync_segment(directory, base_offset, self._disk)
                    except FileNotFoundError:
                        pass  # deleted meanwhile
                    if not done % SEGMENTS_PER_NOTE:  # a stop need not wait for the rest
                        self._note(hosted, synced, end_offset)
                point = row.end_segment
            except FileNotFoundError:
                return  # deleted, or moved to another log directory, since the replicas were listed
            except OSError as failure:
                reason = storage_failure(f"segments of {hosted.name} not synced", failure, is_sync=True)
                report_failed(self._seat, hosted.log_dir, reason)
                return
        self._note(hosted, synced, point)

    def _note(self, hosted: Hosted, synced: _Synced, point: int) -> None:
        """Remember how far a log is synced, and tell its owner."""
        name, row = hosted.name, hosted.row
        self._known[name] = known = synced._replace(point=point)

        def on_answer(error: ErrorCode | None) -> None:
            if error == ErrorCode.INVALID_REQUEST and self._told.get(name) == known:
                self._forget(name)  # it was another log: from its row again

        is_news = point > row.recovery_point and self._told.get(name) != known
        if is_news and self._replicas.is_current(hosted):
            if not self._replicas.is_in_place(hosted):
                self._forget(name)  # it moved meanwhile, and what was synced is not its log: from its row again
                return
            self._told[name] = known
            if not self._owners.note_synced(hosted, known.since_version, point, on_answer):
                del self._told[name]
        if row.end_segment <= point <= row.recovery_point:
            self._done[name] = _what_counts(row)


def _what_counts(row: PartitionRow) -> tuple[int, ...]:
    """Where this is as it was, so is all that a pass would do."""
    return row.key, row.generation, row.end_segment, row.recovery_point, row.log_start_offset


def _segments_between(directory: Path, first_offset: int, end_segment: int) -> list[tuple[int, int]]:
    """(base, end) of the segments that hold offsets from `first_offset` up to `end_segment`, without the latter."""
    bases = segment_bases(directory)
    following = [*bases[1:], end_segment]
    return [
        (base, end) for base, end in zip(bases, following, strict=False) if end > first_offset and base < end_segment
    ]

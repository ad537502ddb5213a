"""The fsync of segments that rolled, and how far that brought each log: its recovery point.

Runs in: the housekeeper. The owner is told (`owners.py`), so that a flush or a clean stop syncs only what is not: it
would sync every segment once more, and might not be through in its share of the stop. A pass comes every second, and most
logs rest: one whose row says what it said when nothing was left to do costs no system call.

Source: Kafka `UnifiedLog.flush`, `LogManager.checkpointLogRecoveryOffsets`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from headrace.clock import Clock
from headrace.ids import TopicPartition
from headrace.log.disk import TOO_MANY_FILES
from headrace.log.names import segment_bases
from headrace.log.segments.segment import sync_segment
from headrace.log.state.checkpoints import RECOVERY_POINT_FILE
from headrace.shm.partition_table import PartitionRow
from headrace.shm.seat import Seat
from headrace.workers.housekeeper.checkpoints import Checkpoints
from headrace.workers.housekeeper.hosted import Hosted, HostedReplicas, Serving
from headrace.workers.housekeeper.owners import Owners
from headrace.workers.housekeeper.quarantine import Quarantine
from headrace.workers.watched_disk import WatchedDisk

SEGMENTS_PER_NOTE = 32

_log = logging.getLogger(__name__)


class SegmentSync:
    """Recovery points by partition, of the replicas as of the last pass.

    take_offline   called with a log directory and the reason, where a sync failed
    """

    def __init__(
        self,
        seat: Seat,
        clock: Clock,
        replicas: HostedReplicas,
        owners: Owners,
        checkpoints: Checkpoints,
        quarantine: Quarantine,
        take_offline: Callable[[Path, object], None],
    ) -> None:
        self._replicas = replicas
        self._owners = owners
        self._checkpoints = checkpoints
        self._quarantine = quarantine
        self._take_offline = take_offline
        self._disk = WatchedDisk(seat, clock)
        self._points: dict[TopicPartition, tuple[int, int]] = {}  # key, everything below it is synced
        self._told: dict[TopicPartition, tuple[int, int]] = {}  # the same, as their owners know it
        self._done: dict[TopicPartition, tuple[int, ...]] = {}  # what their row said when nothing was left to do

    def run(self) -> bool:
        """One pass; returns whether a name is another topic's since the last one, or no topic's."""
        serving = {one.name: one for one in self._replicas.in_service()}
        is_news = self._follow(serving)
        for name, one in serving.items():
            if self._done.get(name) == _what_counts(one.row):
                continue
            hosted = self._replicas.place(one)
            if hosted is not None:
                self._quarantine.run(("sync", hosted.slot, hosted.row.key), name, self._sync, hosted)
        return is_news

    def recovery_point(self, hosted: Hosted) -> int:
        """Everything below it is synced. raises OSError"""
        known = self._points.get(hosted.name)
        if known is None or known[0] != hosted.row.key:
            point = max(0, self._checkpoints.offset(RECOVERY_POINT_FILE, hosted))
            self._points[hosted.name] = known = (hosted.row.key, point)
        return min(max(known[1], hosted.row.recovery_point), hosted.row.log_end_offset)

    def _follow(self, serving: dict[TopicPartition, Serving]) -> bool:
        """What was synced of a topic says nothing of another one by its name."""
        known = self._points.items()
        gone = [name for name, (key, _) in known if name not in serving or serving[name].row.key != key]
        for name in gone:
            del self._points[name]
            self._told.pop(name, None)
            self._done.pop(name, None)
            if name in serving and not serving[name].topic.topic_id:  # one with an id is told from another by that
                hosted = self._replicas.place(serving[name])
                if hosted is not None:
                    self._checkpoints.forget(hosted.log_dir, name, "")
        return bool(gone)

    def _sync(self, hosted: Hosted) -> None:
        row, directory = hosted.row, hosted.directory
        point = max(self.recovery_point(hosted), row.log_start_offset)
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
                        self._note(hosted, end_offset)
                point = row.end_segment
            except FileNotFoundError:
                return  # deleted, or moved to another log directory, since the replicas were listed
            except OSError as failure:
                if failure.errno not in TOO_MANY_FILES:
                    self._take_offline(hosted.log_dir, f"segments of {hosted.name} not synced: {failure}")
                return
        self._note(hosted, point)

    def _note(self, hosted: Hosted, point: int) -> None:
        """Remember how far a log is synced, and tell its owner."""
        known = (hosted.row.key, point)
        self._points[hosted.name] = known
        is_news = point > hosted.row.recovery_point and self._told.get(hosted.name) != known
        if is_news and self._replicas.is_current(hosted) and self._owners.note_synced(hosted, point):
            self._told[hosted.name] = known
        if point >= hosted.row.end_segment and point <= hosted.row.recovery_point:
            self._done[hosted.name] = _what_counts(hosted.row)


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

"""Opens logs with what all logs of a partition worker have in common.

Runs in: a partition worker.
"""

from __future__ import annotations

from pathlib import Path

from headrace.clock import Clock
from headrace.ids import TopicPartition
from headrace.limits import OPEN_SEGMENTS_MAX
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.reading.open_segments import OpenSegments
from headrace.log.state.producer_state import ProducerBudget
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.counters import RECOVERED_BYTES
from headrace.shm.seat import Seat


class LogOpener:
    """Clock, disk, settings and descriptors of one worker's logs; a sign of life while one takes long."""

    def __init__(self, seat: Seat, clock: Clock, disk: Disk) -> None:
        self._seat = seat
        self._clock = clock
        self._disk = disk
        self._settings = seat.wiring.settings
        self._open_segments = OpenSegments(OPEN_SEGMENTS_MAX)
        self._producer_budget = ProducerBudget(self._settings["headrace.producer.ids.max"])

    def open(
        self,
        name: TopicPartition,
        directory: Path,
        config: LogConfig,
        *,
        is_clean: bool,
        recovery_point: int,
        trusted: tuple[int, int] | None,
        log_start_offset: int,
        topic_id: str = "",
    ) -> PartitionLog:
        """`PartitionLog.open`."""
        settings = self._settings
        return PartitionLog.open(
            directory,
            name,
            config,
            clock=self._clock,
            clean=is_clean,
            recovery_point=recovery_point,
            trusted=trusted,
            log_start_offset=log_start_offset,
            topic_id=topic_id,
            disk=self._disk,
            producer_budget=self._producer_budget,
            producer_expiration_ms=settings["producer.id.expiration.ms"],
            snapshot_interval_bytes=settings["headrace.producer.snapshot.interval.bytes"],
            progress=self._note_progress,
            open_segments=self._open_segments,
        )

    def _note_progress(self, bytes_read: int) -> None:
        self._seat.beat(self._clock.monotonic_ns())
        self._seat.counters.add(RECOVERED_BYTES, bytes_read)

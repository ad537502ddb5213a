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
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.state.producer_state import ProducerBudget
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from headrace.shm.counters import RECOVERED_BYTES
from headrace.shm.seat import Seat
from headrace.shm.steady_date import SteadyDate


class LogOpener:
    """Clock, disk, settings and descriptors of one worker's logs; a sign of life while one takes long."""

    def __init__(self, seat: Seat, clock: Clock, disk: Disk) -> None:
        self._seat = seat
        self._clock = clock
        settings = seat.wiring.settings
        begun_ns = clock.monotonic_ns()
        budget = ProducerBudget(
            settings["headrace.producer.ids.max"],
            begun_ns // 1_000_000,
            min(clock.now_ms(), SteadyDate(seat.processes.words).at_ms(begun_ns)),
        )
        self._environment = LogEnvironment(
            clock,
            disk,
            producer_budget=budget,
            producer_expiration_ms=settings["producer.id.expiration.ms"],
            snapshot_interval_bytes=settings["headrace.producer.snapshot.interval.bytes"],
            open_segments=OpenSegments(OPEN_SEGMENTS_MAX),
            progress=self.note_progress,
        )

    def open(
        self,
        name: TopicPartition,
        directory: Path,
        config: LogConfig,
        checkpoint: LogCheckpoint,
        topic_id: str = "",
    ) -> PartitionLog:
        """`PartitionLog.open`."""
        return PartitionLog.open(directory, name, config, checkpoint, self._environment, topic_id)

    @property
    def has_owed_eras(self) -> bool:
        """Whether a log's era waits for room."""
        return bool(self._environment.owing_eras)

    def note_progress(self, bytes_read: int) -> None:
        """A sign of life, and bytes of a log that were read since the last one."""
        self._seat.beat(self._clock.monotonic_ns())
        self._seat.counters.add(RECOVERED_BYTES, bytes_read)

"""What the logs of a process have in common: clock, disk, and the bounds on all of them together.

Runs in: the partition worker that owns the logs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headrace.clock import Clock
from headrace.log.disk import Disk
from headrace.log.reading.open_segments import OpenSegments
from headrace.log.recovery.recovery import Progress
from headrace.log.state.producer_state import ProducerBudget

SNAPSHOT_INTERVAL_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class LogEnvironment:
    """What the logs of a process have in common.

    producer_budget, open_segments   bounds on all of them together
    progress                         called now and then while an opening, or a cut, takes long, with the bytes read since
    owing_eras                       files of eras that wait for room (`KnownEra`)
    """

    clock: Clock
    disk: Disk = field(default_factory=Disk)
    producer_budget: ProducerBudget | None = None
    producer_expiration_ms: int = 86_400_000
    snapshot_interval_bytes: int = SNAPSHOT_INTERVAL_BYTES
    open_segments: OpenSegments | None = None
    progress: Progress | None = None
    owing_eras: set[Path] = field(default_factory=set)

    def budget(self) -> ProducerBudget:
        """The bound on producers; one of its own for a log that shares none."""
        if self.producer_budget is not None:
            return self.producer_budget
        return ProducerBudget(begun_ms=self.clock.monotonic_ns() // 1_000_000, begun_date_ms=self.clock.now_ms())

"""A partition that is copied, and the state that it is in: waiting for its next try, copying, or stopped with a reason.

    WAITING   -> COPYING   its position was found (`Copies.locate`)
    COPYING   -> WAITING   something failed that another try may cure, or the log does not have what was expected
    COPYING   -> STOPPED   a gap, a record that the target refuses, a failure that stays
    WAITING   -> STOPPED   too many failures in a row

A stopped partition hinders no other one; a restart of the mirror tries it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from headrace.ids import TopicPartition
from headrace.limits import MIRROR_FAILURES_MAX
from headrace.mirror.identity import LaneName
from headrace.mirror.lane import Lane

PAUSE_FIRST_S = 0.1
PAUSE_MAX_EXPONENT = 5


class CopyState(Enum):
    WAITING = "waiting"
    COPYING = "copying"
    STOPPED = "stopped"


@dataclass(slots=True)
class PartitionCopy:
    """One partition.

    lane           None until its position is found
    due_s          of the next try; also of the next send after a failure
    is_broken      a batch failed: what was sent after it is waited for, then all is sent again
    in_flight      batches sent, without an answer
    is_fetching    it is part of a fetch that has no answer yet
    claimed_s      when this process claimed it, by the clock that counts suspended time
    confirmed_s    when the journal last took a record of ours
    is_alone       every earlier life has ended, or its lease has passed
    """

    name: LaneName
    target: TopicPartition
    topic_id: str = ""
    state: CopyState = CopyState.WAITING
    reason: str = ""
    lane: Lane | None = None
    due_s: float = 0.0
    failures: int = 0
    is_broken: bool = False
    in_flight: int = 0
    is_fetching: bool = False
    claimed_s: float = 0.0
    confirmed_s: float = 0.0
    is_alone: bool = False
    is_claimed: bool = False
    checkpoint_s: float = 0.0
    saved: tuple[int, int] = (-1, -1)  # source offset and target offset of the last checkpoint
    end_offset: int = -1  # of the source, as the last fetch said
    gaps: list[str] = field(default_factory=list)

    @property
    def lag_records(self) -> int:
        """Offsets of the source that are not copied; -1: not known."""
        if self.lane is None or self.end_offset < 0:
            return -1
        return max(0, self.end_offset - self.lane.acknowledged.source)

    def lag_seconds(self, wall_ms: int) -> float:
        """The age of the last record that was copied, while others wait; 0 where none waits."""
        if self.lane is None or not self.lag_records or self.lane.latest_ms < 0:
            return 0.0
        return max(0, wall_ms - self.lane.latest_ms) / 1000

    def progressed(self) -> None:
        self.failures = 0
        self.reason = ""

    def try_again(self, now_s: float, reason: str) -> None:
        """Find the position again, after a pause; stopped where that did not help for too long."""
        self.failures += 1
        self.lane = None
        self.is_broken = False
        self.reason = reason
        self.due_s = now_s + PAUSE_FIRST_S * 2 ** min(self.failures, PAUSE_MAX_EXPONENT)
        self.state = CopyState.STOPPED if self.failures > MIRROR_FAILURES_MAX else CopyState.WAITING

    def stop(self, reason: str) -> None:
        self.state = CopyState.STOPPED
        self.reason = reason
        self.lane = None

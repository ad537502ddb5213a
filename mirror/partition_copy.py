"""A partition that is copied, and the state that it is in: waiting for its next try, copying, or stopped with a reason.

    WAITING   -> COPYING   its position was found (`Copies.locate`)
    COPYING   -> WAITING   something failed that another try may cure, or the log does not have what was expected
    COPYING   -> STOPPED   a gap, a record that the target refuses, a failure that stays
    WAITING   -> STOPPED   too many failures in a row

A stopped partition hinders no other one; a restart of the mirror tries it again.

A copy has an outlet for each target partition that it writes to: one, or by key all of the topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from headrace.backoff import pause_after
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_FAILURES_MAX
from headrace.mirror.identity import LaneName
from headrace.mirror.keyed_lane import KeyedLane
from headrace.mirror.lane import Lane, Queue

WHOLE_TOPIC = -1  # in place of a target partition: all of them, by key
PAUSE_FIRST_S = 0.2
PAUSE_MAX_S = 3.2


class CopyState(Enum):
    WAITING = "waiting"
    COPYING = "copying"
    STOPPED = "stopped"


@dataclass(slots=True)
class Outlet:
    """A target partition that a copy writes to.

    lane        what is to be sent; None until the position is found
    due_s       of the next send after a failure
    is_broken   a batch failed: what was sent after it is waited for, then all is sent again
    in_flight   batches sent, without an answer
    """

    copy: PartitionCopy
    target: TopicPartition
    lane: Queue | None = None
    due_s: float = 0.0
    is_broken: bool = False
    in_flight: int = 0

    @property
    def state(self) -> CopyState:
        return self.copy.state

    def begin(self, lane: Queue) -> None:
        self.lane = lane
        self.is_broken = False


@dataclass(slots=True)
class PartitionCopy:
    """One partition.

    target         partition WHOLE_TOPIC: the records are divided by key
    lane           None until its position is found
    due_s          of the next try
    claimed_s      when this process claimed it, by the clock that counts suspended time; later, where a request of its own got no answer
    confirmed_s    when the journal last took a record of ours
    is_alone       nothing that was sent before can still arrive: every earlier life has ended, or its lease has passed
    """

    name: LaneName
    target: TopicPartition
    topic_id: str = ""
    state: CopyState = CopyState.WAITING
    reason: str = ""
    lane: Lane | KeyedLane | None = None
    outlets: list[Outlet] = field(default_factory=list)
    due_s: float = 0.0
    failures: int = 0
    claimed_s: float = 0.0
    confirmed_s: float = 0.0
    is_alone: bool = False
    is_claimed: bool = False
    checkpoint_s: float = 0.0
    saved: tuple[int, int] = (-1, -1)  # source offset and target offset of the last checkpoint
    end_offset: int = -1  # of the source, as the last fetch said
    gaps: list[str] = field(default_factory=list)

    @property
    def is_by_key(self) -> bool:
        return self.target.partition == WHOLE_TOPIC

    @property
    def in_flight(self) -> int:
        return sum(outlet.in_flight for outlet in self.outlets)

    @property
    def has_queued(self) -> bool:
        """Whether something that was fetched is not acknowledged."""
        return any(outlet.lane is not None and not outlet.lane.is_idle for outlet in self.outlets)

    def open(self, lane: Lane | KeyedLane) -> None:
        """Its position is found."""
        self.lane = lane
        if isinstance(lane, Lane):
            self._widen(1)
            self.outlets[0].begin(lane)
            return
        self._widen(len(lane.parts))
        for outlet, part in zip(self.outlets, lane.parts, strict=False):
            outlet.begin(part)

    def grow(self, partitions: int) -> None:
        """The target has more partitions than before."""
        lane = self.lane
        if isinstance(lane, KeyedLane) and partitions > len(lane.parts):
            lane.grow(partitions)
            self._widen(partitions)
            for outlet, part in zip(self.outlets, lane.parts, strict=False):
                outlet.lane = part

    def _widen(self, count: int) -> None:
        topic, partition = self.target
        for number in range(len(self.outlets), count):
            self.outlets.append(Outlet(self, TopicPartition(topic, number if self.is_by_key else partition)))

    def left_unanswered(self, now_s: float) -> None:
        """A request got no answer. It may still arrive: as from then on, an earlier life writes."""
        self.is_alone = False
        self.claimed_s = now_s

    def is_alone_at(self, now_s: float, lease_ms: int) -> bool:
        """Whether nothing that was sent before can arrive any more; once it is so, it stays so until a request gets no answer."""
        self.is_alone = self.is_alone or now_s > self.alone_from_s(lease_ms)
        return self.is_alone

    def alone_from_s(self, lease_ms: int) -> float:
        """When nothing that was sent before can arrive any more."""
        return self.claimed_s + 2 * lease_ms / 1000

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
        self._close()
        self.reason = reason
        self.due_s = now_s + pause_after(self.failures, PAUSE_FIRST_S, PAUSE_MAX_S)
        self.state = CopyState.STOPPED if self.failures > MIRROR_FAILURES_MAX else CopyState.WAITING

    def wait_until(self, due_s: float, reason: str) -> None:
        """Find the position again at a given time; no failure."""
        self._close()
        self.reason = reason
        self.due_s = due_s
        self.state = CopyState.WAITING

    def stop(self, reason: str) -> None:
        self.state = CopyState.STOPPED
        self.reason = reason
        self._close()

    def _close(self) -> None:
        self.lane = None
        for outlet in self.outlets:
            outlet.lane = None
            outlet.is_broken = False

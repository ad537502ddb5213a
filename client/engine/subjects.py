"""A partition that is read: where it is read on, what was fetched and not taken, why it can't be read.

Source: Kafka `SubscriptionState`, `CompletedFetch`.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.protocol.messages import ZERO_UUID


class OffsetReset(Enum):
    """What to do without a position (auto.offset.reset)."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class LogTruncation(HeadraceError):
    """A log no longer has what was read from it: it lost its tail, or the topic was deleted and created again.

    partition   that it happened to
    offset      where reading would continue
    diverged    from which offset on the log is another; -1: not known
    """

    def __init__(self, partition: TopicPartition, offset: int, diverged: int, why: str) -> None:
        at = f"from offset {diverged} on" if diverged >= 0 else "at an unknown offset"
        super().__init__(
            f"{partition}: {why}: it was read up to offset {offset}, but the log differs {at}; seek to continue"
        )
        self.partition = partition
        self.offset = offset
        self.diverged = diverged


class SubjectState(Enum):
    RESETTING = "resetting"
    VALIDATING = "validating"
    FETCHING = "fetching"
    FAILED = "failed"


class Chunk(NamedTuple):
    """Whole entries of one partition as they came.

    subject       that they were fetched for
    data          memoryview; records below `offset` are to be left out
    offset        asked for
    next_offset   where reading continues after them
    aborted       (first offset, producer id) of transactions in it; None: all records are wanted
    serial        of the subject's position: another one, and the chunk is void
    """

    subject: Subject
    data: Any
    offset: int
    next_offset: int
    aborted: list[tuple[int, int]] | None
    serial: int


class Subject:
    """A partition that is read.

    position          the next offset that the consumer was not given
    position_epoch    leader epoch of the last record that it was given; -1: not known
    high_watermark    as a leader said last; -1: not known
    """

    __slots__ = (
        "bytes_max", "chunks", "failure", "fetch_epoch", "fetch_offset", "high_watermark", "is_paused", "last_stable_offset",
        "leader_epoch", "log_start_offset", "name", "node", "position", "position_epoch", "preferred", "preferred_until_s", "reset_to",
        "retry_at_s", "serial", "state", "topic_id",
    )  # fmt: skip

    def __init__(self, name: TopicPartition) -> None:
        self.name = name
        self.state = SubjectState.RESETTING
        self.position = -1
        self.position_epoch = NO_EPOCH
        self.fetch_offset = -1
        self.fetch_epoch = NO_EPOCH
        self.leader_epoch = NO_EPOCH  # that the position was validated with
        self.topic_id = ZERO_UUID
        self.chunks: deque[Chunk] = deque()
        self.is_paused = False
        self.reset_to: int | None = None
        self.failure: HeadraceError | None = None
        self.high_watermark = -1
        self.last_stable_offset = -1
        self.log_start_offset = -1
        self.node: int | None = None  # whose session has it
        self.preferred = -1
        self.preferred_until_s = 0.0
        self.retry_at_s = 0.0
        self.serial = 0
        self.bytes_max = 0

    def describe(self) -> dict[str, Any]:
        """Where it stands, for `health`; the lag is None where it is not known."""
        is_known = self.high_watermark >= 0 <= self.position
        return {
            "state": self.state.value,
            "position": self.position,
            "high_watermark": self.high_watermark,
            "lag": max(0, self.high_watermark - self.position) if is_known else None,
            "chunks": len(self.chunks),
            "paused": self.is_paused,
            "failure": None if self.failure is None else str(self.failure),
        }

"""What is known of one producer id in one log: its epoch, its last batches, its open transaction.

Source: Kafka `ProducerStateEntry`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

BATCHES_KEPT: Final = 5  # as many as a producer may have in flight


class Appended(NamedTuple):
    """One batch of a producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp_ms: int


class Producer:
    """One producer id's state.

    last_timestamp_ms   the date of its last append, markers included: what snapshots keep
    seen_ms             the same by the monotonic clock. Of an append before the log was opened: what its date comes to
    txn_first_offset    where its open transaction began, -1: none is open
    is_behind           it may have had later batches than these, in a part of the log that can't be read any more
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "is_behind",
        "last_timestamp_ms",
        "seen_ms",
        "txn_first_offset",
    )

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[Appended] = []  # the last BATCHES_KEPT; a list takes a tenth of a deque
        self.last_timestamp_ms = -1
        self.seen_ms = 0
        self.coordinator_epoch = -1
        self.txn_first_offset = -1
        self.is_behind = False

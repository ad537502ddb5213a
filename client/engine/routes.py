"""What a producer keeps for each topic and partition: batches in order, and where records without a key go.

Source: Kafka `RecordAccumulator`, `BuiltInPartitioner`; KIP-480 (sticky partitions).
"""

from __future__ import annotations

from collections import deque

from headrace.client.engine.batches import Batch
from headrace.client.engine.identity import Identity
from headrace.client.send_path import SendRoute, SendTarget
from headrace.ids import TopicPartition


class Queue:
    """The batches of one partition that are not done, in order."""

    __slots__ = (
        "identity",
        "in_flight",
        "is_recovering",
        "is_renewing",
        "name",
        "open",
        "retry_at_s",
        "target",
        "waiting",
    )

    def __init__(self, name: TopicPartition) -> None:
        self.name = name
        self.open: Batch | None = None
        self.target = SendTarget()
        self.waiting: deque[Batch] = deque()
        self.in_flight: list[Batch] = []
        self.identity = Identity()
        self.retry_at_s = 0.0
        self.is_recovering = False  # after a failure: one batch at a time
        self.is_renewing = (
            False  # nothing is sent: a new producer id is asked for, or the transaction does not have it yet
        )


class Route:
    """A topic as its producer sees it.

    queues      of all partitions, those that were used
    available   partitions with a leader, or all where none has
    sticky      where records without a key go until its batch is full; None: to be chosen
    """

    __slots__ = ("available", "count", "fast", "queues", "sticky", "topic")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.fast = SendRoute()
        self.count = 0
        self.queues: list[Queue | None] = []
        self.available: list[int] = []
        self.sticky: Queue | None = None

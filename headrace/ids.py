"""Identifiers of the field, and the hash that places a partition on a partition worker.

Every process imports this; nothing here holds state.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
Offset = NewType("Offset", int)  # absolute log offset
Position = NewType("Position", int)  # byte in a file or a ring
Slot = NewType("Slot", int)  # row of the partition table

NO_BROKER = BrokerId(-1)
NO_EPOCH = -1
NO_TIMESTAMP_MS = -1
NO_PRODUCER_ID = -1


class TopicPartition(NamedTuple):
    """A partition of a topic; its directory on disk is `str(self)`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def owner_of(topic: str, partition: int, worker_count: int) -> int:
    """Index of the partition worker that owns a partition.

    worker_count   number of partition workers of this node, >= 1
    returns        0 <= index < worker_count; the same on every start of a node with the same count
    """
    assert worker_count >= 1
    return (zlib.crc32(topic.encode()) + partition) % worker_count


def partition_key(topic: str, partition: int, topic_id: str = "") -> int:
    """A 32-bit fingerprint that ring messages carry, so that a reused slot is noticed."""
    return zlib.crc32(f"{topic}\0{partition}\0{topic_id}".encode())

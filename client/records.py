"""What a client's user gets: a record, and what became of one.

Source: Kafka `ConsumerRecord`, `RecordMetadata`.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from headrace.ids import TopicPartition

K = TypeVar("K")
V = TypeVar("V")

Header = tuple[str, bytes | None]
Named = TypeVar(
    "Named", bound=tuple[str, int]
)  # topic and partition: a TopicPartition, or any such tuple, as a mapping's key


class Record(NamedTuple, Generic[K, V]):
    """A record as it was read.

    timestamp_ms   of its creation, or of its append where the topic says so; -1: it has none (format v0)
    leader_epoch   of the leader that wrote it; None: not known (formats v0 and v1)
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: K
    value: V
    headers: tuple[Header, ...]
    leader_epoch: int | None

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class RecordMetadata(NamedTuple):
    """Where a record was stored.

    offset         -1: the broker did not say (acks=0, or a retry of what was stored already)
    timestamp_ms   of its append, where the topic stamps records so; -1: as it was sent
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int = -1


RawRecord = Record[bytes | None, bytes | None]

"""Errors of the classic clients, under Kafka's names without `Exception`."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition


class QueueFull(HeadraceError):
    """The queue of an async producer had no room within `queue.enqueue.timeout.ms`: the message was dropped."""


class ProducerClosed(HeadraceError):
    """A send to a producer that is closed."""


class MessageSizeTooLarge(HeadraceError):
    """A message is larger than `max.message.size`, or than the buffer of a consumer may become."""


class OffsetOutOfRange(KafkaError):
    """A fetch at an offset that the log does not have."""

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, f"{topic}-{partition} at offset {offset}")
        self.topic = topic
        self.partition = partition
        self.offset = offset


class SendFailed(HeadraceError):
    """Messages were not acknowledged.

    failures   why, by partition; -1 in the place of a partition that could not be chosen
    """

    def __init__(self, failures: Mapping[TopicPartition, HeadraceError], tries: int) -> None:
        name, first = next(iter(failures.items()))
        more = f" and {len(failures) - 1} more partitions" if len(failures) > 1 else ""
        super().__init__(f"not sent after {tries} tries: {name}{more}: {first}")
        self.failures = dict(failures)


class ConsumerTimeout(HeadraceError):
    """No message came to a stream within `consumer.timeout.ms`; the stream can be iterated again."""


class ConsumerRebalanceFailed(HeadraceError):
    """Partitions could not be claimed in `rebalance.max.retries` tries; the connector tries on."""

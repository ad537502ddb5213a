"""What became of a record that was sent, for the blocking producer.

A `Delivery` is three words beside its batch: making one costs a tenth of what sending the record does.

Source: Kafka `FutureRecordMetadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.client.records import RecordMetadata
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.client.engine.batches import Batch
    from headrace.client.kafka_producer import KafkaProducer


class Delivery(NamedTuple):
    """A record in flight."""

    producer: KafkaProducer[Any, Any]
    batch: Batch
    place: int  # in it

    @property
    def is_done(self) -> bool:
        """Whether it was acknowledged, or failed for good."""
        return self.batch.is_done

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait until it is acknowledged.

        timeout   in seconds
        raises    KafkaError or ConnectionFailed, where it was not stored, or is not known to be; WaitTimedOut
        """
        self.batch.is_seen = True
        if not self.batch.is_done:
            self.producer.wait_for(self.batch, timeout)
        return metadata_of(self.batch, self.place)

    def exception(self, timeout: float | None = None) -> HeadraceError | None:
        """Wait, and return why it failed; None: it was stored. raises WaitTimedOut"""
        self.batch.is_seen = True
        if not self.batch.is_done:
            self.producer.wait_for(self.batch, timeout)
        return self.batch.part_of(self.place)[0].failure


def metadata_of(batch: Batch, index: int) -> RecordMetadata:
    """Where a record of a batch that is done was stored. raises   its failure"""
    batch, index = batch.part_of(index)
    if batch.failure is not None:
        raise batch.failure
    offset = batch.base_offset + index if batch.base_offset >= 0 else batch.base_offset
    return RecordMetadata(batch.name.topic, batch.name.partition, offset, batch.log_append_time_ms)

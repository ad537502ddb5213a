"""What became of the records of `headrace produce`, in their order: none is sent after one that was seen to fail."""

from __future__ import annotations

import contextlib
from collections import deque

from headrace.client.delivery import Delivery
from headrace.client.failures import DeliveryFailed, is_retriable
from headrace.client.kafka_producer import KafkaProducer
from headrace.errors import HeadraceError


class RecordRefused(DeliveryFailed):
    """Records were not acknowledged.

    record   the one that a broker refused, numbered from 0 in the order of `add`; None, if it is not a single one
    """

    def __init__(self, records: int, cause: HeadraceError, record: int | None) -> None:
        super().__init__(records, cause)
        self.record = record


class SentRecords:
    """Records of one producer that are not seen acknowledged yet."""

    def __init__(self, producer: KafkaProducer[bytes | None, bytes | None]) -> None:
        self._producer = producer
        self._deliveries: deque[Delivery] = deque()
        self._done = 0

    def add(self, delivery: Delivery) -> None:
        """A record was sent."""
        self._deliveries.append(delivery)

    def check(self) -> None:
        """Take those that are done. raises RecordRefused"""
        deliveries = self._deliveries
        while deliveries and deliveries[0].is_done:
            failure = deliveries[0].exception()
            if failure is not None:
                raise self._refused(failure)
            deliveries.popleft()
            self._done += 1

    def finish(self) -> None:
        """Wait until all are done, and close the producer. raises RecordRefused"""
        with contextlib.suppress(DeliveryFailed):
            self._producer.flush()
        self.check()
        self._producer.close()

    def _refused(self, failure: HeadraceError) -> RecordRefused:
        lost = sum(not one.is_done or one.exception() is not None for one in self._deliveries)
        first = self._deliveries[0]
        is_alone = first.batch.part_of(first.place)[0].count == 1
        return RecordRefused(lost, failure, self._done if is_alone and not is_retriable(failure) else None)

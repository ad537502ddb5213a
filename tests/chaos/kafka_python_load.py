"""A producer and a consumer of kafka-python: another client's idea of retries, sequences and who leads.

Used by: the cluster campaign, beside librdkafka's. Where the producer gives up, as it does with Apache Kafka too when an answer to
InitProducerId is an error that it does not know, its records are unknown, a note says so, and another one takes its place.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections import Counter
from functools import partial
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import UnknownBrokerIdError

from tests.chaos import payload
from tests.chaos.history import NO_OFFSET, History, Outcome, Poll, Record, Send
from tests.chaos.load import FLUSH_S, IN_FLIGHT_MAX, MESSAGE_TIMEOUT_S, Client

PAUSE_S = 0.02


class KafkaPythonProducer(Client):
    """Unique values, round robin over the partitions of a topic."""

    def __init__(self, name: str, bootstrap: str, history: History, topic: str, partitions: int) -> None:
        super().__init__(name)
        self.acknowledged = 0
        self._bootstrap, self._history, self._topic, self._partitions = bootstrap, history, topic, partitions
        self.gave_up: Counter[str] = Counter()  # what it says of records that it does not send again
        self._in_flight = 0
        self._is_spent = False  # in a state that it does not leave: another one takes its place
        logging.getLogger("kafka").setLevel(logging.CRITICAL)

    def _new(self) -> KafkaProducer:
        self._is_spent = False
        return KafkaProducer(
            bootstrap_servers=self._bootstrap.split(","),
            acks="all",
            enable_idempotence=True,
            linger_ms=2,
            request_timeout_ms=5_000,
            delivery_timeout_ms=MESSAGE_TIMEOUT_S * 1000,
            retry_backoff_ms=50,
            reconnect_backoff_ms=50,
            reconnect_backoff_max_ms=200,
            metadata_max_age_ms=5_000,
        )

    def run(self) -> None:
        producer = self._new()
        for number in itertools.count():
            if self.stopping.is_set():
                break
            if self._is_spent and not self._in_flight:
                producer.close(timeout=1)
                producer = self._new()
            if not self._is_spent and self._in_flight < IN_FLIGHT_MAX:
                self._send(producer, f"{self.name}-{number}", number // 3 % self._partitions)
            self.stopping.wait(PAUSE_S)
        deadline = time.monotonic() + FLUSH_S
        while self._in_flight and time.monotonic() < deadline:
            time.sleep(0.02)
        if self._in_flight:
            self.failure = f"{self.name}: wedged, {self._in_flight} records are not acknowledged after {FLUSH_S:.0f} s"
        producer.close(timeout=5)

    def _send(self, producer: KafkaProducer, value: str, partition: int) -> None:
        began = time.monotonic()
        self._in_flight += 1
        future = producer.send(self._topic, payload.encode(value), partition=partition)
        future.add_callback(partial(self._delivered, value, partition, began))
        future.add_errback(partial(self._failed, value, partition, began))

    def _delivered(self, value: str, partition: int, began: float, metadata: Any) -> None:
        self._in_flight -= 1
        self.acknowledged += 1
        offset = metadata.offset if metadata.offset is not None and metadata.offset >= 0 else NO_OFFSET
        self._add(value, partition, began, Outcome.OK, offset)

    def _failed(self, value: str, partition: int, began: float, failure: BaseException) -> None:
        self._in_flight -= 1
        self.gave_up[str(failure)[:120]] += 1
        self._is_spent = True
        self._add(value, partition, began, Outcome.UNKNOWN, NO_OFFSET)

    def _add(self, value: str, partition: int, began: float, outcome: Outcome, offset: int) -> None:
        self._history.add(
            Send(self.name, self._topic, 0, partition, (value,), outcome, offset, began, time.monotonic())
        )


class KafkaPythonTail(Client):
    """A consumer by assignment from the beginning, which reads on and on."""

    def __init__(self, name: str, bootstrap: str, history: History, topic: str, partitions: int) -> None:
        super().__init__(name)
        self.positions = dict.fromkeys(range(partitions), 0)
        self._bootstrap, self._history, self._topic = bootstrap, history, topic

    def run(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap.split(","),
            group_id=None,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
            retry_backoff_ms=50,
            reconnect_backoff_ms=50,
            reconnect_backoff_max_ms=200,
            request_timeout_ms=5_000,
            metadata_max_age_ms=5_000,
        )
        partitions = [TopicPartition(self._topic, number) for number in self.positions]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        while not self.stopping.is_set():
            began = time.monotonic()
            records = []
            for partition, found in self._poll(consumer).items():
                records += [Record(partition.partition, one.offset, payload.decode(one.value)) for one in found]
                self.positions[partition.partition] = found[-1].offset + 1
            if records:
                self._history.add(
                    Poll(self.name, self._topic, 0, tuple(records), began, time.monotonic(), is_buffered=True)
                )
        consumer.close()

    def _poll(self, consumer: KafkaConsumer) -> dict[TopicPartition, list[Any]]:
        """Nothing where it asks a broker that has left its metadata since it made the request: its next poll asks another one."""
        try:
            return consumer.poll(timeout_ms=200, max_records=500)
        except UnknownBrokerIdError:
            self.stopping.wait(PAUSE_S)
            return {}

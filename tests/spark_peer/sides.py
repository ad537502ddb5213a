"""The two sides that a program runs on: `kafka` with Apache Kafka 3.9, `headrace` with a node; the same records are written to both.

A program is a function of a Side. It makes DataFrames by `read` and `stream`, and what it returns has to be equal on both sides.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.support.waiting import wait_until

PATIENCE_S = 60
SETTINGS = {
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "log.segment.delete.delay.ms": "100",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": str(24 * 3_600_000),  # records here have times of their own
}
NODE_SETTINGS = {key: value for key, value in SETTINGS.items() if key != "log.initial.task.delay.ms"}
# the connector gives up soon, so that refusals of both sides come within seconds
SOON = {"fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "100", "kafkaConsumer.pollTimeoutMs": "5000"}


@dataclass
class Side:
    """One of the two.

    format      of Spark
    directory   for checkpoints
    """

    spark: Any
    format: str
    bootstrap: str
    directory: Path

    @property
    def is_peer(self):
        return self.format == "kafka"

    def reader(self, reader, options):
        named = {name.lower() for name in options}
        given = {"kafka.bootstrap.servers": self.bootstrap, **SOON, **options}
        if not named & {"subscribe", "subscribepattern", "assign"}:
            raise ValueError("a program says what it reads")
        for name, value in given.items():
            if value is not None:
                text = json.dumps(value) if isinstance(value, dict) else str(value)
                reader = reader.option(name, text)
        return reader.format(self.format)

    def read(self, **options):
        """A DataFrame of a batch. Names with dots go into a dict: read(**{"kafka.group.id": "g"})."""
        return self.reader(self.spark.read, options).load()

    def stream(self, **options):
        return self.reader(self.spark.readStream, options).load()

    def writer(self, writer, options):
        """Of a batch or a stream, with the sink's options."""
        writer = writer.format(self.format).option("kafka.bootstrap.servers", self.bootstrap)
        return writer.options(**options)


@dataclass
class Pair:
    """Both servers, and clients that do the same to each of them."""

    sides: dict[str, Side]
    servers: dict[str, Any]
    clients: dict[str, AdminClient] = field(default_factory=dict)

    def __post_init__(self):
        self.clients = {name: AdminClient({"bootstrap.servers": side.bootstrap}) for name, side in self.sides.items()}

    def create(self, topic, partitions=1, **config):
        config = {name.replace("_", "."): str(value) for name, value in config.items()}
        for client in self.clients.values():
            wait_until(lambda client=client: _create(client, topic, partitions, config), f"{topic} can't be created")
        for side in self.sides.values():
            wait_until(lambda side=side: self._has(side, topic, partitions), f"{topic} is not there")

    def _has(self, side, topic, partitions):
        found = AdminClient({"bootstrap.servers": side.bootstrap}).list_topics(timeout=PATIENCE_S).topics.get(topic)
        return found is not None and sum(one.leader >= 0 for one in found.partitions.values()) == partitions

    def grow(self, topic, partitions):
        for client in self.clients.values():
            for future in client.create_partitions([NewPartitions(topic, partitions)]).values():
                future.result(PATIENCE_S)
        for side in self.sides.values():
            wait_until(lambda side=side: self._has(side, topic, partitions), f"{topic} has not grown")

    def delete(self, topic):
        for client in self.clients.values():
            for future in client.delete_topics([topic]).values():
                future.result(PATIENCE_S)
        for side in self.sides.values():
            wait_until(
                lambda side=side: (
                    topic not in AdminClient({"bootstrap.servers": side.bootstrap}).list_topics(timeout=9).topics
                ),
                f"{topic} is still there",
            )

    def trim(self, topic, partition, offset):
        """DeleteRecords."""
        for client in self.clients.values():
            for future in client.delete_records([TopicPartition(topic, partition, offset)]).values():
                future.result(PATIENCE_S)

    def write(self, topic, partition, records, codec="none", **settings):
        """(key, value, timestamp_ms, headers) records; a part of the fields is enough."""
        for side in self.sides.values():
            write(side.bootstrap, topic, partition, records, codec, **settings)


def write(bootstrap, topic, partition, records, codec="none", **settings):
    """Into one partition, in order, in batches of some ten records."""
    failures = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 2,
            "batch.num.messages": 13,
            "max.in.flight": 1,
            **settings,
        }
    )
    for one in records:
        key, value, timestamp_ms, headers = (*one, None, None)[:4]
        producer.produce(
            topic,
            value,
            key=key,
            partition=partition,
            timestamp=timestamp_ms or 0,
            headers=headers or [],
            on_delivery=lambda error, _message: error and failures.append(error),
        )
    assert producer.flush(PATIENCE_S) == 0
    assert not failures, failures[0]


def _create(client, topic, partitions, config):
    """False where a topic of that name is still being deleted, which Apache Kafka does after it has answered."""
    (future,) = client.create_topics([NewTopic(topic, partitions, 1, config=config)]).values()
    try:
        future.result(PATIENCE_S)
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True

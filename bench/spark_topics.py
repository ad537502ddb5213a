"""The topics that the Spark benches read, the same records on both servers: values of 100 bytes and 1 KB, and JSON clicks, by codec.

Values of words compress to a third or less, as logs do; a row of one letter would be decompressed for nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.nodes import Server

PARTITIONS = 2
FLUSH_S = 120
WORDS = 2_000
TEXT_BYTES = 1 << 20


@dataclass(frozen=True)
class SparkTopic:
    """What is in a topic; its name says it: plain-1000-zstd.

    kind   "plain": words, `size` bytes each; "clicks": JSON
    """

    kind: str
    size: int
    codec: str
    records: int

    @property
    def name(self) -> str:
        return "-".join([self.kind, *([str(self.size)] if self.kind == "plain" else []), self.codec])

    @property
    def label(self) -> str:
        values = "JSON clicks" if self.kind == "clicks" else f"{self.size}-byte values"
        return values + ("" if self.codec == "none" else f", {self.codec}")


def topics(scale: float = 1.0) -> list[SparkTopic]:
    """All of them; `scale` of their records."""
    plain = [(size, records) for size, records in ((100, 5_000_000), (1000, 2_000_000))]
    found = [
        SparkTopic("plain", size, codec, int(records * scale))
        for size, records in plain
        for codec in ("none", "snappy", "zstd")
    ]
    return found + [SparkTopic("clicks", 0, codec, int(3_000_000 * scale)) for codec in ("none", "lz4", "zstd")]


def values_of(topic: SparkTopic) -> Callable[[int], bytes]:
    """The value of a record by its number."""
    return click if topic.kind == "clicks" else words_of(topic.size)


def words_of(size: int) -> Callable[[int], bytes]:
    """A number, then text that differs from record to record."""
    dice = random.Random(7)
    words = [bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz", k=dice.randrange(3, 10))) for _ in range(WORDS)]
    text = b" ".join(dice.choices(words, k=TEXT_BYTES // 4))[: TEXT_BYTES + size]

    def value(number: int) -> bytes:
        place = number * 7919 % TEXT_BYTES
        return (b"%d " % (number * 7919) + text[place : place + size])[:size]

    return value


def click(number: int) -> bytes:
    """A JSON click of 88 bytes, one of 300 pages."""
    what = (number * 7919 % 1_000_000, number % 300, number * 31 % 5000)
    return b'{"user":"u%06d","page":"/p/%d","ms":%d,"agent":"Mozilla/5.0 (X11; Linux)","ok":true}' % what


def load(server: Server, topic: SparkTopic) -> None:
    """Create a topic and write its records. raises SystemExit, where some were not acknowledged"""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": server.bootstrap})  # its requests end with it
    admin.create_topics([NewTopic(topic.name, PARTITIONS, 1)])[topic.name].result(30)
    producer = Producer({"bootstrap.servers": server.bootstrap, "linger.ms": 20, "batch.size": 65_536,
                         "compression.type": topic.codec, "queue.buffering.max.messages": 500_000})  # fmt: skip
    value = values_of(topic)
    for number in range(topic.records):
        record = value(number)
        while True:
            try:
                producer.produce(topic.name, record, key=b"%d" % number, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(FLUSH_S):
        raise SystemExit(f"{topic.name}: records were not acknowledged")

"""End-to-end latency: a record's way from the producer through the server to a waiting consumer, at a steady rate.

librdkafka on both sides, no linger, acks 1; the value is the time it was handed to the producer.
"""

from __future__ import annotations

import struct
import threading
import time

from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

RATE = 1_000
WARM_UP_RECORDS = 2_000


def measure(bootstrap: str, topic: str, seconds: float) -> dict[str, float]:
    """p50, p99 and p99.9 in milliseconds; the topic exists, with one partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "latency", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 500})  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    count = int(RATE * seconds) + WARM_UP_RECORDS
    times: list[float] = []

    def read() -> None:
        while len(times) < count:
            message = consumer.poll(10)
            if message is None:
                return
            if not message.error():
                times.append(time.perf_counter() - struct.unpack("d", message.value())[0])

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(2)  # the consumer has reached the end
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": 1})
    begun = time.perf_counter()
    for number in range(count):
        due = begun + number / RATE
        while (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        producer.produce(topic, struct.pack("d", time.perf_counter()), partition=0)
        producer.poll(0)
    producer.flush(10)
    reader.join()
    consumer.close()
    ordered = sorted(times[WARM_UP_RECORDS:])
    if len(ordered) < count - WARM_UP_RECORDS:
        raise SystemExit(f"latency: only {len(times)} of {count} records came back")
    return {
        name: ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000
        for name, part in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
    }

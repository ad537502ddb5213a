"""Records at a steady rate, and how old they are where they arrive: the lag of what lies between two clusters.

    python -m bench.paced produce BOOTSTRAP TOPIC MEGABYTES_PER_S SECONDS
    python -m bench.paced consume BOOTSTRAP TOPIC SECONDS       the records' ages in milliseconds, as `p50 p99 most count`

Both are processes of their own. Records of 1 KB have the time at which they were sent; both processes have the same clock.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from headrace.client import Kafka

RECORD_BYTES = 1_000
TICK_S = 0.01


def produce(bootstrap: str, topic: str, megabytes_per_s: float, seconds: float) -> None:
    value = os.urandom(RECORD_BYTES // 2) + bytes(RECORD_BYTES // 2)
    each = max(1, int(megabytes_per_s * 1_000_000 / RECORD_BYTES * TICK_S))
    with Kafka(bootstrap) as kafka, kafka.producer(compression="lz4", linger_ms=5) as producer:
        partitions = producer.partitions(topic)
        begun_s = time.monotonic()
        for tick in range(int(seconds / TICK_S)):
            while (early_s := begun_s + tick * TICK_S - time.monotonic()) > 0:
                producer.poll(early_s)
            for number in range(each):
                producer.send(topic, value, partition=number % partitions)


def consume(bootstrap: str, topic: str, seconds: float) -> None:
    ages: list[int] = []
    with Kafka(bootstrap) as kafka, kafka.consumer(topic, start="latest") as consumer:
        consumer.poll(0.0)
        print("ready", flush=True)
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            records = consumer.poll(0.5)
            now_ms = int(time.time() * 1000)
            ages += [now_ms - record.timestamp_ms for record in records]
    if not ages:
        raise SystemExit("no record arrived")
    p50, p99 = np.percentile(ages, [50, 99])
    print(f"{p50:.0f} {p99:.0f} {max(ages)} {len(ages)}")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "produce":
        produce(rest[0], rest[1], float(rest[2]), float(rest[3]))
    else:
        consume(rest[0], rest[1], float(rest[2]))

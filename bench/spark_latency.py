"""How long a record takes from a producer's hands into a micro-batch: `.format("headrace")` and `stream` on Headrace, `.format("kafka")` on
Apache Kafka, in one Spark session, in turns.

    python -m bench.spark_latency HEADRACE KAFKA ROUNDS [RECORDS]

One record at a time: its value is when it was handed to the producer, and the next one is sent when the function of `foreachBatch` has
it (and some milliseconds later, so that it meets the query at any point of its cycle). What is measured is so Spark's cycle: the offsets
asked for, the write-ahead log, a job, the commit. Prints one line of JSON: engine -> milliseconds of each record.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from bench.spark_scan import session

TOPIC = "micro-batches"
WARM_UP = 8
WAIT_S = 60.0
PAUSE_MAX_S = 0.2


class Arrivals:
    """What `foreachBatch` has seen: the times of the values, as milliseconds on the way."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []
        self._has_come = threading.Event()

    def see(self, frame: Any, _batch_id: int) -> None:
        for row in frame.select("value").collect():
            self.milliseconds.append((time.perf_counter() - struct.unpack("d", row[0])[0]) * 1000)
            self._has_come.set()

    def wait(self) -> None:
        if not self._has_come.wait(WAIT_S):
            raise SystemExit(f"{TOPIC}: a record did not come in {WAIT_S:.0f} s")
        self._has_come.clear()


def by_format(spark: Any, engine: str, bootstrap: str, checkpoint: str, see: Callable[[Any, int], None]) -> Any:
    reader = spark.readStream.format(engine).option("kafka.bootstrap.servers", bootstrap).option("subscribe", TOPIC)
    frame = reader.option("startingOffsets", "earliest").load()
    return frame.writeStream.foreachBatch(see).option("checkpointLocation", checkpoint).start()


def by_stream(spark: Any, bootstrap: str, checkpoint: str, see: Callable[[Any, int], None]) -> Any:
    from headrace.spark import stream

    return stream(spark, TOPIC, bootstrap_servers=bootstrap, start="earliest", checkpoint=checkpoint, each_batch=see)


def measure(start: Callable[[str, Callable[[Any, int], None]], Any], bootstrap: str, records: int) -> list[float]:
    """Milliseconds of each record through one query; the topic may have older ones."""
    from confluent_kafka import Producer

    dice = random.Random(7)
    arrivals = Arrivals()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": 1})
    with tempfile.TemporaryDirectory(prefix="bench-checkpoint-") as checkpoint:
        query = start(checkpoint, arrivals.see)
        try:
            for index in range(WARM_UP + records):
                if index == WARM_UP:
                    arrivals.milliseconds.clear()
                producer.produce(TOPIC, struct.pack("d", time.perf_counter()), partition=0)
                producer.flush(WAIT_S)
                arrivals.wait()
                time.sleep(dice.random() * PAUSE_MAX_S)
        finally:
            query.stop()
    return arrivals.milliseconds


def main() -> None:
    headrace, kafka, rounds = *sys.argv[1:3], int(sys.argv[3])
    records = int(sys.argv[4]) if len(sys.argv) > 4 else 30
    spark = session()
    from headrace.spark import register

    register(spark)
    engines: dict[str, tuple[str, Any]] = {
        "headrace": (headrace, lambda *given: by_format(spark, "headrace", headrace, *given)),
        "kafka": (kafka, lambda *given: by_format(spark, "kafka", kafka, *given)),
        "stream": (headrace, lambda *given: by_stream(spark, headrace, *given)),
    }
    report: dict[str, list[list[float]]] = {engine: [] for engine in engines}
    for index in range(rounds):
        for engine, (bootstrap, start) in list(engines.items())[:: 1 if index % 2 == 0 else -1]:
            report[engine].append(measure(start, bootstrap, records))
    spark.stop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()

"""A topic into a Polars DataFrame: `headrace.arrow` beside confluent-kafka, from one node, in turns.

    python -m bench.polars_reader [--records N] [--rounds R] [--json]

100-byte values in one partition; offset, timestamp and value become columns. Each side runs in a process of its own; wall time and CPU
(user and system) of reading and making the frame, without imports, the connection or a first frame of 1,000 records that warms both up.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TOPIC = "frame"
WARM_RECORDS = 1_000
BATCH_RECORDS = 50_000


def by_headrace(bootstrap: str, count: int) -> Any:
    """The first `count` records as a frame."""
    import polars

    import headrace.arrow

    columns = "offset,timestamp,value"
    return polars.DataFrame(headrace.arrow.open(TOPIC, bootstrap_servers=bootstrap, columns=columns, end={0: count}))


def by_confluent(bootstrap: str, count: int) -> Any:
    """The same by librdkafka, whose messages are Python objects."""
    import polars
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "frame", "enable.auto.commit": False,
                         "queued.max.messages.kbytes": 262_144, "check.crcs": True})  # fmt: skip
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    offsets, times, values = [], [], []
    while len(values) < count:
        for message in consumer.consume(min(BATCH_RECORDS, count - len(values)), 10):
            offsets.append(message.offset())
            times.append(message.timestamp()[1])
            values.append(message.value())
    consumer.close()
    frame = polars.DataFrame({"offset": offsets, "timestamp": times, "value": values})
    return frame.with_columns(polars.col("timestamp").cast(polars.Datetime("ms", "UTC")))


READERS = {"headrace": by_headrace, "confluent": by_confluent}


def measure(reader: str, bootstrap: str, count: int) -> dict[str, float]:
    """Seconds of one frame; in this process."""
    read = READERS[reader]
    read(bootstrap, min(WARM_RECORDS, count))
    begun, cpu = time.perf_counter(), time.process_time()
    frame = read(bootstrap, count)
    taken = {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu}
    assert frame.height == count
    return taken | {"bytes": float(frame["value"].bin.size().sum())}


def fill(bootstrap: str, count: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.size": 16384, "acks": 1})
    for number in range(count):
        while True:
            try:
                producer.produce(TOPIC, b"%0100d" % number, partition=0)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(60) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description="read a topic into Polars")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one line of JSON: records/s of each round")
    parser.add_argument("--one", nargs=2, metavar=("READER", "BOOTSTRAP"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one, given.records)))
        return
    from bench.nodes import Headrace
    from bench.run import create_topic

    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        server = Headrace(Path(name))
        server.start()
        try:
            create_topic(server, TOPIC, 1)
            fill(server.bootstrap, given.records)
            results: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
            for _ in range(given.rounds):
                for reader, found in results.items():
                    command = [sys.executable, "-m", "bench.polars_reader", "--records", str(given.records)]
                    done = subprocess.run([*command, "--one", reader, server.bootstrap], capture_output=True, text=True)
                    if done.returncode:
                        raise SystemExit(f"{reader}: {done.stderr[-2000:]}")
                    found.append(json.loads(done.stdout.splitlines()[-1]))
        finally:
            server.stop()
    if given.json:
        rates = {
            reader: {what: [given.records / one[what] / 1e6 for one in found] for what in ("wall", "cpu")}
            for reader, found in results.items()
        }
        print(json.dumps(rates))
        return
    medians = {
        reader: {what: statistics.median(one[what] for one in found) for what in ("wall", "cpu", "bytes")}
        for reader, found in results.items()
    }
    ours, theirs = medians["headrace"], medians["confluent"]
    assert ours["bytes"] == theirs["bytes"]
    for reader, row in medians.items():
        shown = ", ".join(f"{given.records / row[what] / 1e6:.2f} M records/s {what}" for what in ("wall", "cpu"))
        print(f"{reader:10} {shown}")
    print(f"ratio      wall {theirs['wall'] / ours['wall']:.1f} x, CPU {theirs['cpu'] / ours['cpu']:.1f} x")


if __name__ == "__main__":
    main()

"""A topic of many small partitions: `.format("headrace")` with a task each and with maxPartitions, `scan`, `.format("kafka")`; one node.

    python -m bench.spark_partitions [--partitions 1000] [--rounds 3] [--kafka]

A count of all rows in one session, after a first query of each engine that is not counted; the engines take turns. Every result is
compared with the number of records that were written. Prints the medians of wall time and their ratio to that of a task for each
partition. The connector, which has a task for each as well and makes a consumer in each, takes minutes: it is there if asked for.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.spark_first_row import ROOT, START_S, bootstrap_of
from bench.spark_scan import session
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka

TOPIC = "many"
RECORDS = 10  # of each partition
PACKED = 8
UNPACKED = "headrace"
READY_S = 120


def fill(bootstrap: str, partitions: int) -> None:
    """A topic with a few records in each partition."""
    with Cluster(bootstrap, patience_s=READY_S) as cluster:
        Admin(cluster).create_topics([NewTopic(TOPIC, partitions, 1)])
    with Kafka(bootstrap) as kafka, kafka.producer() as producer:
        for number in range(partitions * RECORDS):
            producer.send(TOPIC, b"value %d" % number, partition=number % partitions)


def engines(spark: Any, bootstrap: str, with_kafka: bool) -> dict[str, Callable[[], int]]:
    """The count by engine."""
    from headrace.spark import register, scan

    register(spark)

    def by_format(name: str, **options: Any) -> int:
        reader = spark.read.format(name).option("kafka.bootstrap.servers", bootstrap).option("subscribe", TOPIC)
        return int(reader.options(**options).load().count())

    return {
        **({"kafka": lambda: by_format("kafka")} if with_kafka else {}),
        UNPACKED: lambda: by_format("headrace"),
        f"headrace, maxPartitions={PACKED}": lambda: by_format("headrace", maxPartitions=PACKED),
        "scan": lambda: int(scan(spark, TOPIC, bootstrap_servers=bootstrap).count()),
    }


def measured(bootstrap: str, partitions: int, rounds: int, with_kafka: bool) -> dict[str, list[float]]:
    """engine -> seconds of each round. raises SystemExit, for a wrong count"""
    spark = session("many partitions")
    counts = engines(spark, bootstrap, with_kafka)
    found: dict[str, list[float]] = {name: [] for name in counts}
    for index in range(-1, rounds):
        for name, count in counts.items() if index % 2 else reversed(counts.items()):
            begun = time.perf_counter()
            rows = count()
            seconds = time.perf_counter() - begun
            if rows != partitions * RECORDS:
                raise SystemExit(f"{name}: {rows} rows, {partitions * RECORDS} were written")
            print(f"{'first' if index < 0 else index}: {name} {seconds:.2f} s", flush=True)
            if index >= 0:
                found[name].append(seconds)
    spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="read a topic of many small partitions")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kafka", action="store_true", help="also measure the Kafka connector")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        command = [sys.executable, "-m", "headrace.cli.main", "dev", "--port", "0", "--dir", str(Path(name))]
        node = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            bootstrap = bootstrap_of(node)
            fill(bootstrap, given.partitions)
            found = measured(bootstrap, given.partitions, given.rounds, given.kafka)
        finally:
            node.terminate()
            node.wait(START_S)
    unpacked = statistics.median(found[UNPACKED])
    for engine, seconds in found.items():
        own = statistics.median(seconds)
        print(f"{engine:27} {own:6.2f} s  {own / unpacked:.3f} x a task for each partition")
    print(f"{given.partitions} partitions, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

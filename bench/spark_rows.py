"""The rows of `make bench` about Spark: the topics loaded on both servers, each bench in a process of its own, its figures with their aims.

    python -m bench.spark_rows [--scale 0.2] [--rounds 2] [--topics plain-100-none,clicks-lz4] [--parts scan,latency,start]

Runs one part alone, without the rest of `run.py`; also prints CPU seconds by engine, which a neighbour on the machine touches least.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import spark_topics
from bench.spark_topics import SparkTopic

if TYPE_CHECKING:
    from bench.nodes import Server
    from bench.run import Table

ROOT = Path(__file__).resolve().parent.parent
QUERIES = {
    "aggregate": "count and sum of lengths",
    "filter": "filter by substring",
    "Parquet": "write Parquet",
    "rows": "all columns as rows of the JVM",
    "by page": "counted by page",
}
SCAN_AIMS = {"aggregate": 10.0, "filter": 7.0, "Parquet": 6.0, "rows": 3.5, "by page": 4.0}
SCAN_AIMS_COMPRESSED = {"aggregate": 4.0, "by page": 2.5}
FORMAT_AIMS = {"aggregate": 2.5, "filter": 2.5, "Parquet": 2.0, "rows": 2.5, "by page": 3.0}
LATENCY_AIM = 0.8
FIRST_AIM = 1.0
NAMES = {"scan": "scan in the worker", "headrace": '.format("headrace")', "stream": "stream"}
PARTS = ("scan", "latency", "start")


def bench(table: Table, servers: list[Server], rounds: int, scale: float) -> None:
    """All parts. servers: ours, then Kafka."""
    found = spark_topics.topics(scale)
    loaded(servers, found)
    scans(table, servers, found, rounds)
    latencies(table, servers, rounds)
    starts(table, servers, found[0], rounds)


def loaded(servers: Sequence[Server], found: Sequence[SparkTopic]) -> None:
    for server in servers:
        for topic in found:
            spark_topics.load(server, topic)


def scans(table: Table, servers: list[Server], found: Sequence[SparkTopic], rounds: int) -> dict[str, Any]:
    """Throughput of the queries over each topic; returns the report with CPU seconds."""
    names = [topic.name for topic in found]
    logs = [f"--logs={server.directory}/logs" for server in servers]
    report = _run("bench.spark_scan", *(server.bootstrap for server in servers), str(rounds), *names, *logs)
    for topic in found:
        for query, engines in report[topic.name].items():
            theirs = _rates(engines["kafka"], topic.records)
            for engine, name, aim in (
                ("scan", NAMES["scan"], scan_aim(query, topic)),
                ("headrace", NAMES["headrace"], FORMAT_AIMS[query]),
            ):
                what = f"Spark, {topic.label}, {QUERIES[query]}: {name}"
                table.add("spark", what, "M records/s", _rates(engines[engine], topic.records), theirs, aim)
    return report


def scan_aim(query: str, topic: SparkTopic) -> float:
    """At least this number of times the connector."""
    return SCAN_AIMS[query] if topic.codec == "none" else SCAN_AIMS_COMPRESSED.get(query, SCAN_AIMS[query])


def _rates(seconds: dict[str, list[float]], records: int) -> list[float]:
    return [records / one / 1e6 for one in seconds["wall"]]


def latencies(table: Table, servers: list[Server], rounds: int) -> None:
    """Produce to micro-batch, medians of each round."""
    for server in servers:
        _create(server)
    report = _run("bench.spark_latency", *(server.bootstrap for server in servers), str(rounds))
    for engine in ("headrace", "stream"):
        ours, theirs = (list(map(statistics.median, report[name])) for name in (engine, "kafka"))
        what = f"Spark, a record's way into a micro-batch: {NAMES[engine]}"
        table.add("spark", what, "ms", ours, theirs, LATENCY_AIM, True)


def _create(server: Server) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    from bench.spark_latency import TOPIC

    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)


def starts(table: Table, servers: list[Server], topic: SparkTopic, rounds: int) -> dict[str, Any]:
    """The first query of a fresh session."""
    report = _run("bench.spark_start", *(server.bootstrap for server in servers), topic.name, str(rounds))
    for engine in ("scan", "headrace"):
        what = f"Spark, first query of a fresh session: {NAMES[engine]}"
        table.add("spark", what, "s", report[engine]["first"], report["kafka"]["first"], FIRST_AIM, True)
    return report


def _run(module: str, *arguments: str) -> dict[str, Any]:
    """What a bench reports on its last line. raises SystemExit"""
    done = subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{module}: {done.stderr[-3000:]}")
    report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return report


def _print_cpu(report: dict[str, Any]) -> None:
    for topic, queries in report.items():
        for query, engines in queries.items():
            medians = {engine: statistics.median(seconds["cpu"]) for engine, seconds in engines.items()}
            ratios = [f"{engine} {medians['kafka'] / own:.2f} x ({own:.2f} s)" for engine, own in medians.items()]
            print(f"CPU {topic}, {query}: {', '.join(ratios)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="compare headrace.spark with the Kafka connector")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--topics", help="topics, separated by commas (default: all)")
    parser.add_argument("--parts", default=",".join(PARTS))
    given = parser.parse_args()
    from bench.nodes import Headrace, Kafka
    from bench.run import SETTINGS, Table

    names = given.topics.split(",") if given.topics else None
    found = [topic for topic in spark_topics.topics(given.scale) if names is None or topic.name in names]
    parts = given.parts.split(",")
    table = Table()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        servers: list[Any] = [Headrace(Path(name) / "headrace", SETTINGS), Kafka(Path(name) / "kafka", SETTINGS)]
        try:
            for server in servers:
                server.start()
            loaded(servers, found)
            if "scan" in parts:
                _print_cpu(scans(table, servers, found, given.rounds))
            if "latency" in parts:
                latencies(table, servers, given.rounds)
            if "start" in parts:
                starts(table, servers, found[0], given.rounds)
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()

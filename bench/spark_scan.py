"""The same query over the same records: `headrace.spark.scan` and `.format("headrace")` on Headrace, `.format("kafka")` on Apache Kafka.

    python -m bench.spark_scan HEADRACE KAFKA ROUNDS TOPIC... [--logs DIRECTORY --logs DIRECTORY]

Queries of a plain topic: count and sum of lengths; a filter by substring, counted; Parquet written; all of kafka's columns as rows of
the JVM, which are thrown away (`noop`). Of JSON clicks: counted by page. `scan` aggregates, filters, writes and decodes in the Python
worker (`.format("headrace")` decodes there too), the others through Spark's rows.

Prints one line of JSON: topic -> query -> engine -> wall and CPU seconds of each round. The CPU is that of this process and all below it
(JVM, Python workers), and not that of the servers. The engines take turns, and the first round, which warms up, compares their results.

With `--logs`, the servers' log directories, each query begins on a full page cache that has the topic's segments (`page_cache.py`): a GB
of Parquet files costs 0.3 to 1.4 s of system time otherwise, by what memory it comes into.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.page_cache import PageCache, hold
from bench.peers import jars

NEEDLE = b"777"
CLICK = "user string, page string, ms long, agent string, ok boolean"
STORED = ("key", "value", "partition", "offset", "timestamp")
_TICKS = os.sysconf("SC_CLK_TCK")

Queries = dict[str, dict[str, Callable[[], Any]]]  # query -> engine -> function that runs it and returns its result


def session(name: str = "bench") -> Any:
    """A local Spark with the connector's jars on its class path, and the settings of `headrace spark submit`."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .appName(name)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "4g")
        .config("spark.jars", ",".join(map(str, jars("connector"))))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.python.daemon.module", "headrace.cli.spark_daemon")
        .getOrCreate()
    )


def cpu_s() -> float:
    """CPU seconds of this process and all below it, and of those that they waited for."""
    return sum(cpu_by_process().values())


def cpu_by_process() -> dict[int, float]:
    """The same by process id."""
    found: dict[int, float] = {}
    left = [os.getpid()]
    while left:
        pid = left.pop()
        fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if fields:
            found[pid] = sum(map(int, fields[11:15])) / _TICKS
            for thread in _names(f"/proc/{pid}/task"):  # it may end meanwhile, others have children too
                left += map(int, _text(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


class Engines:
    """The queries of one topic."""

    def __init__(self, spark: Any, headrace: str, kafka: str, topic: str) -> None:
        self._spark = spark
        self._servers = {"headrace": headrace, "kafka": kafka}
        self._headrace = headrace
        self._topic = topic

    def queries(self) -> Queries:
        return self._of_clicks() if self._topic.startswith("clicks") else self._of_values()

    def _load(self, engine: str, **options: str) -> Any:
        reader = self._spark.read.format(engine).option("kafka.bootstrap.servers", self._servers[engine])
        reader = reader.option("subscribe", self._topic).option("startingOffsets", "earliest")
        return reader.options(**options).load()

    def _scan(self, **arguments: Any) -> Any:
        from headrace.spark import scan

        return scan(self._spark, self._topic, bootstrap_servers=self._headrace, **arguments)

    def _of_values(self) -> Queries:
        import pyarrow as pa
        import pyarrow.compute as pc

        def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            rows = size = 0
            for batch in batches:
                rows += batch.num_rows
                size += pc.sum(batch["value_length"]).as_py() or 0
            yield pa.RecordBatch.from_arrays([pa.array([rows]), pa.array([size])], names=["rows", "size"])

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_arrays([pa.array([sum(batch.num_rows for batch in batches)])], names=["rows"])

        def scan_sums() -> Any:
            found = self._scan(columns=["value_length"], map_batches=sums, schema="rows bigint, size bigint")
            return tuple(found.selectExpr("sum(rows)", "sum(size)").collect()[0])

        def scan_matches() -> Any:
            where = pc.match_substring(pc.field("value"), NEEDLE)
            found = self._scan(columns=["value"], where=where, map_batches=count, schema="rows bigint")
            return found.selectExpr("sum(rows)").collect()[0][0]

        def aggregate(frame: Any) -> Any:
            return tuple(frame.selectExpr("count(*)", "sum(length(value))").collect()[0])

        def count_matches(frame: Any) -> Any:
            return frame.where(f"contains(cast(value as string), '{NEEDLE.decode()}')").count()

        def rows(frame: Any) -> Any:
            frame.write.format("noop").mode("overwrite").save()

        def each(run: Callable[[Any], Any]) -> dict[str, Callable[[], Any]]:
            return {engine: lambda engine=engine: run(self._load(engine)) for engine in ("headrace", "kafka")}  # type: ignore[misc]

        return {
            "aggregate": {"scan": scan_sums, **each(aggregate)},
            "filter": {"scan": scan_matches, **each(count_matches)},
            "Parquet": {"scan": self._parquet_by_workers, **each(self._parquet_by_rows)},
            "rows": {"scan": lambda: rows(self._scan()), **each(rows)},
        }

    def _parquet_by_rows(self, frame: Any) -> Any:
        target = tempfile.mkdtemp(prefix="bench-parquet-")
        try:
            frame.select(*STORED).write.mode("overwrite").parquet(target)
            return self._spark.read.parquet(target).count()
        finally:
            shutil.rmtree(target)

    def _parquet_by_workers(self) -> Any:
        from headrace.spark import write_parquet

        target = tempfile.mkdtemp(prefix="bench-parquet-")
        try:
            files = write_parquet(
                self._spark, self._topic, target, bootstrap_servers=self._headrace, columns=list(STORED)
            )
            return sum(row["rows"] for row in files)
        finally:
            shutil.rmtree(target)

    def _of_clicks(self) -> Queries:
        from pyspark.sql import functions as F

        from headrace.spark.decoding import json as json_records

        options = {"decode.value.format": "json", "decode.value.schema": CLICK, "columns": "page"}

        def by_page(frame: Any) -> Any:
            return sorted(map(tuple, frame.groupBy("page").count().collect()))

        def parsed() -> Any:
            value = F.col("value").cast("string")
            return self._load("kafka").select(F.from_json(value, CLICK).alias("click")).select("click.page")

        return {
            "by page": {
                "scan": lambda: by_page(self._scan(decode=json_records(CLICK), columns=["page"])),
                "headrace": lambda: by_page(self._load("headrace", **options)),
                "kafka": lambda: by_page(parsed()),
            }
        }


def measure(
    topic: str, queries: Queries, rounds: int, prepare: Callable[[], None]
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Seconds by query, engine and kind. raises SystemExit, where the engines' results differ"""
    report: dict[str, dict[str, dict[str, list[float]]]] = {}
    for query, engines in queries.items():
        results = {engine: run() for engine, run in engines.items()}
        if len(set(map(str, results.values()))) != 1:
            raise SystemExit(f"{query}: the engines disagree: {results}")
        seconds = report[query] = {engine: {"wall": [], "cpu": []} for engine in engines}
        for index in range(rounds):
            for engine, run in list(engines.items())[:: 1 if index % 2 == 0 else -1]:
                prepare()
                cpu, begun = cpu_s(), time.perf_counter()
                run()
                seconds[engine]["wall"].append(time.perf_counter() - begun)
                seconds[engine]["cpu"].append(cpu_s() - cpu)
        medians = {
            engine: {what: round(statistics.median(one), 3) for what, one in found.items()}
            for engine, found in seconds.items()
        }
        print(topic, query, medians, file=sys.stderr, flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the same query with Headrace and with the Kafka connector")
    parser.add_argument("headrace", help="bootstrap server")
    parser.add_argument("kafka")
    parser.add_argument("rounds", type=int)
    parser.add_argument("topics", nargs="+")
    parser.add_argument("--logs", type=Path, action="append", default=[], help="log directory of a server on this host")
    given = parser.parse_args()
    spark = session()
    from headrace.spark import register

    register(spark)
    report = {}
    with tempfile.TemporaryDirectory(prefix="bench-page-cache-") as directory:
        page_cache = PageCache(Path(directory))
        for name in given.topics:
            segments = [path for logs in given.logs for path in logs.glob(f"{name}-[0-9]*/*.log")]
            queries = Engines(spark, given.headrace, given.kafka, name).queries()
            report[name] = measure(name, queries, given.rounds, partial(_prepare, page_cache, segments))
    spark.stop()
    print(json.dumps(report))


def _prepare(page_cache: PageCache, segments: Sequence[Path]) -> None:
    if segments:
        page_cache.fill()
        hold(segments)


if __name__ == "__main__":
    main()

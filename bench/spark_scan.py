"""The same query over the same records: `headrace.spark.scan` and `.format("headrace")` on Headrace, `.format("kafka")` on Apache Kafka.

Queries: count and sum of lengths; a filter by substring, counted; Parquet written; JSON clicks counted by page. `scan`
aggregates, writes and decodes in the Python worker (`.format("headrace")` decodes there too), the others through Spark's rows.
Runs in a process of its own: `python -m bench.spark_scan HEADRACE KAFKA TOPIC CLICKS ROUNDS`, prints JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.peers import jars

NEEDLE = b"777"
CLICK = "user string, page string, ms long, agent string, ok boolean"


def session() -> Any:
    """A local Spark with the connector's jars on its class path."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "4g")
        .config("spark.jars", ",".join(map(str, jars("connector"))))
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )


def queries(spark: Any, headrace: str, kafka: str, topic: str, clicks: str) -> dict[str, dict[str, Callable[[], Any]]]:
    """query -> engine -> function that runs it and returns its result."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

    from headrace.spark import register, scan, write_parquet
    from headrace.spark.decoding import json as json_records

    register(spark)
    needle = NEEDLE.decode()

    def source(name: str, bootstrap: str, subscribed: str = topic, options: dict[str, str] | None = None) -> Any:
        reader = spark.read.format(name).option("kafka.bootstrap.servers", bootstrap).option("subscribe", subscribed)
        return reader.options(**(options or {})).option("startingOffsets", "earliest").load()

    def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = size = 0
        for batch in batches:
            rows += batch.num_rows
            size += pc.sum(batch["value_length"]).as_py() or 0
        yield pa.RecordBatch.from_arrays([pa.array([rows]), pa.array([size])], names=["rows", "size"])

    def matches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = sum(pc.sum(pc.match_substring(batch["value"], NEEDLE)).as_py() or 0 for batch in batches)
        yield pa.RecordBatch.from_arrays([pa.array([rows])], names=["rows"])

    def aggregate(frame: Any) -> Any:
        return tuple(frame.selectExpr("count(*)", "sum(length(value))").collect()[0])

    def count_matches(frame: Any) -> Any:
        return frame.where(f"contains(cast(value as string), '{needle}')").count()

    def through_rows(frame: Any) -> Any:
        target = tempfile.mkdtemp(prefix="bench-parquet-")
        try:
            frame.select("key", "value", "partition", "offset", "timestamp").write.mode("overwrite").parquet(target)
            return spark.read.parquet(target).count()
        finally:
            shutil.rmtree(target)

    def in_the_worker() -> Any:
        target = tempfile.mkdtemp(prefix="bench-parquet-")
        try:
            columns = ["key", "value", "partition", "offset", "timestamp"]
            return sum(
                row["rows"] for row in write_parquet(spark, topic, target, bootstrap_servers=headrace, columns=columns)
            )
        finally:
            shutil.rmtree(target)

    def scan_sums() -> Any:
        found = scan(spark, topic, bootstrap_servers=headrace, columns=["value_length"], map_batches=sums,
                     schema="rows bigint, size bigint")  # fmt: skip
        return tuple(found.selectExpr("sum(rows)", "sum(size)").collect()[0])

    def scan_matches() -> Any:
        found = scan(
            spark, topic, bootstrap_servers=headrace, columns=["value"], map_batches=matches, schema="rows bigint"
        )
        return found.selectExpr("sum(rows)").collect()[0][0]

    def by_page(frame: Any) -> Any:
        return sorted(map(tuple, frame.groupBy("page").count().collect()))

    def decoded() -> Any:
        return scan(spark, clicks, bootstrap_servers=headrace, decode=json_records(CLICK), columns=["page"])

    def decoded_by_options() -> Any:
        options = {"decode.value.format": "json", "decode.value.schema": CLICK, "columns": "page"}
        return source("headrace", headrace, clicks, options)

    def from_json() -> Any:
        frame = source("kafka", kafka, clicks).select(F.from_json(F.col("value").cast("string"), CLICK).alias("click"))
        return frame.select("click.page")

    ours, theirs = lambda: source("headrace", headrace), lambda: source("kafka", kafka)
    return {
        "count and sum of lengths": {
            "scan": scan_sums,
            "headrace": lambda: aggregate(ours()),
            "kafka": lambda: aggregate(theirs()),
        },
        "filter by substring": {
            "scan": scan_matches,
            "headrace": lambda: count_matches(ours()),
            "kafka": lambda: count_matches(theirs()),
        },
        "write Parquet": {
            "scan": in_the_worker,
            "headrace": lambda: through_rows(ours()),
            "kafka": lambda: through_rows(theirs()),
        },
        "JSON counted by page": {
            "scan": lambda: by_page(decoded()),
            "headrace": lambda: by_page(decoded_by_options()),
            "kafka": lambda: by_page(from_json()),
        },
    }


def main() -> None:
    headrace, kafka, topic, clicks, rounds = *sys.argv[1:5], int(sys.argv[5])
    spark = session()
    report: dict[str, Any] = {}
    for query, engines in queries(spark, headrace, kafka, topic, clicks).items():
        results = {engine: run() for engine, run in engines.items()}  # the first round warms up
        if len(set(map(str, results.values()))) != 1:
            raise SystemExit(f"{query}: the engines disagree: {results}")
        seconds: dict[str, list[float]] = {engine: [] for engine in engines}
        for _ in range(rounds):
            for engine, run in engines.items():
                begun = time.perf_counter()
                run()
                seconds[engine].append(time.perf_counter() - begun)
        report[query] = {engine: statistics.median(times) for engine, times in seconds.items()}
    spark.stop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()

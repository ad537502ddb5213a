"""One table under a loader that is killed: how long after an acknowledgement a query has the record, and whether any was wrong.

    python -m bench.table_queries [--queries 2000] [--rate 500] [--to parquet|delta] [--every 2s] [--kill-s 15] [--spark 100] [--json]

A producer writes sequence numbers (acks=all) into four partitions of one node; `headrace load --every` commits them to the table and
is killed (SIGKILL) every so often and started again. Meanwhile DuckDB and Polars take turns with the whole history and the live log as
one table; with `--spark N` so does Spark, N times, in a warm session (with `--queries 0` Spark alone). Each query has to have, for each
partition, every number up to the greatest that it has, once, and all that were acknowledged when it began. Its delay: from there to
its result, so what a user waits for what was acknowledged a moment before.

Exit code 1: a query was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars
from confluent_kafka import Producer

import headrace
from bench.nodes import Headrace
from bench.run import create_topic
from tests.support import children

TOPIC = "table"
PARTITIONS = 4
TICK_S = 0.02

Found = dict[int, tuple[int, int, int]]  # by partition: records, different ones, the greatest number


class Numbers:
    """Writes the next numbers, partition by partition in turn, at a rate; knows what is acknowledged.

    acknowledged   by partition, the greatest number of which all before are acknowledged, too
    """

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.acknowledged = dict.fromkeys(range(PARTITIONS), -1)
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1})
        self._rate = rate
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_over.wait(TICK_S):
            for _ in range(max(1, int(self._rate * TICK_S))):
                self._producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._done)
                number += 1
            self._producer.poll(0)

    def _done(self, error: Any, message: Any) -> None:
        assert error is None, error  # in a partition they come in their order
        self.acknowledged[message.partition()] = int(message.value())

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        self._producer.flush(30)


class Loader:
    """`headrace load --every`, killed and started again."""

    def __init__(self, bootstrap: str, to: str, every: str, kill_s: float, log: Path) -> None:
        self.kills = 0
        self._command = [sys.executable, "-m", "headrace.cli.main", "load", "--topics", TOPIC, "--to", to, "-q",
                         "-b", bootstrap, "--every", every]  # fmt: skip
        self._kill_s = kill_s
        self._log = log
        self._is_over = threading.Event()
        self._process = self._start()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _start(self) -> Any:
        with open(self._log, "a") as log:
            return children.start(self._command, stdout=log, stderr=log)

    def _run(self) -> None:
        while not self._is_over.wait(self._kill_s):
            self._process.kill()
            self._process.wait()
            self.kills += 1
            self._process = self._start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        children.end(self._process)


def by_duckdb(clicks: Any) -> Found:
    rows = duckdb.sql(
        "select partition, count(*), count(distinct number), max(number) "
        "from (select partition, cast(cast(value as varchar) as bigint) number from clicks) group by partition"
    ).fetchall()
    return {partition: (count, different, greatest) for partition, count, different, greatest in rows}


def by_polars(table: Any) -> Found:
    number = polars.col("value").cast(polars.String).cast(polars.Int64)
    frame = polars.DataFrame(table).with_columns(number=number).group_by("partition")
    rows = frame.agg(polars.len(), polars.col("number").n_unique().alias("different"), polars.col("number").max())
    return {partition: (count, different, greatest) for partition, count, different, greatest in rows.iter_rows()}


ENGINES: dict[str, Callable[[Any], Found]] = {"DuckDB": by_duckdb, "Polars": by_polars}
SPARK = "Spark"
SPARK_WARM_UP = 5


class BySpark:
    """`headrace.spark.table` in one session."""

    def __init__(self, to: str, bootstrap: str) -> None:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
        builder = builder.config("spark.sql.shuffle.partitions", "2")
        self._spark = builder.config("spark.python.unix.domain.socket.enabled", "true").getOrCreate()
        self._to = to
        self._bootstrap = bootstrap

    def __call__(self) -> Found:
        from pyspark.sql import functions as F

        from headrace.spark import table

        frame = table(
            self._spark, TOPIC, history=self._to, bootstrap_servers=self._bootstrap, columns="partition,value"
        )
        numbers = frame.selectExpr("partition", "cast(cast(value as string) as bigint) number").groupBy("partition")
        rows = numbers.agg(F.count("number"), F.countDistinct("number"), F.max("number")).collect()
        return {partition: (count, different, greatest) for partition, count, different, greatest in rows}

    def stop(self) -> None:
        self._spark.stop()


def faults_of(found: Found, acknowledged: dict[int, int]) -> list[str]:
    """What is missing or double."""
    faults = []
    for partition, least in acknowledged.items():
        count, different, greatest = found.get(partition, (0, 0, -1))
        whole = 0 if greatest < 0 else (greatest - partition) // PARTITIONS + 1
        if not count == different == whole or greatest < least:
            faults.append(
                f"partition {partition}: {count} records, {different} different, up to {greatest}, acknowledged {least}"
            )
    return faults


def turns(queries: int, by_spark: int) -> Iterator[str]:
    """The engine of each query: the others in turns, Spark's evenly among them; Spark's alone where there are no others."""
    if not queries:
        yield from [SPARK] * by_spark
    names = list(ENGINES)
    asked = 0
    for index in range(queries):
        yield names[index % len(names)]
        while asked < (index + 1) * by_spark // queries:
            asked += 1
            yield SPARK


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--rate", type=int, default=500, help="records per second")
    parser.add_argument("--to", choices=("parquet", "delta"), default="parquet")
    parser.add_argument("--every", default="2s", help="time between two commits of the loader")
    parser.add_argument("--kill-s", type=float, default=15.0, help="seconds between two kills of the loader")
    parser.add_argument("--spark", type=int, default=0, help="number of queries by Spark")
    parser.add_argument(
        "--json", action="store_true", help="print one line of JSON: p50, p99 and wrong results by engine"
    )
    given = parser.parse_args()
    delays_s: dict[str, list[float]] = {name: [] for name in ENGINES} | ({SPARK: []} if given.spark else {})
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        directory = Path(name)
        to = f"delta:{directory / 'table'}" if given.to == "delta" else str(directory / "table")
        server = Headrace(directory / "node")
        server.start()
        try:
            create_topic(server, TOPIC, PARTITIONS)
            numbers = Numbers(server.bootstrap, given.rate)
            loader = Loader(server.bootstrap, to, given.every, given.kill_s, directory / "load.log")
            spark = BySpark(to, server.bootstrap) if given.spark else None
            try:
                time.sleep(5)  # the first commit makes the table
                if spark is not None:
                    for _ in range(SPARK_WARM_UP):
                        spark()
                for index, engine in enumerate(turns(given.queries, given.spark)):
                    acknowledged = numbers.acknowledged.copy()
                    begun = time.perf_counter()
                    if spark is not None and engine == SPARK:
                        found = spark()
                    else:
                        found = ENGINES[engine](
                            headrace.table(
                                TOPIC, history=to, bootstrap_servers=server.bootstrap, columns="partition,value"
                            )
                        )
                    delays_s[engine].append(time.perf_counter() - begun)
                    wrong += [f"query {index} ({engine}): {fault}" for fault in faults_of(found, acknowledged)]
                    if index % 200 == 199:
                        print(f"{index + 1} queries, {len(wrong)} faults, {loader.kills} kills", file=sys.stderr)
            finally:
                loader.stop()
                numbers.stop()
                if spark is not None:
                    spark.stop()
        finally:
            server.stop()
    cuts = {engine: statistics.quantiles(seconds, n=100) for engine, seconds in delays_s.items() if len(seconds) > 1}
    if given.json:
        report = {engine: {"p50_ms": cut[49] * 1e3, "p99_ms": cut[98] * 1e3} for engine, cut in cuts.items()}
        print(json.dumps({"engines": report, "wrong": wrong, "kills": loader.kills}))
        return 1 if wrong else 0
    for engine, cut in cuts.items():
        delays = f"delay after acknowledgement p50 {cut[49] * 1e3:.1f} ms, p99 {cut[98] * 1e3:.1f} ms"
        print(f"{engine}: {len(delays_s[engine])} queries, {delays}")
    print(
        f"loader killed {loader.kills} times; {sum(numbers.acknowledged.values()) + PARTITIONS} numbers; wrong: {len(wrong)}"
    )
    print("\n".join(wrong[:10]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

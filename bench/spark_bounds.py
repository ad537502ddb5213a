"""What the connector leaves to be gained: its queries over rows that cost nothing to read, and the Parquet writer alone.

    python -m bench.spark_bounds [--topic plain-1000-none] [--scale 0.5] [--rounds 3]

A query of `.format(...)` ends in the JVM whatever its source is: filters, copies into Spark's rows, Parquet's own writer. Here they
run over the same rows out of the JVM's memory (a cached frame of an eighth of the topic, eight times), beside the connector. The
cache's own decoding is in it; what a source takes comes on top.

`scan` writes Parquet in Python workers, by pyarrow: that writer alone, on two processes, over Arrow batches that lie in memory.

Prints a table: seconds of the connector, of the bound, and how many times the connector the bound is. The engines take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import spark_topics  # noqa: E402
from bench.spark_scan import Engines, session  # noqa: E402

REPEATS = 8
SAMPLE_ROWS = 50_000
WRITERS = 2  # as many as Spark has cores here


class InMemory(Engines):
    """The same queries, over a frame."""

    def __init__(self, frame: Any) -> None:
        super().__init__(frame.sparkSession, "", "", "plain")
        self._frame = frame

    def _load(self, engine: str, **options: str) -> Any:
        return self._frame


def queries(
    spark: Any, headrace: str, kafka: str, topic: spark_topics.SparkTopic
) -> dict[str, dict[str, Callable[[], Any]]]:
    """query -> "connector" or "memory" -> function."""
    engines = Engines(spark, headrace, kafka, topic.name)
    of_connector = {name: found["kafka"] for name, found in engines.queries().items()}
    ends = {
        str(partition): topic.records // REPEATS // spark_topics.PARTITIONS
        for partition in range(spark_topics.PARTITIONS)
    }
    few = engines._load("kafka", endingOffsets=json.dumps({topic.name: ends})).persist()
    few.count()
    many = few
    for _ in range(REPEATS - 1):
        many = many.union(few)
    of_memory = {name: found["kafka"] for name, found in InMemory(many).queries().items()}
    return {name: {"connector": run, "memory": of_memory[name]} for name, run in of_connector.items()}


def write_parquet(bootstrap: str, topic: str, rows: int, directory: str) -> None:
    """One of the writers: the topic's first rows, over and over. Prints the seconds."""
    import pyarrow as pa

    from headrace import arrow
    from headrace.arrow.parquet_files import parquet_writer

    kinds = [("key", pa.binary()), ("value", pa.binary()), ("partition", pa.int32()), ("offset", pa.int64())]
    schema = pa.schema([*kinds, ("timestamp", pa.timestamp("us", "UTC"))])
    batches, found = [], 0
    reader = arrow.open(topic, bootstrap_servers=bootstrap, columns=schema.names)
    for batch in reader:
        batches.append(batch)
        found += batch.num_rows
        if found >= SAMPLE_ROWS:
            break
    (whole,) = pa.Table.from_batches(batches).cast(schema).combine_chunks().to_batches()
    reader.close()
    begun, left = time.perf_counter(), rows
    with parquet_writer(f"{directory}/{time.time_ns()}.parquet", schema, "snappy") as writer:
        while left > 0:
            writer.write_batch(whole.slice(0, min(left, whole.num_rows)))
            left -= whole.num_rows
    print(time.perf_counter() - begun)


def by_writers(bootstrap: str, topic: spark_topics.SparkTopic) -> float:
    """Seconds of the slower one of two processes, which have half of the rows each. raises SystemExit"""
    rows = str(topic.records // WRITERS)
    with tempfile.TemporaryDirectory(prefix="bench-parquet-") as place:
        command = [sys.executable, "-m", "bench.spark_bounds", "--write", bootstrap, topic.name, rows, place]
        running = [
            subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(WRITERS)
        ]
        outputs = [one.communicate() for one in running]
        if any(one.returncode for one in running):
            raise SystemExit(f"bench.spark_bounds --write: {outputs[0][1][-2000:]}")
        return max(float(printed) for printed, _errors in outputs)


def measure(headrace: str, kafka: str, topic: spark_topics.SparkTopic, rounds: int) -> None:
    spark = session()
    found = queries(spark, headrace, kafka, topic)
    found["Parquet"]["pyarrow"] = lambda: by_writers(headrace, topic)
    print("| query | connector, s | bound | s | times the connector |\n|---|---|---|---|---|")
    for query, ways in found.items():
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for index in range(-1, rounds):  # the first warms up
            for way, run in list(ways.items())[:: 1 if index % 2 else -1]:
                begun = time.perf_counter()
                told = run()
                took = told if way == "pyarrow" else time.perf_counter() - begun
                if index >= 0:
                    seconds[way].append(took)
        theirs = statistics.median(seconds["connector"])
        for way, name in (("memory", "rows in the JVM's memory"), ("pyarrow", "pyarrow's writer, two processes")):
            if way in seconds:
                own = statistics.median(seconds[way])
                spread = f"{min(seconds[way]):.2f} to {max(seconds[way]):.2f}"
                print(f"| {query} | {theirs:.2f} | {name} | {own:.2f} ({spread}) | {theirs / own:.2f} |", flush=True)
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="What Spark and Parquet take without a source")
    parser.add_argument("--topic", default="plain-1000-none", help="of bench/spark_topics.py")
    parser.add_argument("--scale", type=float, default=1.0, help="of the records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", nargs=4, metavar=("BOOTSTRAP", "TOPIC", "ROWS", "DIRECTORY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        bootstrap, name, rows, directory = given.write
        write_parquet(bootstrap, name, int(rows), directory)
        return
    from bench.nodes import Headrace, Kafka
    from bench.run import SETTINGS

    (topic,) = [one for one in spark_topics.topics(given.scale) if one.name == given.topic]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as place:
        servers: list[Any] = [Headrace(Path(place) / "headrace", SETTINGS), Kafka(Path(place) / "kafka", SETTINGS)]
        try:
            for server in servers:
                server.start()
                spark_topics.load(server, topic)
            measure(servers[0].bootstrap, servers[1].bootstrap, topic, given.rounds)
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()

"""What the connector leaves to be gained: its queries over rows that cost nothing to read, and the parts that no source can leave out.

    python -m bench.spark_bounds [--topic plain-1000-none] [--scale 0.5] [--rounds 3]

A query of `.format(...)` ends in the JVM whatever its source is: filters, copies into Spark's rows, Parquet's own writer. "memory": the
same rows out of the JVM's memory (a cached frame of an eighth of the topic, eight times); the cache's own decoding is in it. "repeated":
a source in Python that sends the topic's first batches again and again, and reads nothing else: the least that any source in Python takes.

`scan` works in Python workers. "pyarrow": pyarrow's Parquet writer alone, over Arrow batches that lie in memory. "decompressed": the record
batches of a compressed topic decompressed, and nothing done with them. Both in as many processes as Spark has cores here.

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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import spark_topics  # noqa: E402
from bench.spark_scan import Engines, session  # noqa: E402

REPEATS = 8
SAMPLE_ROWS = 50_000
PROCESSES = 2  # as many as Spark has cores here
SAMPLE_BYTES = 32 << 20  # of a segment
NAMES = {
    "memory": "rows in the JVM's memory",
    "repeated": "a Python source that reads nothing",
    "pyarrow": "pyarrow's writer, two processes",
    "decompressed": "decompression, two processes",
}


class Repeated(DataSource):
    """The first rows of a topic, again and again, with the columns of `.format("headrace")`. options: its own, and `rows`"""

    @classmethod
    def name(cls) -> str:
        return "repeated"

    def schema(self) -> Any:
        return _reading(self.options)[0].spark_schema()

    def reader(self, schema: Any) -> DataSourceReader:
        return RepeatedReader(dict(self.options))


class RepeatedReader(DataSourceReader):
    """Its rows, on as many tasks as the topic has partitions."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(spark_topics.PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from headrace.arrow.planner import plan

        reading, options = _reading(self._options)
        one = plan(options)[partition.value]
        batches = list(reading.batches(one))
        left = int(self._options["rows"]) // spark_topics.PARTITIONS
        while left > 0:
            for batch in batches:
                yield batch.slice(0, min(left, batch.num_rows))
                left -= min(left, batch.num_rows)
                if not left:
                    break


def _reading(options: Any) -> tuple[Any, Any]:
    from headrace.spark.options import parse_options
    from headrace.spark.reading import reading_of

    given = parse_options({name: value for name, value in options.items() if name != "rows"})
    return reading_of(given, None), given


class Loaded(Engines):
    """The same queries, over a frame."""

    def __init__(self, spark: Any, load: Callable[[], Any]) -> None:
        super().__init__(spark, "", "", "plain")
        self._frame = load

    def _load(self, engine: str, **options: str) -> Any:
        return self._frame()


def queries(
    spark: Any, headrace: str, kafka: str, topic: spark_topics.SparkTopic
) -> dict[str, dict[str, Callable[[], Any]]]:
    """query -> "connector", "memory" or "repeated" -> function."""
    engines = Engines(spark, headrace, kafka, topic.name)
    few = engines._load("kafka", endingOffsets=_first(topic, topic.records // REPEATS)).persist()
    few.count()
    many = few
    for _ in range(REPEATS - 1):
        many = many.union(few)
    spark.dataSource.register(Repeated)

    def repeated() -> Any:
        reader = spark.read.format("repeated").option("kafka.bootstrap.servers", headrace).option("rows", topic.records)
        return reader.option("subscribe", topic.name).option("endingOffsets", _first(topic, SAMPLE_ROWS)).load()

    ways = {"connector": engines, "memory": Loaded(spark, lambda: many), "repeated": Loaded(spark, repeated)}
    found: dict[str, dict[str, Callable[[], Any]]] = {}
    for way, made in ways.items():
        for name, runs in made.queries().items():
            found.setdefault(name, {})[way] = runs["kafka"]
    return found


def _first(topic: spark_topics.SparkTopic, rows: int) -> str:
    """The ends of the first rows, as an option."""
    ends = {str(partition): rows // spark_topics.PARTITIONS for partition in range(spark_topics.PARTITIONS)}
    return json.dumps({topic.name: ends})


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


def decompress_batches(segment: str, rows: int) -> None:
    """One of the decompressors: a segment's first batches, over and over. Prints the seconds."""
    from headrace.protocol.compression import decompress
    from headrace.protocol.record_batch import HEADER_BYTES, iterate_batches

    with open(segment, "rb") as file:
        data = file.read(SAMPLE_BYTES)
    batches = [
        (header.codec, batch[HEADER_BYTES:], header.record_count) for _position, header, batch in iterate_batches(data)
    ]
    begun, left = time.perf_counter(), rows
    while left > 0:
        for codec, records, count in batches:
            decompress(codec, records)
            left -= count
            if left <= 0:
                break
    print(time.perf_counter() - begun)


def in_processes(*arguments: str) -> float:
    """Seconds of the slower one of two processes of this module. raises SystemExit"""
    command = [sys.executable, "-m", "bench.spark_bounds", *arguments]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    outputs = [one.communicate() for one in running]
    if any(one.returncode for one in running):
        raise SystemExit(f"{' '.join(command)}: {outputs[0][1][-2000:]}")
    return max(float(printed) for printed, _errors in outputs)


def measure(headrace: str, kafka: str, logs: Path, topic: spark_topics.SparkTopic, rounds: int) -> None:
    spark = session()
    found = queries(spark, headrace, kafka, topic)
    rows = str(topic.records // PROCESSES)

    def by_writers() -> float:
        with tempfile.TemporaryDirectory(prefix="bench-parquet-") as place:
            return in_processes("--write", headrace, topic.name, rows, place)

    found["Parquet"]["pyarrow"] = by_writers
    if topic.codec != "none":
        (segment, *_later) = sorted(logs.glob(f"{topic.name}-0/*.log"))
        for query in ("aggregate", "filter"):
            found[query]["decompressed"] = lambda: in_processes("--decompress", str(segment), rows)
    print("| query | connector, s | bound | s | times the connector |\n|---|---|---|---|---|")
    for query, ways in found.items():
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for index in range(-1, rounds):  # the first warms up
            for way, run in list(ways.items())[:: 1 if index % 2 else -1]:
                begun = time.perf_counter()
                told = run()
                took = told if way in ("pyarrow", "decompressed") else time.perf_counter() - begun
                if index >= 0:
                    seconds[way].append(took)
        theirs = statistics.median(seconds["connector"])
        for way in ways:
            if way != "connector":
                own = statistics.median(seconds[way])
                spread = f"{min(seconds[way]):.2f} to {max(seconds[way]):.2f}"
                print(
                    f"| {query} | {theirs:.2f} | {NAMES[way]} | {own:.2f} ({spread}) | {theirs / own:.2f} |", flush=True
                )
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the cost of Spark, Parquet and codecs without a source")
    parser.add_argument("--topic", default="plain-1000-none", help="a topic of bench/spark_topics.py")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", nargs=4, metavar=("BOOTSTRAP", "TOPIC", "ROWS", "DIRECTORY"), help=argparse.SUPPRESS)
    parser.add_argument("--decompress", nargs=2, metavar=("SEGMENT", "ROWS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        bootstrap, name, rows, directory = given.write
        write_parquet(bootstrap, name, int(rows), directory)
    elif given.decompress:
        decompress_batches(given.decompress[0], int(given.decompress[1]))
    else:
        bench(given.topic, given.scale, given.rounds)


def bench(name: str, scale: float, rounds: int) -> None:
    """Both servers, the topic, the table."""
    from bench.nodes import Headrace, Kafka
    from bench.run import SETTINGS

    (topic,) = [one for one in spark_topics.topics(scale) if one.name == name]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as place:
        servers: list[Any] = [Headrace(Path(place) / "headrace", SETTINGS), Kafka(Path(place) / "kafka", SETTINGS)]
        try:
            for server in servers:
                server.start()
                spark_topics.load(server, topic)
            measure(servers[0].bootstrap, servers[1].bootstrap, servers[0].directory / "logs", topic, rounds)
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()

"""Topics into tables beside Spark's connector, and a count over a table, past and present, with and without its filter pushed down.

    python -m bench.tables [--scale 0.1] [--rounds 1] [--parts load,count] [--formats delta,iceberg] [--json]

`load`: JSON clicks (10 million at scale 1) of one node into a Delta and an Iceberg table, typed columns, each side once and from a fresh
start, in turns: `headrace load --decode json` as a process, its start included; and Spark's Kafka source with foreachBatch into Spark's own
Delta or Iceberg, in Java, two threads, one micro-batch (`peers/TableJob.java`): of that the query alone, without the start of the JVM and
the session. Both tables have to have all rows.

`count`: DuckDB counts what is after the middle of the offsets of a table of 50 million records (at scale 1), nine tenths of which are
loaded: over `headrace.table`, and over the same table as a plain Arrow stream, which is what DuckDB reads where nothing is pushed down.
Both have to find the same number.

Prints a ratio for each row; what is written comes from this machine's page cache, so only ratios of one run compare. CPU seconds of each
side are printed beside them: of all its processes, the start of the JVM included, without the node. Other work on the machine changes
them less than it changes the time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.hammer import exchange
from bench.nodes import Headrace, write_byte_code
from bench.peers import ROOT, jars
from bench.run import create_topic
from bench.spark_topics import click
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import build_batch

SCHEMA = "user string, page string, ms long, agent string, ok boolean"
TOPIC = "clicks"
PARTITIONS = 2
RECORDS, COUNTED = 10_000_000, 50_000_000
BATCH_RECORDS = 5_000
PRODUCE_VERSION = 8
LOADED = 0.9  # of what is counted
AIMS = {"load": "at least 3", "count": "at most 0.2"}
OPENS = ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent", "util.concurrent.atomic")
INTERNAL = ("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")


def produce(bootstrap: str, values: Iterator[bytes], again: int = 1) -> None:
    """Write values in whole batches, to the partitions in turn; each batch `again` times. raises SystemExit"""
    host, _, port = bootstrap.rpartition(":")
    request = messages.ProduceRequest
    number = 0
    while batch := [(None, value) for _place, value in zip(range(BATCH_RECORDS), values, strict=False)]:
        data = build_batch(batch, timestamp_ms=int(time.time() * 1000))
        for _ in range(again):
            part = request.PartitionProduceData(number % PARTITIONS, data)
            message = request(acks=-1, timeout_ms=30_000, topic_data=[request.TopicProduceData(TOPIC, [part])])
            frame = build_request(ApiKey.PRODUCE, PRODUCE_VERSION, 7, "tables", message)
            answer = exchange((host, int(port)), frame, ApiKey.PRODUCE, PRODUCE_VERSION)
            if error := answer.responses[0].partition_responses[0].error_code:
                raise SystemExit(f"produce: error code {error}")
            number += 1


def by_headrace(bootstrap: str, kind: str, directory: Path) -> tuple[float, int]:
    """(seconds of the process, rows of the table)."""
    directory.mkdir(parents=True)
    to, environment = target_of(kind, directory)
    command = [sys.executable, "-m", "headrace.cli.main", "load", "--topics", TOPIC, "--to", to, "-q", "-b", bootstrap]
    columns = ["--columns", "key," + ",".join(part.split()[0] for part in SCHEMA.split(", "))]
    begun = time.perf_counter()
    done = subprocess.run(
        [*command, *columns, "--decode", "json", "--schema", SCHEMA],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"headrace load: {done.stderr[-2000:]}")
    os.environ.update(environment)
    if kind == "iceberg":  # which reads it when it is imported
        import pyiceberg.catalog
        from pyiceberg.utils.config import Config

        pyiceberg.catalog._ENV_CONFIG = Config()
    from headrace.load.history import dataset

    return seconds, dataset(to).count_rows()


def by_spark(bootstrap: str, kind: str, directory: Path) -> tuple[float, int]:
    """(seconds of the query, rows of the table)."""
    directory.mkdir(parents=True)
    lakes = jars("lakes")
    classes = ROOT / "build" / "peers" / "tablejob"
    if not (classes / "TableJob.class").exists():
        classes.mkdir(parents=True, exist_ok=True)
        source = ROOT / "bench" / "peers" / "TableJob.java"
        subprocess.run(["javac", "-cp", f"{lakes[0].parent}/*", "-d", str(classes), str(source)], check=True)
    opens = [f"java.base/java.{name}" for name in OPENS] + [f"java.base/{name}" for name in INTERNAL]
    flags = [f"--add-opens={name}=ALL-UNNAMED" for name in opens]
    command = ["java", "-Xmx4g", *flags, "-cp", f"{classes}:{lakes[0].parent}/*", "TableJob"]
    done = subprocess.run(
        [*command, bootstrap, TOPIC, kind, str(directory), SCHEMA],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
    )
    found = re.search(r"seconds=(\S+) rows=(\d+)", done.stdout)
    if found is None:
        raise SystemExit(f"Spark: {done.stderr[-3000:]}")
    return float(found[1]), int(found[2])


def target_of(kind: str, directory: Path) -> tuple[str, dict[str, str]]:
    """What `--to` is, and the environment that it needs."""
    if kind == "delta":
        return f"delta:{directory / 'table'}", {}
    prefix = "PYICEBERG_CATALOG__BENCH__"
    catalog = {"TYPE": "sql", "URI": f"sqlite:///{directory}/catalog.db", "WAREHOUSE": f"file://{directory}/warehouse"}
    return "iceberg:bench:web.clicks", {prefix + key: value for key, value in catalog.items()}


class Unpushed:
    """A table as a stream alone: all columns of all rows."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def children_cpu_s() -> float:
    """CPU seconds of processes that this one started, and that they started, and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def loads(server: Headrace, directory: Path, count: int, rounds: int, formats: list[str]) -> Iterator[dict[str, Any]]:
    """A row for each format. raises SystemExit, where a table has not all rows"""
    produce(server.bootstrap, map(click, range(count)))
    sides: dict[str, Callable[[str, str, Path], tuple[float, int]]] = {"headrace": by_headrace, "spark": by_spark}
    for kind in formats:
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(rounds):
            for name in list(sides)[:: 1 if turn % 2 == 0 else -1]:
                before_s = children_cpu_s()
                took, rows = sides[name](server.bootstrap, kind, directory / f"{kind}-{name}-{turn}")
                cpu[name].append(children_cpu_s() - before_s)
                if rows != count:
                    raise SystemExit(f"{name} into {kind}: {rows} rows of {count}")
                seconds[name].append(took)
                print(f"{kind}, {name}: {took:.1f} s, CPU {cpu[name][-1]:.1f} s", file=sys.stderr, flush=True)
        medians = {name: statistics.median(some) for name, some in seconds.items()}
        yield {
            "row": f"load, {count:,} JSON clicks into {kind}",
            "headrace_s": medians["headrace"],
            "peer_s": medians["spark"],
            "headrace_cpu_s": statistics.median(cpu["headrace"]),
            "peer_cpu_s": statistics.median(cpu["spark"]),
            "ratio": medians["spark"] / medians["headrace"],
            "aim": AIMS["load"],
        }


def counts(server: Headrace, directory: Path, count: int, rounds: int) -> Iterator[dict[str, Any]]:
    """One row. raises SystemExit, where two counts differ"""
    import duckdb

    import headrace
    from headrace.load import load

    batches = count // BATCH_RECORDS
    loaded = max(int(batches * LOADED), 1)
    (directory / "count").mkdir()
    to = str(directory / "count" / "table")
    produce(server.bootstrap, map(click, range(BATCH_RECORDS)), again=loaded)
    load(TOPIC, to, bootstrap_servers=server.bootstrap)
    produce(server.bootstrap, map(click, range(BATCH_RECORDS)), again=batches - loaded)
    clicks = headrace.table(TOPIC, history=to, bootstrap_servers=server.bootstrap)
    ways = {"pushed": clicks, "unpushed": Unpushed(clicks)}
    query = f'select count(*) from given where "offset" > {count // PARTITIONS // 2}'
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    found = set()
    for turn in range(rounds + 1):
        for name, given in ways.items():
            with duckdb.connect() as connection:
                begun = time.perf_counter()
                found.add(connection.register("given", given).sql(query).fetchall()[0][0])
                if turn:  # the first one warms up
                    seconds[name].append(time.perf_counter() - begun)
    if len(found) != 1:
        raise SystemExit(f"count: {sorted(found)}")
    medians = {name: statistics.median(some) for name, some in seconds.items()}
    yield {
        "row": f"count(*) where offset > x, {batches * BATCH_RECORDS:,} records",
        "headrace_s": medians["pushed"],
        "peer_s": medians["unpushed"],
        "ratio": medians["pushed"] / medians["unpushed"],
        "aim": AIMS["count"],
    }


def rows_of(part: str, scale: float, rounds: int, formats: list[str]) -> list[dict[str, Any]]:
    """On a node of its own."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        directory = Path(name)
        server = Headrace(directory / "node")
        server.start()
        try:
            create_topic(server, TOPIC, PARTITIONS)
            if part == "load":
                return list(loads(server, directory, int(RECORDS * scale), rounds, formats))
            return list(counts(server, directory, max(int(COUNTED * scale), 2 * BATCH_RECORDS), max(rounds, 3)))
        finally:
            server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="factor on 10 million records to load, and on 50 million to count"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--parts", default="load,count")
    parser.add_argument("--formats", default="delta,iceberg")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    write_byte_code()  # as pip does where it installs
    found = [
        row
        for part in given.parts.split(",")
        for row in rows_of(part, given.scale, given.rounds, given.formats.split(","))
    ]
    if given.json:
        print(json.dumps(found))
        return 0
    print(f"{'':52} {'headrace s':>10} {'peer s':>8} {'ratio':>7}  aim")
    for row in found:
        print(f"{row['row']:52} {row['headrace_s']:10.2f} {row['peer_s']:8.2f} {row['ratio']:6.2f}x  {row['aim']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

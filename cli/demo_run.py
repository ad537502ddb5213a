"""The demo: every line of a source tree through a Kafka client into a node, and back through Spark from the segment files.

Runs in: `headrace demo`. It starts a node (`headrace dev`) in a temporary directory, ends it by pid, also where the demo itself is told to
stop (SIGINT, SIGTERM), and checks what Spark counted against the files themselves.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.cli.interrupt import Interrupt
from headrace.node.termination import terminate

TOPIC = "sources"
PARTITIONS = 4
NODE_LOG = "node.log"
READY_DEADLINE_S = 60
STOP_DEADLINE_S = 15
KEYWORDS_SHOWN = 10
QUEUE_MESSAGES_MAX = 200_000
READ_BYTES = 65_536


def run_demo(file: Path | None) -> int:
    """Run it all; 0 where every check held."""
    from rich.console import Console

    console = Console(highlight=False)
    if file is not None and not file.is_file():
        console.print(f"[red]{file} is no file[/red]")
        return 1
    directory = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    node = None
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        console.print("starting a node (with its own ZooKeeper) ...")
        with Interrupt() as interrupt:  # nobody would know the node's pid
            node = _start_node(directory)
        if interrupt:
            raise KeyboardInterrupt
        bootstrap = _await_ready(node, directory)
        console.print(f"the node serves on [bold]{bootstrap}[/bold]\n")
        written, seconds, expected = _produce(console, bootstrap, file)
        console.print(_rate("librdkafka wrote", written, seconds))
        return _count(console, bootstrap, expected, file)
    finally:
        if node is not None:
            terminate(node, STOP_DEADLINE_S)
        shutil.rmtree(directory, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


class _Expected:
    """What an independent count over the files says."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()  # by package
        self.keywords: Counter[str] = Counter()


def _start_node(directory: Path) -> subprocess.Popen[bytes]:
    with open(directory / NODE_LOG, "w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "headrace.cli.main", "dev", "--dir", str(directory / "node"), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=log,
        )


def _await_ready(node: subprocess.Popen[bytes], directory: Path) -> str:
    """The bootstrap address from the node's readiness line.

    raises   SystemExit with the node's log, where no such line comes within READY_DEADLINE_S
    """
    assert node.stdout is not None
    deadline_s = time.monotonic() + READY_DEADLINE_S
    said = b""
    while (left_s := deadline_s - time.monotonic()) > 0:
        readable, _, _ = select.select([node.stdout], [], [], left_s)
        data = os.read(node.stdout.fileno(), READ_BYTES) if readable else b""
        if not data:
            break
        said += data
        for line in said.decode("utf-8", "replace").splitlines(keepends=True):
            if line.startswith("ready ") and line.endswith("\n"):
                return line.split("bootstrap=")[1].split()[0]
    raise SystemExit(f"the node did not come up; its log says:\n{(directory / NODE_LOG).read_text()}")


def _lines(file: Path | None) -> Iterator[tuple[str, bytes]]:
    """(file name, line) of the sources, or of one file."""
    if file is not None:
        with open(file, "rb") as lines:
            for line in lines:
                yield file.name, line.rstrip(b"\r\n")
        return
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        name = str(path.relative_to(root))
        with open(path, "rb") as lines:
            for line in lines:
                yield name, line.rstrip(b"\r\n")


def package_of(name: str) -> str:
    """The top-level package or module that a file belongs to."""
    return name.split("/")[0].removesuffix(".py")


def words_of(line: bytes) -> list[str]:
    """Identifiers in a line, split where Spark's side splits."""
    import re

    return re.findall(r"[A-Za-z_]+", line.decode("utf-8", "replace"))


def _produce(console: Any, bootstrap: str, file: Path | None) -> tuple[tuple[int, int], float, _Expected]:
    """Stream the lines; ((lines, bytes), seconds, what the files say)."""
    import keyword

    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    console.print("reading the files ...")
    expected = _Expected()
    lines = []
    total_bytes = 0
    reserved = set(keyword.kwlist)
    for name, line in _lines(file):
        lines.append((name, line))
        total_bytes += len(name) + len(line)
        expected.lines[package_of(name)] += 1
        expected.keywords.update(word for word in words_of(line) if word in reserved)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
        }
    )
    failures: list[str] = []

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            failures.append(str(error))

    columns = (TextColumn("writing"), BarColumn(), MofNCompleteColumn(), TextColumn("lines"), TimeElapsedColumn())
    begun = time.monotonic()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("writing", total=len(lines))
        for number, (name, line) in enumerate(lines):
            while True:
                try:
                    producer.produce(TOPIC, value=line, key=name, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.05)
            if number % 5_000 == 0:
                producer.poll(0)
                progress.update(task, completed=number)
        left = producer.flush(60)
        progress.update(task, completed=len(lines))
    if failures or left:
        raise SystemExit(f"{len(failures) + left} lines were not acknowledged: {failures[:3]}")
    return (len(lines), total_bytes), time.monotonic() - begun, expected


def _count(console: Any, bootstrap: str, expected: _Expected, file: Path | None) -> int:
    """Count with Spark, print, compare."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from rich.table import Table

    console.print("\nstarting Spark ...")
    begun = time.monotonic()
    spark = _spark_session()
    try:
        spark.range(1).mapInArrow(lambda batches: batches, "id bigint").count()
        console.print(f"Spark's own start, to its first Python task: {time.monotonic() - begun:.1f} s")
        for when in ("first query: workers import and plan", "the same query again, warm"):
            begun = time.monotonic()
            rows = _package_counts(spark, bootstrap)
            seconds = time.monotonic() - begun
            total = (sum(row["lines"] for row in rows), sum(row["bytes"] for row in rows))
            console.print(_rate(f"Spark read from the page cache ({when})", total, seconds))
        lines = {row["package"]: row["lines"] for row in rows}
        counted = _keyword_counts(spark, bootstrap)
    finally:
        spark.stop()
    table = Table(title=f"lines per package ({len(lines)} packages)")
    table.add_column("package")
    table.add_column("lines", justify="right")
    for package, count in Counter(lines).most_common(12):
        table.add_row(package, f"{count:,}")
    console.print(table)
    top = counted.most_common(KEYWORDS_SHOWN)
    if top:
        table = Table(title=f"the {len(top)} most used keywords")
        table.add_column("keyword")
        table.add_column("times", justify="right")
        for word, count in top:
            table.add_row(word, f"{count:,}")
        console.print(table)
    if lines != dict(expected.lines) or counted != expected.keywords:
        console.print("[red]the counts differ from the files[/red]")
        return 1
    what = file.name if file is not None else "the standard library's sources"
    console.print(f"[green]checked: Spark's counts are those of {what}[/green]")
    return 0


def _spark_session() -> Any:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[*]")
        .appName("headrace demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    return session


def _package_counts(spark: Any, bootstrap: str) -> list[Any]:
    """Lines and bytes by package: counted in the Python workers, summed by Spark."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions

    from headrace.spark import scan

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lines: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for batch in batches:
            sized = pa.table({"key": batch["key"], "size": pc.add(batch["key_length"], batch["value_length"])})
            for row in sized.group_by("key").aggregate([("size", "count"), ("size", "sum")]).to_pylist():
                package = package_of(row["key"].decode())
                lines[package] += row["size_count"]
                sizes[package] += row["size_sum"]
        arrays = [pa.array(lines.keys(), pa.string()), pa.array(lines.values()), pa.array(sizes.values())]
        yield pa.RecordBatch.from_arrays(arrays, names=["package", "lines", "bytes"])

    counted = scan(
        spark,
        TOPIC,
        bootstrap_servers=bootstrap,
        columns=["key", "key_length", "value_length"],
        map_batches=count,
        schema="package string, lines bigint, bytes bigint",
    )
    sums = (functions.sum("lines").alias("lines"), functions.sum("bytes").alias("bytes"))
    rows: list[Any] = counted.groupBy("package").agg(*sums).collect()
    return rows


def _keyword_counts(spark: Any, bootstrap: str) -> Counter[str]:
    import keyword

    import pyarrow as pa

    from headrace.spark import scan

    reserved = set(keyword.kwlist)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: Counter[str] = Counter()
        for batch in batches:
            for line in batch["value"].to_pylist():
                found.update(word for word in words_of(line or b"") if word in reserved)
        arrays = [pa.array(found.keys(), pa.string()), pa.array(found.values(), pa.int64())]
        yield pa.RecordBatch.from_arrays(arrays, names=["word", "times"])

    counted = scan(
        spark,
        TOPIC,
        bootstrap_servers=bootstrap,
        columns=["value"],
        map_batches=count,
        schema="word string, times bigint",
    )
    total: Counter[str] = Counter()
    for row in counted.collect():
        total[row["word"]] += row["times"]
    return total


def _rate(what: str, amount: tuple[int, int], seconds: float) -> str:
    lines, size = amount
    return (
        f"{what}: {lines:,} lines, {size / 1e6:.1f} MB in {seconds:.2f} s "
        f"= [bold]{lines / seconds:,.0f} lines/s, {size / 1e6 / seconds:.1f} MB/s[/bold]"
    )

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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.cli.interrupt import Interrupt
from headrace.limits import DEMO_MESSAGE_BYTES_MAX, DEMO_QUEUE_MESSAGES_MAX, RATE_BYTES_MIN
from headrace.node.termination import terminate

TOPIC = "sources"
PARTITIONS = 4
NODE_LOG = "node.log"
READY_DEADLINE_S = 60
STOP_DEADLINE_S = 15
KEYWORDS_SHOWN = 10
READ_BYTES = 65_536

SPARK_LOGGING = """\
rootLogger.level = error
logger.python.name = org.apache.spark.api.python.PythonGatewayServer
logger.python.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""


def run_demo(file: Path | None) -> int:
    """Run it all; 0 where every check held."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    try:
        sources = _read(console, file)
    except BadFile as failure:
        console.print(f"[red]{escape(str(failure))}[/red]", soft_wrap=True)
        return 1
    directory = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    node = None
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        console.print("starting a node (with its own ZooKeeper) ...")
        with Interrupt() as interrupt:  # until the node's pid is known
            node = _start_node(directory)
        if interrupt:
            raise KeyboardInterrupt
        bootstrap = _await_ready(node, directory)
        console.print(f"the node is ready on [bold]{bootstrap}[/bold]\n")
        seconds = _produce(console, bootstrap, sources.lines)
        console.print(_rate("librdkafka wrote", (len(sources.lines), sources.size), seconds), soft_wrap=True)
        return _count(console, bootstrap, sources.expected, file, directory)
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


class _Sources:
    """Every line, what they take with their keys, and what an independent count says."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, bytes]] = []
        self.size = 0
        self.expected = _Expected()


class BadFile(Exception):
    """An unusable file; the text names it."""


def _read(console: Any, file: Path | None) -> _Sources:
    """All lines, before anything is started for them. raises BadFile"""
    import keyword

    console.print("reading the files ...")
    reserved = set(keyword.kwlist)
    sources = _Sources()
    try:
        for number, (name, line) in enumerate(_lines(file), 1):
            size = len(name.encode()) + len(line)
            if size > DEMO_MESSAGE_BYTES_MAX:
                raise BadFile(
                    f"{file or name}, line {number}: {len(line)} bytes; "
                    f"the demo takes lines of at most {DEMO_MESSAGE_BYTES_MAX} bytes"
                )
            sources.lines.append((name, line))
            sources.size += size
            sources.expected.lines[package_of(name)] += 1
            sources.expected.keywords.update(word for word in words_of(line) if word in reserved)
    except OSError as failure:
        raise BadFile(f"{failure.filename or file}: {failure.strerror}") from None
    if not sources.lines:
        raise BadFile(f"{file} is empty: there is nothing to write or count")
    return sources


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
    raise SystemExit(f"the node did not start; its log:\n{(directory / NODE_LOG).read_text()}")


def _lines(file: Path | None) -> Iterator[tuple[str, bytes]]:
    """(file name, line) of the sources, or of one file."""
    if file is not None:
        with open(file, "rb") as lines:
            name = file.name.encode("utf-8", "replace").decode()
            for line in lines:
                yield name, line.rstrip(b"\r\n")
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


def _produce(console: Any, bootstrap: str, lines: list[tuple[str, bytes]]) -> float:
    """Stream the lines, (file name, line); returns the seconds that took."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": DEMO_QUEUE_MESSAGES_MAX,
            "message.max.bytes": DEMO_MESSAGE_BYTES_MAX,
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
        raise SystemExit(f"{len(failures) + left} lines were not acknowledged, the first errors: {failures[:3]}")
    return time.monotonic() - begun


def _count(console: Any, bootstrap: str, expected: _Expected, file: Path | None, directory: Path) -> int:
    """Count with Spark, print, compare."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from rich.markup import escape
    from rich.table import Table

    console.print("\nstarting Spark ...")
    begun = time.monotonic()
    spark = _spark_session(directory)
    try:
        with _elapsed("starting Spark's Python"):
            spark.range(1).mapInArrow(lambda batches: batches, "id bigint").count()
        console.print(f"Spark's own startup, up to its first Python task: {time.monotonic() - begun:.1f} s")
        for when in ("first query, with imports and planning", "the same query again, warm"):
            begun = time.monotonic()
            rows = _package_counts(spark, bootstrap)
            seconds = time.monotonic() - begun
            total = (sum(row["lines"] for row in rows), sum(row["bytes"] for row in rows))
            console.print(_rate(f"Spark read from the page cache ({when})", total, seconds), soft_wrap=True)
        lines = {row["package"]: row["lines"] for row in rows}
        counted = _keyword_counts(spark, bootstrap)
    finally:
        spark.stop()
    table = Table(title=f"lines per package ({len(lines)} packages)")
    table.add_column("package")
    table.add_column("lines", justify="right")
    for package, count in Counter(lines).most_common(12):
        table.add_row(escape(package), f"{count:,}")
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
        console.print("[red]FAILED: Spark's counts differ from the files[/red]")
        return 1
    what = file.name if file is not None else "the standard library's sources"
    console.print(f"[green]verified: Spark's counts match {escape(what)}[/green]")
    return 0


def _spark_session(directory: Path) -> Any:
    """A session; how long it takes is shown meanwhile. Of what Spark logs, errors are shown."""
    from pyspark.sql import SparkSession

    logging = directory / "log4j2.properties"
    logging.write_text(SPARK_LOGGING)
    builder = (
        SparkSession.builder.master("local[*]")
        .appName("headrace demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={logging}")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.python.daemon.module", "headrace.cli.spark_daemon")
    )
    with _elapsed("starting Spark"):
        return builder.getOrCreate()


@contextmanager
def _elapsed(what: str) -> Iterator[None]:
    """On a terminal, the seconds that it has taken so far; the line is gone at the end."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn("line"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, transient=True, disable=not sys.stdout.isatty()) as progress:
        progress.add_task(what, total=None)
        yield


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
    if size < RATE_BYTES_MIN:
        return f"{what}: {lines:,} lines, {size:,} bytes in {seconds:.2f} s"
    return (
        f"{what}: {lines:,} lines, {size / 1e6:.1f} MB in {seconds:.2f} s "
        f"= [bold]{lines / seconds:,.0f} lines/s, {size / 1e6 / seconds:.1f} MB/s[/bold]"
    )

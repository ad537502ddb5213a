"""The parts of `make bench` that start servers of their own: arrow, table, demo, recovery, compaction, groups, control, cluster. Each is a
program; this reads its figures.

Sizes are those that the aims name: an unclean log of 5 GB, 10,000 groups of 10 members, 1,000,000 committed offsets.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import cluster

if TYPE_CHECKING:
    from bench.run import Table

ROOT = Path(__file__).resolve().parent.parent
RECOVERY_AIM = 0.5
COMPACTION_AIM = 2.0
CONTROL_AIM_MS = 1.0
IDLE_AIM_PERCENT = 1.0
ARROW_AIM = 15.0  # million records/s a core
POLARS_AIM = 20.0
TABLE_AIMS_MS = {"DuckDB": 50.0, "Polars": 50.0, "Spark": 1500.0}
DEMO_AIM_S = 20.0
DEMO_RESULT = "Spark read from the page cache"
GROUP_ROWS = (  # figure, what, unit, aim, whether it is at most that
    ("memory_mb", "groups: memory of the broker with all members", "MB", 0.5, True),
    ("join_ms_median", "groups: 100 groups of 10 join", "ms", 1.0, True),
    ("commits_per_s", "groups: offset commits", "commits/s", 1.4, False),
    ("load_ms", "groups: committed offsets loaded", "ms", 1.0, True),
)


def _run(module: str, *options: str) -> str:
    command = [sys.executable, "-m", module, *options]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
    return done.stdout


def bench_recovery(table: Table, is_quick: bool) -> None:
    """Time to load the logs after a crash."""
    mib = 512 if is_quick else 5120
    report: dict[str, Any] = json.loads(_run("bench.recovery", "--mib", str(mib), "--rounds", "1", "--json"))
    ours, theirs = report["headrace"]["recovery_s"], report["kafka"]["recovery_s"]
    table.add("recovery", f"recovery of an unclean log of {report['mib']} MiB", "s", ours, theirs, RECOVERY_AIM, True)


def bench_compaction(table: Table, is_quick: bool) -> None:
    """Throughput of a pass over a million keyed records."""
    records = 200_000 if is_quick else 1_000_000
    report = json.loads(_run("bench.compaction", "--records", str(records), "--json").splitlines()[-1])
    table.add(
        "compaction", f"compaction of {records:,} records", "MB/s", report["headrace"], report["kafka"], COMPACTION_AIM
    )


def bench_control(table: Table, is_quick: bool) -> None:
    """CPU that a change of a large cluster costs each process, and what an idle node takes; there is no such figure of Kafka."""
    changes, idle_s = ("50", "10") if is_quick else ("200", "60")
    report = json.loads(_run("bench.control", "--changes", changes, "--idle", idle_s, "--json").splitlines()[-1])
    for row in report["changes"]:
        aim = None if row["process"] == "controller process" else CONTROL_AIM_MS
        table.add("control", f"{row['what']}: CPU of {row['process']}", "ms", row["cpu_ms"], None, aim, True)
    table.add(
        "control",
        "idle node, 10,000 partitions in the cluster",
        "% of a core",
        report["idle"],
        None,
        IDLE_AIM_PERCENT,
        True,
    )


def bench_groups(table: Table, is_quick: bool) -> None:
    """Memory, joins, commits and loading."""
    groups, offsets, rounds = (500, 100_000, 1) if is_quick else (10_000, 1_000_000, 3)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        sizes = ("--groups", str(groups), "--offsets", str(offsets), "--rounds", str(rounds))
        _run("bench.groups", *sizes, "--json", file.name)
        report = json.loads(Path(file.name).read_text())
    for key, what, unit, aim, at_most in GROUP_ROWS:
        label = what.replace("all members", f"{groups:,} groups of 10 members").replace(
            "committed offsets", f"{offsets:,} committed offsets"
        )
        table.add("groups", label, unit, report["headrace"][key], report["kafka"][key], aim, at_most)


def bench_cluster(table: Table, is_quick: bool) -> None:
    """Three nodes beside three brokers; rows of what was measured, also where something else failed."""
    sizes = ("--rounds", "1", "--seconds", "2", "--partitions", "1000") if is_quick else ()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        failure = None
        try:
            _run("bench.cluster", "--json", file.name, *sizes)
        except SystemExit as told:
            failure = told
        written = Path(file.name).read_text()
    report: dict[str, Any] = json.loads(written) if written else {"results": {}, "partitions": 0}
    for figure, what, unit, factor, aim, at_most in cluster.ROWS:
        by_kind = report["results"].get(figure, {})
        if "headrace" not in by_kind:
            continue
        ours, theirs = (
            [factor * one for one in by_kind[kind]] if kind in by_kind else None for kind in ("headrace", "kafka")
        )
        is_ratio_missing = theirs is None and figure not in cluster.OURS_ALONE
        label = what.format(partitions=report["partitions"])
        assert ours is not None
        table.add("cluster", label, unit, ours, theirs, None if is_ratio_missing else aim, at_most)
    if failure is not None:
        raise failure


def bench_arrow(table: Table, is_quick: bool) -> None:
    """100-byte values into a Polars frame, a core, beside confluent-kafka from the same node."""
    records, rounds = ("200000", "1") if is_quick else ("1000000", "3")
    report = json.loads(
        _run("bench.polars_reader", "--records", records, "--rounds", rounds, "--json").splitlines()[-1]
    )
    ours, theirs = report["headrace"], report["confluent"]
    table.add("arrow", "headrace.arrow, 100-byte values, a core", "M records/s", ours["cpu"], None, ARROW_AIM)
    what = "a topic into Polars, beside confluent-kafka"
    table.add("arrow", what, "M records/s", ours["wall"], theirs["wall"], POLARS_AIM)
    table.add("arrow", f"{what}, a core", "M records/s", ours["cpu"], theirs["cpu"], POLARS_AIM)


def bench_table(table: Table, is_quick: bool) -> None:
    """History and live log as one table while the loader is killed; Spark apart, whose JVM takes both cores while it warms up."""
    queries, by_spark = ("200", "10") if is_quick else ("2000", "200")
    for sizes in (("--queries", queries), ("--queries", "0", "--spark", by_spark)):
        report = json.loads(_run("bench.table_queries", "--json", *sizes).splitlines()[-1])
        for engine, delay in report["engines"].items():
            what = f"one table: {engine}'s query after acknowledgement, p99"
            table.add("table", what, "ms", delay["p99_ms"], None, TABLE_AIMS_MS[engine], True)


def bench_demo(table: Table, _is_quick: bool) -> None:
    """From the command to the first result, a start before it."""
    seconds = []
    for _ in range(2):
        begun = time.monotonic()
        command = [sys.executable, "-u", "-m", "headrace.cli.main", "demo"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as demo:
            assert demo.stdout is not None
            found = [time.monotonic() - begun for line in demo.stdout if DEMO_RESULT in line]
        if demo.returncode or not found:
            raise SystemExit(f"demo: exit code {demo.returncode}")
        seconds.append(found[0])
    table.add("demo", "demo: a query's result, warm", "s", seconds[-1], None, DEMO_AIM_S, True)

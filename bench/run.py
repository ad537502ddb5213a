"""`make bench`: Headrace against Apache Kafka 3.9 on this machine, the same loads in turn, medians of five rounds; one table with ratios.

    python bench/run.py                       everything (over an hour, alone on the machine)
    python bench/run.py --quick               shorter windows, one round: a quick check, not a result
    python bench/run.py --only wire,latency   parts: limits, start, wire, latency, perf, formats, spark, arrow, table, demo,
                                              recovery, compaction, groups, control, cluster

Both servers run all the time, each with a ZooKeeper of its own; only one is under load at a time. The table goes to bench/results/, that
of some parts to a file named after them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import formats, latency, limits, spark_rows  # noqa: E402
from bench.nodes import Headrace, Kafka, Server, write_byte_code  # noqa: E402
from bench.own_servers import (  # noqa: E402
    bench_arrow,
    bench_cluster,
    bench_compaction,
    bench_control,
    bench_demo,
    bench_groups,
    bench_recovery,
    bench_table,
)
from bench.page_cache import PageCache  # noqa: E402
from bench.peers import jars  # noqa: E402
from bench.rounds import LEAST, Rounds  # noqa: E402

PARTS = (
    "limits",
    "start",
    "wire",
    "latency",
    "perf",
    "formats",
    "spark",
    "arrow",
    "table",
    "demo",
    "recovery",
    "compaction",
    "groups",
    "control",
    "cluster",
)
WIRE = (
    ("produce-1", 1, "requests_per_s"),
    ("produce-1", 8, "requests_per_s"),
    ("produce-1", 64, "requests_per_s"),
    ("produce-16k", 1, "mb_per_s"),
    ("produce-16k", 8, "mb_per_s"),
    ("produce-16k", 64, "mb_per_s"),
    ("produce-1m", 1, "mb_per_s"),
    ("produce-1m", 8, "mb_per_s"),
    ("fetch", 1, "mb_per_s"),
    ("fetch", 8, "mb_per_s"),
    ("fetch", 64, "mb_per_s"),
)
WIRE_AIMS = {
    ("produce-1", 8): 2.3, ("produce-1", 64): 1.9, ("produce-16k", 8): 1.8, ("produce-16k", 64): 1.8, ("produce-1m", 8): 1.25,
}  # fmt: skip
CPU_AIMS = {("produce-1", 8): 0.35, ("produce-1", 64): 0.35, ("produce-16k", 8): 0.4, ("produce-16k", 64): 0.4}
FETCH_OF_BARE_AIM = 0.9
LATENCY_AIMS = {"p50": 0.85, "p99": 0.4}
START_AIM = MEMORY_AIM = 0.25
SENDFILE = "sendfile"
OWN_SERVERS = {
    "arrow": bench_arrow,
    "table": bench_table,
    "demo": bench_demo,
    "recovery": bench_recovery,
    "compaction": bench_compaction,
    "groups": bench_groups,
    "control": bench_control,
    "cluster": bench_cluster,
}
ROUNDS_SAID = "A B B A, medians of five rounds (three of Spark's), in brackets the least and largest ratio"
SPARK_ROUNDS = 3
SPARK_SCALE_QUICK = 0.1
PERF_RECORDS = 3_000_000
SETTINGS = {"log.segment.delete.delay.ms": "1000"}
DROPPED_S = 3.0


class Table:
    """Rows of the report: what, ours, theirs, ratio, aim.

    A row of several rounds keeps the figures of each (`rounds`, in the order in which they were measured), and the least and the
    largest of their ratios (`between`); the figures themselves are medians.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(
        self,
        part: str,
        what: str,
        unit: str,
        our_rounds: float | Sequence[float],
        their_rounds: float | Sequence[float] | None,
        aim: float | None = None,
        at_most: bool = False,
    ) -> None:
        rounds = [[one] if isinstance(one, float | int) else list(one or ()) for one in (our_rounds, their_rounds)]
        ours, theirs = (statistics.median(one) if one else None for one in rounds)
        assert ours is not None
        ratio = None if not theirs else ours / theirs
        ratios = [ours_then / theirs_then for ours_then, theirs_then in zip(*rounds, strict=False) if theirs_then]
        between = [min(ratios), max(ratios)] if len(ratios) > 1 else None
        judged = ours if theirs is None else ratio  # an aim of what only we measure is one of the figure itself
        met = None if judged is None or aim is None else (judged <= aim if at_most else judged >= aim)
        self.rows.append({"part": part, "what": what, "unit": unit, "headrace": ours, "kafka": theirs, "ratio": ratio,
                          "between": between, "rounds": rounds, "aim": aim, "at_most": at_most, "met": met})  # fmt: skip
        print(self.line(self.rows[-1]), flush=True)

    def figure(self, what: str) -> float | None:
        """Of ours in the row of that name."""
        return next((float(row["headrace"]) for row in self.rows if row["what"] == what), None)

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        aim = "" if row["aim"] is None else f"{'at most' if row['at_most'] else 'at least'} {row['aim']}"
        met = {None: "", True: "met", False: "**missed**"}[row["met"]]
        theirs = (
            "" if row["kafka"] is None else f"{row['kafka']:,.4g}" if row["kafka"] < 100 else f"{row['kafka']:,.0f}"
        )
        ours = f"{row['headrace']:,.4g}" if row["headrace"] < 100 else f"{row['headrace']:,.0f}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        if row["between"]:
            ratio += " ({:.2f} to {:.2f})".format(*row["between"])
        return f"| {row['what']} | {row['unit']} | {ours} | {theirs} | {ratio} | {aim} | {met} |"

    def markdown(self, facts: str) -> str:
        head = "| what | unit | Headrace | Apache Kafka | ratio | aim | |\n|---|---|---|---|---|---|---|"
        return (
            f"# Headrace against Apache Kafka 3.9\n\n{facts}\n\n{head}\n" + "\n".join(map(self.line, self.rows)) + "\n"
        )


def create_topic(server: Server, topic: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)


def delete_topic(server: Server, topic: str) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    admin.delete_topics([topic])[topic].result(30)


def drop_topic(server: Server, topic: str) -> None:
    """Delete it, and wait until its files are gone: `log.segment.delete.delay.ms`, and a while."""
    delete_topic(server, topic)
    time.sleep(DROPPED_S)


def bench_limits(table: Table, page_cache: PageCache) -> None:
    for what, measure in (
        ("receive and write", limits.receive_and_write),
        (SENDFILE, limits.send_file),
    ):
        page_cache.fill()
        mb_per_s, cpu_s_per_gb = measure()
        table.add("limits", f"machine: bare {what}", "MB/s", mb_per_s, None)
        table.add("limits", f"machine: bare {what}, CPU for each GB", "s", cpu_s_per_gb, None)


def bench_wire(table: Table, servers: list[Server], rounds: Rounds) -> None:
    """A topic for each run of a produce load: five rounds of 1 MiB batches into one are 100 GB of files."""
    costs: list[tuple[str, int, str, dict[str, list[float]]]] = []
    topic = "hammer"
    for load, connections, unit in WIRE:
        if (load, connections) == ("fetch", 1):
            for server in servers:
                create_topic(server, topic, 8)
                hammer(server, "produce-16k", 8, 2.0)

        def once(server: Server, load: str = load, connections: int = connections) -> tuple[dict[str, float], float]:
            is_produce = load != "fetch"
            if is_produce:
                create_topic(server, topic, 8)
            before = server.cpu_s()
            result = hammer(server, load, connections, rounds.seconds)
            share = result["seconds"] / (result["seconds"] + 1.0)  # the warm-up second costs as much as the others
            took = (server.cpu_s() - before) * share
            if is_produce:
                drop_topic(server, topic)
            return result, took

        results = rounds.run(servers, once)
        if (load, connections) == ("fetch", 64):
            for server in servers:
                drop_topic(server, topic)
        values = {name: [run[0][unit] for run in runs] for name, runs in results.items()}
        label = {"requests_per_s": "requests/s", "mb_per_s": "MB/s"}[unit]
        aim = WIRE_AIMS.get((load, connections), LEAST)
        table.add("wire", f"{load}, {connections} connections", label, values["headrace"], values["kafka"], aim)
        bare = table.figure(f"machine: bare {SENDFILE}")
        if (load, connections) == ("fetch", 8) and bare is not None:
            of_bare = [value / bare for value in values["headrace"]]
            table.add("wire", "fetch, 8 connections, of the bare sendfile loop", "", of_bare, None, FETCH_OF_BARE_AIM)
        per, scale = ("million requests", 1e6) if unit == "requests_per_s" else ("GB", 1e3)
        cost = {
            name: [cpu / (run[unit] * run["seconds"] / scale) for run, cpu in runs if run[unit]]
            for name, runs in results.items()
        }
        costs.append((load, connections, per, cost))
    for load, connections, per, cost in costs:
        aim = CPU_AIMS.get((load, connections), LEAST)
        what = f"CPU for each {per}, {load}, {connections} connections"
        table.add("cpu", what, "s", cost["headrace"], cost["kafka"], aim, True)


def hammer(server: Server, load: str, connections: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.hammer", server.bootstrap, load, str(connections), str(seconds)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def bench_latency(table: Table, servers: list[Server], rounds: Rounds, seconds: float) -> None:
    for server in servers:
        create_topic(server, "latency", 1)
    results = rounds.run(servers, lambda server: latency.measure(server.bootstrap, "latency", seconds))
    for name in ("p50", "p99", "p99.9"):
        ours, theirs = ([run[name] for run in results[which]] for which in ("headrace", "kafka"))
        aim = LATENCY_AIMS.get(name, LEAST)
        table.add("latency", f"end to end at 1,000 records/s, {name}", "ms", ours, theirs, aim, True)


def bench_perf(table: Table, servers: list[Server], rounds: Rounds) -> None:
    """Kafka's own tools."""
    classpath = ":".join(map(str, jars("kafka")))
    for server in servers:
        create_topic(server, "perf", 1)

    def produce(server: Server) -> float:
        done = subprocess.run(
            ["java", "-Xmx512m", "-cp", classpath, "org.apache.kafka.tools.ProducerPerformance", "--topic", "perf",
             "--num-records", str(PERF_RECORDS), "--record-size", "100", "--throughput", "-1", "--producer-props",
             f"bootstrap.servers={server.bootstrap}", "acks=1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        )  # fmt: skip
        last = done.stdout.strip().splitlines()[-1]
        return float(last.split(" records/sec")[0].rpartition(" ")[2].replace(",", ""))

    def consume(server: Server) -> float:
        done = subprocess.run(
            ["java", "-Xmx512m", "-cp", classpath, "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server",
             server.bootstrap, "--topic", "perf", "--messages", str(PERF_RECORDS), "--timeout", "60000", "--hide-header",
             "--group", f"perf-{time.monotonic_ns()}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        )  # fmt: skip
        return float(done.stdout.strip().splitlines()[-1].split(",")[-1])  # records/s without the wait for the group

    for what, run in (("kafka-producer-perf-test, 100 bytes, acks 1", produce),
                      ("kafka-consumer-perf-test, in a group", consume)):  # fmt: skip
        results = rounds.run(servers, run)
        ours, theirs = (results[which] for which in ("headrace", "kafka"))
        table.add("perf", what, "records/s", ours, theirs, LEAST)


def bench_start(table: Table, directory: Path, rounds: int) -> None:
    """From the start of the server to the first acknowledged record, and memory when idle; ZooKeeper runs before."""
    from confluent_kafka import Producer

    write_byte_code()

    def once(kind: type[Server]) -> tuple[float, float]:
        server = kind(directory / f"start-{kind.name}-{time.monotonic_ns()}")
        server.directory.mkdir(parents=True)
        server._zookeeper.start()
        try:
            begun = time.perf_counter()
            server.start_broker()
            producer = Producer(
                {"bootstrap.servers": server.bootstrap, "acks": "all", "topic.metadata.refresh.fast.interval.ms": 20}
            )
            producer.produce("first", b"record")
            assert producer.flush(30) == 0
            elapsed = time.perf_counter() - begun
            time.sleep(5)
            return elapsed, server.pss_mb()
        finally:
            server.stop()

    results: dict[str, list[tuple[float, float]]] = {"headrace": [], "kafka": []}
    for _ in range(rounds):
        results["headrace"].append(once(Headrace))
        results["kafka"].append(once(Kafka))
    ours, theirs = ([[run[index] for run in results[name]] for index in (0, 1)] for name in results)
    table.add("start", "start to first acknowledged record", "s", ours[0], theirs[0], START_AIM, True)
    table.add("memory", "idle memory (PSS of the process tree)", "MB", ours[1], theirs[1], MEMORY_AIM, True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="run one round of short measurements")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, separated by commas")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "results", help="directory for the table of results"
    )
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the servers are stopped, whichever part runs
    directory = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    rounds = Rounds(*((1, 2.0) if arguments.quick else (5, 4.0)), PageCache(directory))
    table = Table()
    begun = time.time()
    failures: list[str] = []
    servers: list[Server] = []

    def attempt(part: str, bench: Callable[[], None]) -> None:
        """A part that fails costs its own rows, not those of an hour."""
        if part not in parts:
            return
        try:
            bench()
        except (SystemExit, subprocess.CalledProcessError) as failure:
            failures.append(part)
            print(f"{part} failed: {failure}", file=sys.stderr, flush=True)

    try:
        attempt("limits", lambda: bench_limits(table, rounds.page_cache))
        attempt("start", lambda: bench_start(table, directory, rounds.count))
        if {"wire", "latency", "perf", "spark", "formats"} & set(parts):
            servers = [Headrace(directory / "headrace", SETTINGS), Kafka(directory / "kafka", SETTINGS)]
            for server in servers:
                server.start()
            attempt("latency", lambda: bench_latency(table, servers, rounds, 10.0 if not arguments.quick else 3.0))
            attempt("wire", lambda: bench_wire(table, servers, rounds))
            attempt("perf", lambda: bench_perf(table, servers, rounds))
            attempt("formats", lambda: formats.bench(table, directory, servers, rounds))
            size = (1, SPARK_SCALE_QUICK) if arguments.quick else (SPARK_ROUNDS, 1.0)
            attempt("spark", lambda: spark_rows.bench(table, servers, *size))
        for server in servers:
            server.stop()
        servers.clear()
        for part, bench in OWN_SERVERS.items():
            attempt(part, partial(bench, table, arguments.quick))
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    facts = (
        f"{date.today()}, {os.cpu_count()} cores ({cpu}), Python {platform.python_version()}, Linux {platform.release()}, "
        f"{'one quick round' if arguments.quick else ROUNDS_SAID}, "
        f"parts {', '.join(parts)}, {time.time() - begun:.0f} s. "
        f"{f'Failed, without rows: {chr(44).join(failures)}. ' if failures else ''}"
        "The load generator shares the cores."
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    name = "-".join(
        [str(date.today()), *(() if set(PARTS) <= set(parts) else parts), *(("quick",) if arguments.quick else ())]
    )
    (arguments.out / f"{name}.md").write_text(table.markdown(facts))
    (arguments.out / f"{name}.json").write_text(json.dumps({"facts": facts, "rows": table.rows}, indent=1) + "\n")
    print(f"\nwritten to {arguments.out / name}.md")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

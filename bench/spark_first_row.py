"""The first row of a fresh session without any setting of ours: `.format("headrace")` beside `.format("kafka")`, on one node.

    python -m bench.spark_first_row [--rounds 5] [--records 100000]
    python -m bench.spark_first_row --one ENGINE BOOTSTRAP TOPIC

Each engine in a process of its own, by turns. The clock starts when the session is there, and has `register` in it. Both read from a
Headrace node; the third engine is ours with Spark's own daemons, as Spark starts them by itself (decision 022). Prints the
medians of wall time and CPU, their ratio to the connector's, and that of each round: the machine may be shared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.peers import jars
from bench.spark_scan import cpu_s
from bench.spark_topics import SparkTopic, load

ROOT = Path(__file__).resolve().parent.parent
SPARKS_DAEMON = "headrace, Spark's daemons"
ENGINES = ("kafka", "headrace", SPARKS_DAEMON)
AIM = 1.2
START_S = 60


def one(engine: str, bootstrap: str, topic: str) -> dict[str, float]:
    """Seconds, in this process."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.jars", ",".join(map(str, jars("connector"))))
    if engine == SPARKS_DAEMON:
        builder = builder.config("spark.python.daemon.module", "pyspark.daemon")
    spark = builder.getOrCreate()
    begun, cpu = time.perf_counter(), cpu_s()
    if engine == "headrace":
        from headrace.spark import register

        register(spark)
    elif engine != "kafka":
        from headrace.spark.datasource import HeadraceDataSource

        spark.dataSource.register(HeadraceDataSource)
    reader = spark.read.format("kafka" if engine == "kafka" else "headrace")
    frame = reader.option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    assert frame.first() is not None
    found = {"first": time.perf_counter() - begun, "cpu": cpu_s() - cpu}
    spark.stop()
    return found


def measured(bootstrap: str, topic: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """engine -> first, cpu -> seconds of each round. raises SystemExit"""
    report: dict[str, dict[str, list[float]]] = {engine: {"first": [], "cpu": []} for engine in ENGINES}
    for index in range(rounds):
        for engine in ENGINES if index % 2 == 0 else ENGINES[::-1]:
            command = [sys.executable, "-m", "bench.spark_first_row", "--one", engine, bootstrap, topic]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{engine}: {done.stderr[-2000:]}")
            for what, seconds in json.loads(done.stdout.strip().splitlines()[-1]).items():
                report[engine][what].append(seconds)
            print(engine, {what: round(seconds[-1], 2) for what, seconds in report[engine].items()}, flush=True)
    return report


def told(report: dict[str, dict[str, list[float]]]) -> None:
    """Print medians and ratios."""
    for what in ("first", "cpu"):
        theirs = report["kafka"][what]
        for engine in ENGINES:
            own = report[engine][what]
            ratio = statistics.median(own) / statistics.median(theirs)
            by_round = ", ".join(f"{mine / their:.2f}" for mine, their in zip(own, theirs, strict=True))
            print(f"{what:6} {engine:27} {statistics.median(own):6.2f} s  {ratio:.2f} x  rounds {by_round}")
    is_met = statistics.median(report["headrace"]["first"]) <= AIM * statistics.median(report["kafka"]["first"])
    print(f"aim {AIM} x: {'met' if is_met else 'missed'}, load {os.getloadavg()[0]:.1f}")


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(*sys.argv[2:5])))
        return
    parser = argparse.ArgumentParser(description="measure the time to the first row of a session")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=100_000)
    given = parser.parse_args()
    topic = SparkTopic("plain", 100, "none", given.records)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        command = [sys.executable, "-m", "headrace.cli.main", "dev", "--port", "0", "--dir", name]
        node = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server: Any = SimpleNamespace(bootstrap=bootstrap_of(node))
            load(server, topic)
            told(measured(server.bootstrap, topic.name, given.rounds))
        finally:
            node.terminate()
            node.wait(START_S)


def bootstrap_of(node: subprocess.Popen[str]) -> str:
    assert node.stdout is not None
    for line in node.stdout:
        found = re.search(r"ready bootstrap=(\S+)", line)
        if found:
            return found[1]
    raise SystemExit("the node did not start")


if __name__ == "__main__":
    main()

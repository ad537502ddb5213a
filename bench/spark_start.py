"""The first query of a fresh session: `scan` and `.format("headrace")` on Headrace, `.format("kafka")` on Apache Kafka, a process each.

    python -m bench.spark_start HEADRACE KAFKA TOPIC ROUNDS
    python -m bench.spark_start --one ENGINE BOOTSTRAP TOPIC

The clock starts when the session is there; count and sum of lengths of a topic, the second query for comparison. Prints one line of JSON:
engine -> first, second, session -> seconds of each round, and the CPU of the first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.spark_scan import Engines, cpu_s, session

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ("scan", "headrace", "kafka")


def one(engine: str, bootstrap: str, topic: str) -> dict[str, float]:
    """Seconds, in this process."""
    begun = time.perf_counter()
    spark = session()
    ready, cpu = time.perf_counter(), cpu_s()
    if engine == "headrace":
        from headrace.spark import register

        register(spark)
    run = Engines(spark, bootstrap, bootstrap, topic).queries()["aggregate"][engine]
    run()
    first, cpu = time.perf_counter(), cpu_s() - cpu
    run()
    second = time.perf_counter()
    spark.stop()
    return {"session": ready - begun, "first": first - ready, "second": second - first, "cpu": cpu}


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(one(*sys.argv[2:5])))
        return
    headrace, kafka, topic, rounds = *sys.argv[1:4], int(sys.argv[4])
    report: dict[str, dict[str, list[float]]] = {
        engine: {"first": [], "second": [], "session": [], "cpu": []} for engine in ENGINES
    }
    for index in range(rounds):
        for engine in ENGINES if index % 2 == 0 else ENGINES[::-1]:
            bootstrap = kafka if engine == "kafka" else headrace
            command: list[Any] = [sys.executable, "-m", "bench.spark_start", "--one", engine, bootstrap, topic]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{engine}: {done.stderr[-2000:]}")
            for what, seconds in json.loads(done.stdout.strip().splitlines()[-1]).items():
                report[engine][what].append(seconds)
    print(json.dumps(report))


if __name__ == "__main__":
    main()

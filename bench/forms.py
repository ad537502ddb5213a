"""Two forms of a node beside each other: CPU for the same work, in turn, with memory and start.

    python -m bench.forms --rounds 5 --seconds 4                                the compiled core, and pure Python
    python -m bench.forms --forms copied,compiled --only produce-16k,produce-1m  large batches copied into the ring, or not
    python -m bench.forms --forms kafka,compiled --only produce-1m              Apache Kafka beside it, logs bounded alike

Both nodes run all the time; one is under load at a time. CPU seconds are the node's, user and system, by the work done: what else runs
on the machine is not in them. Logs keep the last 128 MiB of a partition: where they grow without
bound, a GB was seen to cost three times as much (docs/measurements/bytes.md). Needs the compiled core (`make core`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from bench.nodes import Headrace, Kafka, Server
from bench.run import create_topic, hammer

IDLE_S = 5.0
LOADS = (  # name, connections, unit of the work, what a result's figure is divided by
    ("produce-1", 8, "1,000,000 requests", 1e6),
    ("produce-16k", 8, "GB", 1e3),
    ("produce-16k", 64, "GB", 1e3),
    ("produce-1m", 8, "GB", 1e3),
    ("fetch", 8, "GB", 1e3),
)


BOUNDED = {
    "log.retention.bytes": str(128 << 20),
    "log.segment.bytes": str(32 << 20),
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "0",
}


class Compiled(Headrace):
    name = "compiled"
    environment: ClassVar[dict[str, str]] = {"HEADRACE_PURE": "0"}


class Pure(Headrace):
    name = "pure"
    environment: ClassVar[dict[str, str]] = {"HEADRACE_PURE": "1"}


class Copied(Compiled):
    """What it receives is copied into the ring, whatever its size."""

    name = "copied"

    def __init__(self, directory: Path, settings: dict[str, str] | None = None) -> None:
        super().__init__(directory, {**(settings or {}), "headrace.receive.arena.bytes": "0"})


FORMS: dict[str, type[Server]] = {form.name: form for form in (Pure, Compiled, Copied, Kafka)}


def work_of(load: str, result: dict[str, float]) -> float:
    """How many requests, or MB, a run did in its timed window."""
    return result["requests"] if load == "produce-1" else result["mb_per_s"] * result["seconds"]


def cpu_for_work(server: Server, load: str, connections: int, seconds: float) -> tuple[float, float]:
    """CPU seconds for each request or MB, and how many of these a second."""
    before = server.cpu_s()
    result = hammer(server, load, connections, seconds)
    share = result["seconds"] / (result["seconds"] + 1.0)  # of the warm-up second
    work = work_of(load, result)
    return (server.cpu_s() - before) * share / work, work / result["seconds"]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument(
        "--forms", default="pure,compiled", help=f"two of {', '.join(FORMS)}; the second one is expected to be better"
    )
    parser.add_argument("--only", default=",".join(dict.fromkeys(load for load, *_others in LOADS)))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        servers: list[Server] = [FORMS[name](Path(temporary, name), BOUNDED) for name in arguments.forms.split(",")]
        try:
            for server in servers:
                start(server)
            for load, connections, unit, scale in LOADS:
                if load in arguments.only.split(","):
                    compare(servers, load, connections, unit, scale, arguments.rounds, arguments.seconds)
        finally:
            for server in servers:
                server.stop()
    return 0


def start(server: Server) -> None:
    """Start, and say what start and idling take."""
    server.start()
    started_s = server.cpu_s()
    create_topic(server, "hammer", 8)
    before, begun = server.cpu_s(), time.monotonic()
    time.sleep(IDLE_S)
    idle = (server.cpu_s() - before) / (time.monotonic() - begun)
    said = f"{server.name}: start {started_s:.2f} s CPU, idle {server.pss_mb():.1f} MB PSS, {100 * idle:.2f}% of a core"
    if isinstance(server, Headrace):
        imports = "import time; import headrace.node.supervisor, headrace.workers.network.worker, headrace.workers.partition.worker"
        command = [sys.executable, "-c", f"{imports}; print(time.process_time())"]
        seconds = [float(subprocess.check_output(command, env=server.environment)) for _ in range(5)]
        said += f", imports {statistics.median(seconds):.3f} s CPU"
    print(said, flush=True)


def compare(
    servers: list[Server], load: str, connections: int, unit: str, scale: float, rounds: int, seconds: float
) -> None:
    for server in servers:
        hammer(server, "produce-16k" if load == "fetch" else load, connections, 1.0)
    results: dict[str, list[float]] = {server.name: [] for server in servers}
    rates: dict[str, list[float]] = {server.name: [] for server in servers}
    for number in range(rounds):
        for server in servers[:: -1 if number % 2 else 1]:
            cpu_s, rate = cpu_for_work(server, load, connections, seconds)
            results[server.name].append(scale * cpu_s)
            rates[server.name].append(rate)
    medians = {name: statistics.median(values) for name, values in results.items()}
    print(
        f"{load}, {connections} connections: CPU s for each {unit}:",
        json.dumps({name: round(value, 2) for name, value in medians.items()}),
        end=" ",
    )
    one, other = medians
    print(f"{one} / {other} {medians[one] / medians[other]:.2f}", end="  ")
    print(json.dumps({name: [round(value, 2) for value in values] for name, values in results.items()}), end="  ")
    print(
        "a second", json.dumps({name: [round(value) for value in values] for name, values in rates.items()}), flush=True
    )


if __name__ == "__main__":
    sys.exit(main())

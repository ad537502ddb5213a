"""Three nodes beside three Apache Kafka brokers, each over a ZooKeeper of its own: replication, failover, the controller.

    python -m bench.cluster [--rounds 3] [--only produce,node,process,controller] [--servers kafka,headrace] [--partitions 10000]

    produce      acks=all into 8 partitions of replication factor 3, all led by broker 1: requests/s, MB/s, and the CPU that the
                 leader, and brokers 2 and 3, take for each GB
    node         the leader of 100 partitions is killed (SIGKILL, all its processes): from the end of its session in ZooKeeper
                 until each of them has acknowledged a record again
    process      single processes of the leading node are killed, 20 times, roles in turn: the longest time without an
                 acknowledgement; Apache Kafka has one process, which `node` kills
    controller   with many partitions: from the loss of /controller until its successor has created a topic, and every member
                 tells that it has leaders

Rounds alternate between the servers, each of which idles while the other is measured, on a full page cache (`page_cache.py`).
The spread of the rounds is printed beside the median. A measurement that fails costs its own rows: the cluster is healed, or
made again, and the others follow. Part `cluster` of `bench/run.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.hammer import PARTITIONS, TOPIC  # noqa: E402
from bench.page_cache import PageCache  # noqa: E402
from bench.three_nodes import (  # noqa: E402
    ALL,
    POLL_S,
    Lines,
    close_cluster,
    cpu_s,
    process_name,
    start_cluster,
    wait,
)
from tests.interop.mixed_cluster import MixedCluster  # noqa: E402

PARTS = ("produce", "node", "process", "controller")
CONNECTIONS = (1, 8, 64)
LEADER, FOLLOWERS = 1, (2, 3)
LED_PARTITIONS = 100
PROCESS_KILLS = 20
ROLES = ("hr-partition-0", "hr-network-0", "hr-controlle-0", "hr-housekeep-0")
AFTER_KILL_S = 1.2  # longer than what a restart without a pause needs (`node/restart_policy.py`)
TOPICS_OF_MANY = 10
SMALL_INDEXES = {"segment.index.bytes": "4096"}  # of many partitions: they are mapped, and hold nothing
SETTLE_S = 2.0

Figures = dict[str, float]


class Bench:
    """Both clusters, and what was measured.

    results    by what, by kind, one figure a round
    failures   what failed, as text
    """

    def __init__(self, directory: Path, seconds: float, partitions: int) -> None:
        self.results: dict[str, dict[str, list[float]]] = {}
        self.failures: list[str] = []
        self.seconds = seconds
        self.partitions = partitions
        self._directory = directory
        self._page_cache = PageCache(directory)
        self._clusters: dict[str, MixedCluster] = {}
        self._made = 0

    def cluster(self, kind: str) -> MixedCluster:
        """The one that runs, a new one where there is none. raises   what its start raises"""
        found = self._clusters.get(kind)
        if found is None:
            self._made += 1
            found = self._clusters[kind] = start_cluster(self._directory / f"{kind}-{self._made}", kind)
        return found

    def run(self, part: str, kinds: Iterable[str], rounds: int) -> None:
        """One part, on each kind in turn."""
        if part == "produce":
            for load in ("produce-1-all", "produce-16k-all"):
                for connections in CONNECTIONS:
                    self._rounds(
                        kinds, rounds, lambda one, load=load, count=connections: self._produce(one, load, count)
                    )
        elif part == "node":
            self._rounds(kinds, rounds, measure_node)
        elif part == "process":
            self._rounds([kind for kind in kinds if kind == "headrace"], 1, measure_process)
        else:
            self._rounds(kinds, rounds, lambda one: measure_controller(one, self.partitions))

    def _rounds(self, kinds: Iterable[str], rounds: int, measure: Callable[[MixedCluster], Figures]) -> None:
        failed: set[str] = set()
        for _ in range(rounds):
            for kind in kinds:
                if kind not in failed and not self._once(kind, measure):
                    failed.add(kind)

    def _once(self, kind: str, measure: Callable[[MixedCluster], Figures]) -> bool:
        """Measure once; False, where that failed: the cluster is in order again, or there is none."""
        try:
            cluster = self.cluster(kind)
            self._page_cache.fill()
            figures = measure(cluster)
        except (Exception, SystemExit) as failure:
            self.failures.append(f"{kind}: {type(failure).__name__}: {str(failure)[-500:]}")
            print(f"failed: {self.failures[-1]}", file=sys.stderr, flush=True)
            self._heal(kind)
            return False
        for what, figure in figures.items():
            self.results.setdefault(what, {}).setdefault(kind, []).append(figure)
            print(f"{kind} {what} {figure:,.4g}", flush=True)
        return True

    def _heal(self, kind: str) -> None:
        cluster = self._clusters.get(kind)
        if cluster is None:
            return
        try:
            for broker_id, member in cluster.members.items():
                if not member.is_up:
                    cluster.start_one(broker_id)
            with Lines(cluster) as lines:
                lines.wait_until_whole(cluster.topics())
        except Exception as failure:
            print(f"{kind} is made again: {failure}", file=sys.stderr, flush=True)
            del self._clusters[kind]
            close_cluster(cluster)

    def _produce(self, cluster: MixedCluster, load: str, connections: int) -> Figures:
        return measure_produce(cluster, load, connections, self.seconds)

    def close(self) -> None:
        with ExitStack() as stack:
            for cluster in self._clusters.values():
                stack.callback(close_cluster, cluster)
            self._clusters = {}


def measure_produce(cluster: MixedCluster, load: str, connections: int, seconds: float) -> Figures:
    """The rate of one load, and CPU of the leader and of a follower; into a topic of its own."""
    with Lines(cluster) as lines:
        lines.create_at_controller({TOPIC: [[LEADER, *FOLLOWERS]] * PARTITIONS})
        lines.wait_until_whole([TOPIC])
        before = {broker_id: cpu_s(cluster.members[broker_id]) for broker_id in ALL}
        result = hammer(cluster.members[LEADER], load, connections, seconds)
        took = {broker_id: cpu_s(cluster.members[broker_id]) - cpu for broker_id, cpu in before.items()}
        lines.delete_at_controller(TOPIC)
    share = result["seconds"] / (result["seconds"] + 1.0)  # the warm-up second costs as much as the others
    unit = "requests_per_s" if load == "produce-1-all" else "mb_per_s"
    found = {f"{load} {connections} {unit}": result[unit]}
    if unit == "mb_per_s":
        gb = result["mb_per_s"] * result["seconds"] / 1000
        found[f"{load} {connections} follower CPU s/GB"] = statistics.mean(took[one] for one in FOLLOWERS) * share / gb
        found[f"{load} {connections} leader CPU s/GB"] = took[LEADER] * share / gb
    time.sleep(SETTLE_S)  # its files are deleted a second later
    return found


def hammer(member: Any, load: str, connections: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.hammer", member.bootstrap, load, str(connections), str(seconds)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure_node(cluster: MixedCluster) -> Figures:
    """The leader is killed; seconds from the end of its session."""
    topic = f"led-{time.monotonic_ns()}"
    with Lines(cluster) as lines:
        lines.create_at_controller({topic: [[LEADER, *FOLLOWERS]] * LED_PARTITIONS})
        lines.wait_until_whole([topic])
        left = set(range(LED_PARTITIONS))
        wait(lambda: left == set(lines.acknowledged(LEADER, topic, left)), "not served")
        if cluster.controller() == LEADER:
            cluster.move_controller(FOLLOWERS)
            time.sleep(SETTLE_S)
        cluster.members[LEADER].end(signal.SIGKILL)
        lines.drop(LEADER)
        wait(lambda: not cluster.is_registered(LEADER), "its session does not end")
        begun = time.perf_counter()
        first = 0.0

        def are_served() -> bool:
            nonlocal first
            for broker_id in FOLLOWERS:
                left.difference_update(lines.acknowledged(broker_id, topic, sorted(left)))
                if len(left) < LED_PARTITIONS and not first:
                    first = time.perf_counter() - begun
                if not left:
                    return True
            return False

        wait(are_served, f"not led again: {len(left)} partitions")
        elapsed = time.perf_counter() - begun
        cluster.start_one(LEADER)
        lines.wait_until_whole([topic])
        lines.delete_at_controller(topic)
    return {"killed node: first partition s": first, "killed node: all partitions s": elapsed}


def measure_process(cluster: MixedCluster, kills: int = PROCESS_KILLS, roles: Iterable[str] = ROLES) -> Figures:
    """Single processes of the leading node die, roles in turn."""
    member = cluster.members[LEADER]
    topic = f"process-{time.monotonic_ns()}"
    gaps: dict[str, list[float]] = {role: [] for role in roles}
    with Lines(cluster) as lines:
        lines.create_at_controller({topic: [[LEADER, *FOLLOWERS]]})
        lines.wait_until_whole([topic])
        for number in range(kills):
            role = list(gaps)[number % len(gaps)]
            wait(lambda: lines.acknowledged(LEADER, topic, [0]), "not served")
            gaps[role].append(longest_gap_s(lines, member, topic, role))
        lines.wait_until_whole([topic])
        lines.delete_at_controller(topic)
    every = [gap for of_role in gaps.values() for gap in of_role]
    found = {}
    for role, of_role in gaps.items():
        if of_role:
            found[f"killed {role}: median s"] = statistics.median(of_role)
            found[f"killed {role}: worst s"] = max(of_role)
    return {**found, "killed process: median s": statistics.median(every), "killed process: worst s": max(every)}


def longest_gap_s(lines: Lines, member: Any, topic: str, role: str) -> float:
    """Kill the process of a role; the longest time between two acknowledgements."""
    pid = next(pid for pid in member.pids() if process_name(pid) == role)
    assert lines.acknowledged(LEADER, topic, [0])
    last = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    longest = 0.0
    until = last + AFTER_KILL_S
    while (now := time.perf_counter()) < until:
        if lines.acknowledged(LEADER, topic, [0]):
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        time.sleep(POLL_S)
    return max(longest, time.perf_counter() - last)


def measure_controller(cluster: MixedCluster, partitions: int = 10_000) -> Figures:
    """/controller goes; seconds until its successor has created a topic that has leaders everywhere."""
    many = many_topics(partitions)
    with Lines(cluster) as lines:
        if not many.keys() <= set(cluster.topics()):
            lines.create_at_controller(many, SMALL_INDEXES)
            lines.wait_until_served(many)
        lines.wait_until_whole(many)
        time.sleep(SETTLE_S)
        topic = f"after-{time.monotonic_ns()}"
        cluster.keeper.delete("/controller")
        begun = time.perf_counter()
        lines.create_at_controller({topic: [[1, 2, 3], [2, 3, 1], [3, 1, 2]]})
        created = time.perf_counter() - begun
        for broker_id in ALL:
            wait(lambda one=broker_id: _has_leaders(lines, one, topic), "not told everywhere")  # type: ignore[misc]
        elapsed = time.perf_counter() - begun
        lines.delete_at_controller(topic)
    return {"controller failover: created s": created, "controller failover: told s": elapsed}


def many_topics(partitions: int) -> dict[str, list[list[int]]]:
    """TOPICS_OF_MANY topics with as many partitions together, led by all three members in turn."""
    each = partitions // TOPICS_OF_MANY
    return {
        f"many-{number}": [[1 + (index + place) % 3 for place in range(3)] for index in range(each)]
        for number in range(TOPICS_OF_MANY)
    }


def _has_leaders(lines: Lines, broker_id: int, topic: str) -> bool:
    partitions = lines.told(broker_id, topic)
    return bool(partitions) and all(one.leader_id >= 0 for one in partitions)


ROWS: tuple[tuple[str, str, str, int, float | None, bool], ...] = (  # figure, row, unit, factor, aim, at most
    *(
        (f"produce-1-all {count} requests_per_s", f"produce-1, RF 3, acks=all, {count} connections", "requests/s", 1, 1.2, False)
        for count in CONNECTIONS
    ),
    *(
        (f"produce-16k-all {count} mb_per_s", f"produce-16k, RF 3, acks=all, {count} connections", "MB/s", 1, 1.2, False)
        for count in CONNECTIONS
    ),
    *(
        (f"produce-16k-all {count} {role} CPU s/GB", f"CPU of {name} for each GB, produce-16k, RF 3, {count} connections", "s",
         1, aim, True)
        for role, name, aim in (("follower", "a follower", 0.6), ("leader", "the leader", None))
        for count in CONNECTIONS
    ),
    ("killed node: first partition s", "killed node, from its session's end: the first of 100 partitions acknowledges", "ms",
     1000, None, True),
    ("killed node: all partitions s", "killed node, from its session's end: all 100 partitions acknowledge", "ms", 1000, 0.5,
     True),
    ("killed process: median s", "killed process: longest time without an acknowledgement, median of 20", "ms", 1000, None,
     True),
    ("killed process: worst s", "killed process: longest time without an acknowledgement, p99 of 20", "ms", 1000, 100.0, True),
    ("controller failover: told s", "controller failover, {partitions:,} partitions: until a new topic has leaders everywhere",
     "ms", 1000, 0.5, True),
)  # fmt: skip
OURS_ALONE = ("killed process: median s", "killed process: worst s")  # aims of the figure itself, not of a ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds per load")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--servers", default="kafka,headrace")
    parser.add_argument(
        "--partitions", type=int, default=10_000, help="number of partitions for the controller failover"
    )
    parser.add_argument("--json", type=Path, help="file for the results, also written after a failure")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the clusters are closed
    kinds = arguments.servers.split(",")
    with tempfile.TemporaryDirectory(prefix="headrace-bench-cluster-") as directory:
        bench = Bench(Path(directory), arguments.seconds, arguments.partitions)
        try:
            for part in arguments.only.split(","):
                bench.run(part, kinds, arguments.rounds)
        finally:
            bench.close()
    print(table(bench.results))
    if arguments.json:
        report = {"results": bench.results, "failures": bench.failures, "partitions": arguments.partitions}
        arguments.json.write_text(json.dumps(report))
    return 1 if bench.failures else 0


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Medians, the spread of the rounds, ratios."""
    lines = ["| what | Headrace | Apache Kafka | ratio |", "|---|---|---|---|"]
    for what, by_kind in results.items():
        ours, theirs = by_kind.get("headrace"), by_kind.get("kafka")
        ratio = f"{statistics.median(ours) / statistics.median(theirs):.2f}" if ours and theirs else ""
        lines.append(f"| {what} | {_said(ours)} | {_said(theirs)} | {ratio} |")
    return "\n".join(lines)


def _said(figures: list[float] | None) -> str:
    if not figures:
        return ""
    return f"{statistics.median(figures):,.4g} ({min(figures):,.4g} to {max(figures):,.4g})"


if __name__ == "__main__":
    sys.exit(main())

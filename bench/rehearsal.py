"""A rehearsal at size: three nodes with 10,000 partitions of replication factor 3, through what operators fear.

    python -m bench.rehearsal [--partitions 10000] [--servers headrace] [--only controller,kill,roll]

    create       topics of 1,000 partitions in one request: until every node tells of them all, and until each has acknowledged
                 a record with acks=all: its logs are open everywhere
    controller   /controller is deleted: until the successor has created a topic, and every node tells that it has leaders
    kill         a node is killed (SIGKILL, all its processes): from the end of its session until both others tell a living leader
                 of every partition; its return, until every node tells whole ISRs
    roll         the nodes are stopped (SIGTERM) and started one after the other, each when the one before it is back in every ISR

A producer with acks=all writes to a topic of its own all the while: the longest time that a record waited is printed for each
step, beside the CPU seconds of each process. At the end: the peak memory of each process, over all of its lives.
`--servers headrace,kafka` has Apache Kafka do the same afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.cluster import SMALL_INDEXES, many_topics, measure_controller  # noqa: E402
from bench.three_nodes import (  # noqa: E402
    ALL,
    Lines,
    close_cluster,
    peak_mb,
    process_cpu_s,
    process_name,
    start_cluster,
    wait,
)
from tests.interop.mixed_cluster import MixedCluster  # noqa: E402

STEPS = ("controller", "kill", "roll")
PROBE_TOPIC = "probe"
PROBE_PARTITIONS = 6
PROBE_PAUSE_S = 0.01
METER_PAUSE_S = 0.5
KILLED = 2


class Probe(threading.Thread):
    """Produces one record at a time to each partition of a topic, acks=all, wherever that is led now.

    longest_s   the longest time since a step began until one that was due was acknowledged
    """

    def __init__(self, cluster: MixedCluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._lines = Lines(cluster)
        self._is_over = threading.Event()
        self._last = dict.fromkeys(range(PROBE_PARTITIONS), 0.0)
        self._lock = threading.Lock()
        self.longest_s = 0.0
        self.count = 0

    def begin_step(self) -> None:
        """What was before counts no more."""
        with self._lock:
            now = time.perf_counter()
            self.longest_s = 0.0
            self._last = dict.fromkeys(self._last, now)

    def end_step(self) -> float:
        """The longest wait of the step, in seconds, one that is not over included."""
        with self._lock:
            return max(self.longest_s, time.perf_counter() - min(self._last.values()))

    def run(self) -> None:
        while not self._is_over.is_set():
            for leader, indexes in self._leaders().items():
                acknowledged = self._lines.acknowledged(leader, PROBE_TOPIC, indexes)
                now = time.perf_counter()
                with self._lock:
                    self.count += len(acknowledged)
                    for index in acknowledged:
                        self.longest_s = max(self.longest_s, now - self._last[index])
                        self._last[index] = now
            self._is_over.wait(PROBE_PAUSE_S)

    def _leaders(self) -> dict[int, list[int]]:
        """Partitions by the leader that a member tells of."""
        for broker_id, member in self._cluster.members.items():
            if member.is_up:
                found: dict[int, list[int]] = {}
                for one in self._lines.told(broker_id, PROBE_TOPIC):
                    if one.leader_id in self._cluster.members and self._cluster.members[one.leader_id].is_up:
                        found.setdefault(one.leader_id, []).append(one.partition_index)
                if found:
                    return found
        return {}

    def stop(self) -> None:
        self._is_over.set()
        self.join()
        self._lines.close()


class Meter(threading.Thread):
    """Peak memory of each process by name, over all nodes and lives: read while it lives."""

    def __init__(self, cluster: MixedCluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._is_over = threading.Event()
        self.peaks_mb: dict[str, float] = {}

    def run(self) -> None:
        while not self._is_over.wait(METER_PAUSE_S):
            self.read()

    def read(self) -> None:
        for member in self._cluster.members.values():
            for pid in member.pids() if member.is_up else ():
                name = process_name(pid)
                self.peaks_mb[name] = max(self.peaks_mb.get(name, 0.0), peak_mb(pid))

    def stop(self) -> None:
        self._is_over.set()
        self.join()


class Rehearsal:
    """One cluster, and what was measured of it.

    figures   by name, in seconds
    """

    def __init__(self, cluster: MixedCluster, partitions: int) -> None:
        self.cluster = cluster
        self.partitions = partitions
        self.topics = many_topics(partitions)
        self.figures: dict[str, float] = {}
        self.probe = Probe(cluster)
        self.meter = Meter(cluster)

    def run(self, steps: Iterable[str]) -> None:
        """All of it. raises   TimeoutError"""
        self.meter.start()
        try:
            with Lines(self.cluster) as lines:
                lines.create_at_controller({PROBE_TOPIC: _rotated(PROBE_PARTITIONS)})
                lines.wait_until_whole([PROBE_TOPIC])
                self.probe.start()
                with self._step("create"):
                    self._create(lines)
                for step in steps:
                    _STEPS[step](self, lines)
        finally:
            if self.probe.is_alive():
                self.probe.stop()
            self.meter.stop()

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """Print what a step took: time, the producer's longest wait, CPU of each process."""
        before = self._cpu()
        self.probe.begin_step()
        begun = time.perf_counter()
        yield
        elapsed = time.perf_counter() - begun
        waited = self.figures[f"{name}: a producer waited"] = self.probe.end_step()
        after = self._cpu()
        spent: dict[str, float] = {}
        for pid, (process, cpu_s) in after.items():
            spent[process] = spent.get(process, 0.0) + cpu_s - before.get(pid, ("", 0.0))[1]
        told = ", ".join(f"{process} {cpu_s:.1f}" for process, cpu_s in sorted(spent.items()) if cpu_s >= 0.05)
        print(
            f"{name}: {elapsed:.2f} s; a producer waited {waited:.2f} s at most; CPU s of all nodes: {told}", flush=True
        )

    def _cpu(self) -> dict[int, tuple[str, float]]:
        members = [member for member in self.cluster.members.values() if member.is_up]
        return {pid: (process_name(pid), process_cpu_s(pid)) for member in members for pid in member.pids()}

    def _note(self, what: str, begun: float) -> None:
        self.figures[what] = elapsed = time.perf_counter() - begun
        print(f"  {what}: {elapsed:.2f} s", flush=True)

    def _create(self, lines: Lines) -> None:
        begun = time.perf_counter()
        lines.create_at_controller(self.topics, SMALL_INDEXES)
        self._note("created, answered", begun)
        lines.wait_until_whole(self.topics)
        self._note(f"created, {self.partitions:,} partitions told everywhere", begun)
        lines.wait_until_served(self.topics)
        self._note(f"created, {self.partitions:,} partitions have acknowledged a record", begun)

    def fail_over(self, _lines: Lines) -> None:
        """The controller goes."""
        with self._step("controller failover"):
            for what, figure in measure_controller(self.cluster, self.partitions).items():
                self.figures[what] = figure
                print(f"  {what} {figure:.3f}", flush=True)

    def kill(self, lines: Lines) -> None:
        """A node dies with all its processes, and comes back."""
        cluster = self.cluster
        others = [one for one in ALL if one != KILLED]
        if cluster.controller() == KILLED:
            cluster.move_controller(others)
            lines.wait_until_whole(self.topics)
        self.meter.read()
        with self._step("killed node"):
            killed = time.perf_counter()
            cluster.members[KILLED].end(signal.SIGKILL)
            lines.drop(KILLED)
            wait(lambda: not cluster.is_registered(KILLED), "its session does not end")
            self._note("session over after", killed)
            begun = time.perf_counter()
            self._wait_each(lines, others, _has_living_leaders)
            self._note("killed node: every partition led again", begun)
        with self._step("return"):
            begun = time.perf_counter()
            cluster.start_one(KILLED)
            self._note("return: it serves", begun)
            lines.wait_until_whole(self.topics)
            self._note("return: ISRs whole", begun)

    def roll(self, lines: Lines) -> None:
        """Each node is restarted in order."""
        begun = time.perf_counter()
        for broker_id in ALL:
            self.meter.read()
            with self._step(f"restart of {broker_id}"):
                stopped = time.perf_counter()
                self.cluster.stop_one(broker_id)
                lines.drop(broker_id)
                self._note(f"restart of {broker_id}: stopped", stopped)
                started = time.perf_counter()
                self.cluster.start_one(broker_id)
                self._note(f"restart of {broker_id}: it serves", started)
                lines.wait_until_whole(self.topics)
                self._note(f"restart of {broker_id}: no partition is under-replicated", started)
        self._note("rolling restart", begun)

    def _wait_each(self, lines: Lines, members: Iterable[int], is_so: Callable[[list[Any]], bool]) -> None:
        """Until each member's partitions of each topic are so; who was so once is not asked again. raises   TimeoutError"""
        left = {(broker_id, topic) for broker_id in members for topic in self.topics}

        def is_done() -> bool:
            for one in sorted(left):
                if is_so(lines.told(*one)):
                    left.discard(one)
            return not left

        wait(is_done, f"{len(left)} topics are not led", 0.01)


def _has_living_leaders(partitions: list[Any]) -> bool:
    return bool(partitions) and all(one.leader_id not in (-1, KILLED) for one in partitions)


def _rotated(count: int) -> list[list[int]]:
    return [[1 + (index + place) % 3 for place in range(3)] for index in range(count)]


_STEPS: dict[str, Callable[[Rehearsal, Lines], None]] = {
    "controller": Rehearsal.fail_over,
    "kill": Rehearsal.kill,
    "roll": Rehearsal.roll,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--servers", default="headrace")
    parser.add_argument("--only", default=",".join(STEPS))
    parser.add_argument("--json", type=Path, help="file for figures and peak memory, by server")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the cluster is closed
    report: dict[str, Any] = {}
    failed = False
    for kind in arguments.servers.split(","):
        print(f"{kind}, {arguments.partitions:,} partitions", flush=True)
        with tempfile.TemporaryDirectory(prefix="headrace-rehearsal-") as directory:
            cluster = start_cluster(Path(directory) / kind, kind)
            rehearsal = Rehearsal(cluster, arguments.partitions)
            try:
                rehearsal.run(arguments.only.split(","))
            except (TimeoutError, AssertionError, RuntimeError) as failure:
                failed = True
                print(f"{kind} failed: {failure}", file=sys.stderr, flush=True)
            finally:
                with contextlib.suppress(OSError):
                    rehearsal.meter.read()
                close_cluster(cluster)
        peaks = dict(sorted(rehearsal.meter.peaks_mb.items()))
        print(
            "peak memory of a process, MB: " + ", ".join(f"{name} {size:.0f}" for name, size in peaks.items()),
            flush=True,
        )
        report[kind] = {"figures": rehearsal.figures, "peaks_mb": peaks}
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

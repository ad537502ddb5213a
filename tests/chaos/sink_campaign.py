"""Kills of a Spark query with an exactly-once sink, of its task workers and of the node, under load, and the judgement of the topic.

Runs in: a test or `make sink-chaos` (`python -m tests.chaos.sink_campaign --kills 100 --seed 7`). It starts its own ZooKeeper, node and
queries in a directory and ends only those, by pid.

    producer, idempotent, acks=all: numbers  ->  topic work  ->  Spark, headrace.exactly.once  ->  topic out

    worker      a task's Python worker (SIGKILL): Spark tries the task again
    driver      the query's JVM: the micro-batch is repeated by the next query over the same checkpoint
    zombie      a worker is stopped (SIGSTOP), its driver is killed, and it wakes up beside the attempt that took its place
    process     one of the node
    node        all of it

    judged:
      lost      a number that was acknowledged to the producer and is not in the second topic
      double    one that is there twice
      differ    attempts that found other rows than their own: the query is to blame, or we are
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.consumer import Consumer
from tests.chaos.campaign import keep_or_remove
from tests.chaos.load_campaign import SequenceProducer
from tests.chaos.running_node import Node, started_node
from tests.chaos.sink_query import PARTITIONS, SOURCE, TARGET
from tests.support import children

RATE = 2_000  # records a second
KINDS = {"worker": 14, "zombie": 2, "driver": 2, "process": 5, "node": 1}
STARTED_S = 120.0  # for a query to have written something; a JVM starts meanwhile
SETTLE_S = 300.0  # for the last query to write the rest
OVERTAKEN_S = 4.0  # that a zombie runs on beside its successor


@dataclass
class SinkVerdict:
    """What a campaign saw."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    rows: int = 0
    queries: int = 0
    lost: list[int] = field(default_factory=list)
    double: list[int] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)

    def faults(self, kills_wanted: int) -> list[str]:
        """Why this run failed; empty where it passed."""
        checks = [
            (self.kills.total() < kills_wanted, f"only {self.kills.total()} kills fired"),
            (self.acknowledged == 0, "nothing was acknowledged"),
            (bool(self.lost), f"lost: {self.lost[:5]} ({len(self.lost)} in all)"),
            (bool(self.double), f"double: {self.double[:5]} ({len(self.double)} in all)"),
            (bool(self.differ), f"rows differ: {self.differ[:2]}"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        kills = " ".join(f"{kind}={count}" for kind, count in sorted(self.kills.items()))
        return (
            f"seed={self.seed} kills={self.kills.total()} ({kills}) queries={self.queries}\n"
            f"acknowledged={self.acknowledged} rows={self.rows} lost={len(self.lost)} double={len(self.double)} "
            f"differ={len(self.differ)}"
        )


class Query:
    """A query's processes: Python, its JVM, and the workers that this forked."""

    def __init__(self, bootstrap: str, directory: Path, *options: str) -> None:
        with open(directory / "query.log", "a") as log:
            self.process = children.start(
                [sys.executable, "-m", "tests.chaos.sink_query", bootstrap, str(directory / "checkpoint"), *options],
                stdout=log, stderr=log, env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            )  # fmt: skip

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def tree(self) -> list[psutil.Process]:
        """All its processes, itself first."""
        try:
            own = psutil.Process(self.process.pid)
            return [own, *own.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def workers(self) -> list[psutil.Process]:
        """The Python workers: children of Spark's daemon."""
        daemons = [one for one in self.tree()[1:] if "pyspark.daemon" in _command(one)]
        found = []
        for daemon in daemons:
            try:
                found += daemon.children()
            except psutil.NoSuchProcess:
                continue
        return found

    def kill(self, spared: psutil.Process | None = None) -> None:
        """All of it, but for one worker."""
        for one in self.tree():
            if one != spared:
                _signal(one, signal.SIGKILL)
        self.process.wait()


class SinkCampaign:
    """One run in a directory."""

    def __init__(self, directory: Path, seed: int, kills: int, pace_s: float = 1.0) -> None:
        self._directory = directory
        self._kills = kills
        self._pace_s = pace_s
        self._random = random.Random(seed)
        self._asleep: list[psutil.Process] = []
        self.verdict = SinkVerdict(seed)

    def run(self) -> SinkVerdict:
        """raises   NotReady, where the node does not start"""
        settings = {"offsets.topic.num.partitions": "2"}
        with started_node(self._directory, SOURCE, PARTITIONS, 2, settings) as node:
            with Cluster(node.bootstrap) as cluster:
                Admin(cluster).create_topics([NewTopic(TARGET, PARTITIONS, 1)])
            producer = SequenceProducer(node.bootstrap, RATE)
            query = self._start(node)
            try:
                while self.verdict.kills.total() < self._kills:
                    query = self._strike(node, query)
                    if self.verdict.kills.total() % 10 == 0:
                        print(
                            f"  {self.verdict.kills.total()} kills, {len(producer.acknowledged)} acknowledged",
                            flush=True,
                        )
                producer.stop()
                self._wake()
                query.kill()
                self._write_rest(node)
            finally:
                self._wake()
                if query.is_alive:
                    query.kill()
            self._judge(node, producer.acknowledged)
        return self.verdict

    def _start(self, node: Node, *options: str) -> Query:
        self.verdict.queries += 1
        return Query(node.bootstrap, self._directory, *options)

    def _strike(self, node: Node, query: Query) -> Query:
        """One kill, if there is whom to kill; returns the query that runs then."""
        if not query.is_alive:
            return self._start(node)  # a task failed more often than Spark tries it
        if not query.workers():
            wait_for_workers(query)
            return query
        time.sleep(self._random.expovariate(1 / self._pace_s))
        workers = query.workers()
        kind = self._random.choices([*KINDS], [*KINDS.values()])[0]
        if kind in ("worker", "zombie") and not workers:
            return query
        if kind == "worker":
            if not _signal(self._random.choice(workers), signal.SIGKILL):
                return query
        elif kind == "driver":
            query.kill()
            query = self._start(node)
        elif kind == "zombie":
            one = self._random.choice(workers)
            if not _signal(one, signal.SIGSTOP):
                return query
            query.kill(spared=one)
            self._asleep.append(one)
            query = self._start(node)
            wait_for_workers(query)
            time.sleep(self._random.expovariate(1 / self._pace_s))
            self._wake()
        elif kind == "process":
            parts = [pid for role, pids in node.children().items() if role != "supervisor" for pid in pids]
            if not parts or not node.signal(self._random.choice(parts), signal.SIGKILL):
                return query
        else:
            node.kill_tree()
            node.start()
        self.verdict.kills[kind] += 1
        return query

    def _wake(self) -> None:
        """Zombies run on for a while, and are ended."""
        asleep, self._asleep = self._asleep, []
        for one in asleep:
            _signal(one, signal.SIGCONT)
        deadline_s = time.monotonic() + OVERTAKEN_S
        while any(_is_running(one) for one in asleep) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        for one in asleep:
            _signal(one, signal.SIGKILL)

    def _write_rest(self, node: Node) -> None:
        deadline_s = time.monotonic() + SETTLE_S
        while time.monotonic() < deadline_s:
            query = self._start(node, "--once")
            try:
                if query.process.wait(max(1.0, deadline_s - time.monotonic())) == 0:
                    return
            finally:
                if query.is_alive:
                    query.kill()
        raise AssertionError(f"the last query does not end, see {self._directory / 'query.log'}")

    def _judge(self, node: Node, acknowledged: set[int]) -> None:
        with Cluster(node.bootstrap) as cluster:
            cluster.refresh([TARGET])
            names = [name for name in cluster.partitions if name.topic == TARGET]
            starts = cluster.offsets(dict.fromkeys(names, EARLIEST))
            consumer = Consumer(cluster, starts, cluster.offsets(dict.fromkeys(names, LATEST)))
            seen: Counter[int] = Counter()
            while not consumer.is_done:
                for _name, records in consumer.poll():
                    seen.update(int(record.value or b"-1") for record in records)
        verdict = self.verdict
        verdict.acknowledged, verdict.rows = len(acknowledged), seen.total()
        verdict.lost = sorted(acknowledged - seen.keys())
        verdict.double = sorted(number for number, count in seen.items() if count > 1)
        log = (self._directory / "query.log").read_text(errors="replace")
        verdict.differ = [line for line in log.splitlines() if "RowsDiffer: " in line]


def wait_for_workers(query: Query) -> None:
    """Until it has some, or has ended. raises   AssertionError"""
    deadline_s = time.monotonic() + STARTED_S
    while query.is_alive and not query.workers():
        assert time.monotonic() < deadline_s, "no worker of the query"
        time.sleep(0.05)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _signal(process: psutil.Process, number: int) -> bool:
    """Whether it was there: psutil compares start times, so no other process of the same pid is meant."""
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    directory = Path(tempfile.mkdtemp(prefix="headrace-sink-chaos-"))
    print(f"seed={seed} directory={directory}", flush=True)
    faults = ["it did not come to its end"]
    try:
        verdict = SinkCampaign(directory, seed, arguments.kills).run()
        print(verdict.summary())
        faults = verdict.faults(arguments.kills)
    finally:
        keep_or_remove(directory, faults)
    print("anomalies: " + ("; ".join(faults) or "none"))
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())

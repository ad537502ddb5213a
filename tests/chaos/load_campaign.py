"""Kills of a loader, of its task workers and of the node that it reads, under load, and the judgement of the table.

Runs in: a test or `make load-chaos` (`python -m tests.chaos.load_campaign --kills 200 --target parquet --seed 7`). It starts its own
ZooKeeper, node and loaders in a directory and ends only those, by pid.

    producer, idempotent, acks=all: sequence numbers  ->  topic  ->  headrace load --every  ->  table

    killed (SIGKILL)    a task worker, the driver, a process of the node, the whole node
    overtaken           the driver is stopped (SIGSTOP), another one loads, and the first one wakes up
    maintained          another program deletes rows, rewrites files and gives old versions up meanwhile, and is killed as well
                        (`table_maintainer.py`)

    judged:
      lost        a sequence number that was acknowledged, is not in the table and was not deleted
      double      one that is there twice
      revived     one that was deleted, and is there
      audit       counts of the commits, files and offsets disagree
      orphans     files that no commit names, after the last load
      queries     of the history and the live log as one table, meanwhile: an acknowledged number missing or double
      tracebacks  a loader that ended by a mistake of ours
"""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Producer

import headrace
from headrace.errors import HeadraceError
from headrace.load.audit_report import Audit, audit
from headrace.load.history import dataset
from headrace.load.orphans import orphans
from headrace.load.targets import open_target
from tests.chaos.campaign import kill_parser, run_judged
from tests.chaos.named_commit import name_commit
from tests.chaos.running_node import Node, started_node
from tests.chaos.table_maintainer import Ledger
from tests.support import children
from tests.support.waiting import DEADLINE_S, wait_until

TOPIC = "work"
PARTITIONS = 3
RATE = 2_000  # records a second
KINDS = {"worker": 10, "driver": 7, "process": 4, "maintainer": 3, "node": 1, "overtake": 1}
TARGETS = ("parquet", "iceberg", "delta")
STARTED_S = 6.0  # in which a driver most likely has workers
CLIENT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 50,
    "log_level": 0,
    "log.connection.close": False,
}
_SILENT = logging.getLogger("headrace.tests.silent")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


@dataclass
class LoadVerdict:
    """What a campaign saw."""

    seed: int
    target: str
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    rows: int = 0
    commits: int = 0
    lost: list[int] = field(default_factory=list)
    double: list[int] = field(default_factory=list)
    revived: list[int] = field(default_factory=list)
    maintenance: dict[str, int] = field(default_factory=dict)
    deleted: int = 0
    audit: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    queries: int = 0
    away: int = 0
    wrong: list[str] = field(default_factory=list)
    named: int = 0

    def faults(self, kills_wanted: int) -> list[str]:
        """Why this run failed; empty where it passed."""
        checks = [
            (self.kills.total() < kills_wanted, f"only {self.kills.total()} kills fired"),
            (self.acknowledged == 0 or self.commits == 0, "nothing was acknowledged, or committed"),
            (bool(self.lost), f"lost: {self.lost[:5]} ({len(self.lost)} in all)"),
            (bool(self.double), f"double: {self.double[:5]} ({len(self.double)} in all)"),
            (bool(self.revived), f"deleted, and there again: {self.revived[:5]} ({len(self.revived)} in all)"),
            (not self.deleted, "the other program deleted nothing"),
            (bool(self.audit), f"audit: {self.audit[:5]}"),
            (bool(self.orphans), f"orphans: {self.orphans[:5]} ({len(self.orphans)} in all)"),
            (bool(self.tracebacks), f"tracebacks: {self.tracebacks[:1]}"),
            (bool(self.wrong), f"queries: {self.wrong[:3]} ({len(self.wrong)} in all)"),
            (self.queries == 0, "no query of the one table succeeded"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        kills = " ".join(f"{kind}={count}" for kind, count in sorted(self.kills.items()))
        work = " ".join(f"{name}={count}" for name, count in sorted(self.maintenance.items()))
        return (
            f"seed={self.seed} target={self.target} kills={self.kills.total()} ({kills})\n"
            f"acknowledged={self.acknowledged} rows={self.rows} commits={self.commits} "
            f"lost={len(self.lost)} double={len(self.double)} audit={len(self.audit)} orphans={len(self.orphans)}\n"
            f"another program: {work or 'none'}; deleted={self.deleted} revived={len(self.revived)} named={self.named}\n"
            f"queries of the one table={self.queries} wrong={len(self.wrong)} (while the node was away: {self.away})"
        )


class SequenceProducer:
    """Writes sequence numbers until it is stopped, and knows which were acknowledged. While `is_resting` it writes none."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.acknowledged: set[int] = set()
        self.is_resting = False
        self._rate = rate
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, **CLIENT}, logger=_SILENT
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            for _ in range(0 if self.is_resting else self._rate // 50):
                try:
                    self._producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._done)
                except BufferError:
                    break
                number += 1
            self._producer.poll(0)
            self._stopping.wait(0.02)

    def _done(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged.add(int(message.value()))  # type: ignore[attr-defined]

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(DEADLINE_S)


class Querier:
    """Queries the history and the live log as one table, over and over: what was acknowledged before a query is in it once, but for
    what was deleted, and of that nothing whose deletion was answered before.

    Away: queries that a dead node, or a file that a compaction removed under them, ended with an error; not more than said.
    """

    def __init__(self, to: str, bootstrap: str, producer: SequenceProducer, ledger: Path) -> None:
        self._ledger = ledger
        self.queries = 0
        self.away = 0
        self.wrong: list[str] = []
        self._to = to
        self._bootstrap = bootstrap
        self._producer = producer
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(0.1):
            acknowledged = np.array([*self._producer.acknowledged.copy()], np.int64)
            done = Ledger.read(self._ledger).done
            try:
                found = headrace.table(
                    TOPIC, history=self._to, bootstrap_servers=self._bootstrap, columns="value"
                ).read_all()
            except (HeadraceError, OSError):
                self.away += 1
                continue
            self.queries += 1
            seen = pc.cast(pc.cast(found["value"], pa.string()), pa.int64()).to_numpy()
            numbers, counts = np.unique(seen, return_counts=True)
            intended = Ledger.read(self._ledger).intended
            missing = np.setdiff1d(acknowledged, [*numbers, *intended])
            revived = np.intersect1d(numbers, [*done])
            double = numbers[counts > 1]
            if missing.size or double.size or revived.size:
                self.wrong.append(
                    f"query {self.queries}: {missing.size} missing {missing[:3]}, {double.size} double {double[:3]}, "
                    f"{revived.size} deleted before {revived[:3]}"
                )

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


class Driver:
    """A `headrace load` process."""

    def __init__(self, to: str, bootstrap: str, log: Path, *options: str) -> None:
        command = [
            sys.executable,
            "-m",
            "headrace.cli.main",
            "load",
            "--topics",
            TOPIC,
            "--to",
            to,
            "-q",
            "-b",
            bootstrap,
        ]
        with open(log, "a") as errors:
            self.process = children.start(
                [*command, "--records-per-task", "200", "--workers", "2", *options], stdout=errors, stderr=errors
            )

    def workers(self) -> list[int]:
        """Pids of its task workers."""
        try:
            text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except OSError:
            return []
        return [int(pid) for pid in text.split()]

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Maintainer:
    """The process of another program that maintains the table; none for a table of which there is no other program."""

    def __init__(self, to: str, directory: Path, seed: int) -> None:
        self.ledger = directory / "ledger.jsonl"
        self._command = [sys.executable, "-m", "tests.chaos.table_maintainer", to, str(self.ledger)]
        self._log = directory / "maintainer.log"
        self._seed = seed
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._seed += 1
        with open(self._log, "a") as log:
            self._process = children.start([*self._command, str(self._seed)], stdout=log, stderr=log)

    def kill(self) -> bool:
        """Whether there was one."""
        process, self._process = self._process, None
        if process is None:
            return False
        process.kill()
        process.wait()
        return True


class LoadCampaign:
    """One run in a directory."""

    def __init__(self, directory: Path, target: str, seed: int, kills: int, pace_s: float = 0.6) -> None:
        self._directory = directory
        self._kills = kills
        self._pace_s = pace_s
        self._random = random.Random(seed)
        self._log = directory / "load.log"
        self._asleep: Driver | None = None
        self.verdict = LoadVerdict(seed, target)
        self.to, environment = target_of(target, directory)
        os.environ.update(environment)
        self._maintainer = Maintainer(self.to, directory, seed)

    def run(self) -> LoadVerdict:
        """raises   NotReady, where the node does not start"""
        settings = {"log.segment.bytes": "262144", "offsets.topic.num.partitions": "2"}
        with started_node(self._directory, TOPIC, PARTITIONS, 1, settings) as node:
            producer = SequenceProducer(node.bootstrap, RATE)
            driver = self._driver(node)
            self._wait_committed(driver)
            querier = Querier(self.to, node.bootstrap, producer, self._maintainer.ledger)
            try:
                self._maintainer.start()
                while self.verdict.kills.total() < self._kills:
                    time.sleep(self._random.expovariate(1 / self._pace_s))
                    driver = self._strike(node, driver)
                    if self.verdict.kills.total() % 20 == 0:
                        print(
                            f"  {self.verdict.kills.total()} kills, {len(producer.acknowledged)} acknowledged",
                            flush=True,
                        )
                wait_until(lambda: Ledger.read(self._maintainer.ledger).done, "the other program deleted nothing")
                producer.stop()
                self._maintainer.kill()
                querier.stop()
                self._wake()
                children.end(driver.process)
                self._load_rest(node)
            finally:
                querier.stop()
                self._maintainer.kill()
                for left in (driver, self._asleep):
                    if left is not None and left.is_alive:
                        left.kill()
            self.verdict.queries, self.verdict.away, self.verdict.wrong = querier.queries, querier.away, querier.wrong
            self._judge(producer.acknowledged, node.bootstrap)
        return self.verdict

    def _driver(self, node: Node) -> Driver:
        return Driver(self.to, node.bootstrap, self._log, "--every", "0.3s", "--compact-every", "5")

    def _strike(self, node: Node, driver: Driver) -> Driver:
        """One kill; returns the driver that runs then."""
        if not driver.is_alive:  # it ended by itself: its log says why
            self._name_commit()
            return self._driver(node)
        kind = self._random.choices([*KINDS], [*KINDS.values()])[0]
        if kind == "worker":
            self._wait_started(driver)
            workers = driver.workers()
            if not workers:
                return driver
            try:
                os.kill(self._random.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                return driver
        elif kind == "driver":
            if self._random.random() < 0.8:
                self._wait_started(driver)
            driver.kill()
            driver = self._driver(node)
        elif kind == "process":
            parts = [pid for role, pids in node.children().items() if role != "supervisor" for pid in pids]
            if not parts or not node.signal(self._random.choice(parts), signal.SIGKILL):
                return driver
        elif kind == "maintainer":
            if not self._maintainer.kill():
                return driver
            self._maintainer.start()
        elif kind == "node":
            node.kill_tree()
            node.start()
        else:
            self._wake()
            driver.process.send_signal(signal.SIGSTOP)
            self._asleep, driver = driver, self._driver(node)
        self.verdict.kills[kind] += 1
        return driver

    def _name_commit(self) -> None:
        """As the table's owner, where the load asks for it."""
        if _commits(self.to) == 0:  # else its history says it
            self.verdict.named += name_commit(self.to)

    def _wait_committed(self, driver: Driver) -> None:
        """Until the target is there. raises AssertionError"""
        wait_until(lambda: not driver.is_alive or _commits(self.to), "no first commit")

    def _wait_started(self, driver: Driver) -> None:
        """Until it has task workers: most of its life is not its start. Then a moment more, by lot."""
        deadline_s = time.monotonic() + STARTED_S
        while driver.is_alive and not driver.workers() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        time.sleep(self._random.expovariate(1 / self._pace_s))

    def _wake(self) -> None:
        """Continue the driver that was overtaken: two loaders of one target for a while, then SIGTERM to it."""
        asleep, self._asleep = self._asleep, None
        if asleep is not None:
            asleep.process.send_signal(signal.SIGCONT)
            time.sleep(1.5)
            children.end(asleep.process)

    def _load_rest(self, node: Node) -> None:
        """Twice, so that the second one sweeps what the first one found alive."""
        for _ in range(2):
            self._name_commit()
            last = Driver(self.to, node.bootstrap, self._log)
            code = last.process.wait(DEADLINE_S)
            if code:
                self.verdict.audit.append(f"the last load ended with {code}: {self._log.read_text()[-500:]}")

    def _judge(self, acknowledged: set[int], bootstrap: str) -> None:
        verdict = self.verdict
        self._name_commit()
        found = audit(self.to, is_deep=True, bootstrap_servers=bootstrap)
        verdict.audit += found.faults
        verdict.commits = found.commits
        verdict.orphans = orphans(open_target(self.to))
        seen = Counter(map(int, values_in(verdict.target, self.to)))
        verdict.acknowledged, verdict.rows = len(acknowledged), seen.total()
        ledger = Ledger.read(self._maintainer.ledger)
        verdict.lost = sorted(acknowledged - seen.keys() - ledger.intended)
        verdict.double = sorted(number for number, count in seen.items() if count > 1)
        verdict.revived = sorted(ledger.done & seen.keys())
        verdict.maintenance, verdict.deleted = ledger.counts, len(ledger.done)
        verdict.audit += self._wrong_counts(found, seen.total(), len(ledger.intended), len(ledger.done))
        lines = self._log.read_text().splitlines()
        verdict.tracebacks = [line for line in lines if line.startswith("Traceback")]

    def _wrong_counts(self, found: Audit, rows: int, intended: int, done: int) -> list[str]:
        """That the audit says how many rows other programs deleted, and no other number."""
        offsets = open_target(self.to).read().next_offsets()
        loaded = sum(one.records for one in found.partitions)
        gone = sum(one.loaded - one.present for one in found.changes) + sum(one.deleted for one in found.partitions)
        checks = [
            (loaded != sum(offsets.values()), f"{loaded} records were loaded up to {offsets}"),
            (loaded - gone != rows, f"{loaded} were loaded and {gone} are said to be deleted, {rows} are there"),
            (not done <= gone <= intended, f"{gone} are said to be deleted, {done} to {intended} were"),
        ]
        return [text for failed, text in checks if failed]


def target_of(kind: str, directory: Path) -> tuple[str, dict[str, str]]:
    """What `--to` is, and the environment that it needs."""
    if kind == "parquet":
        return str(directory / "table"), {}
    if kind == "delta":
        return f"delta:{directory / 'table'}", {}
    prefix = "PYICEBERG_CATALOG__CHAOS__"
    catalog = {"TYPE": "sql", "URI": f"sqlite:///{directory}/catalog.db", "WAREHOUSE": f"file://{directory}/warehouse"}
    return "iceberg:chaos:web.work", {prefix + key: value for key, value in catalog.items()}


def _commits(to: str) -> int:
    try:
        return open_target(to).read().number
    except HeadraceError:
        return 0


def values_in(kind: str, to: str) -> list[bytes]:
    """The values of all rows, as the table format's own reader has them."""
    if kind == "iceberg":
        from pyiceberg.catalog import load_catalog

        table = load_catalog("chaos").load_table("web.work")
        return table.scan(selected_fields=("value",)).to_arrow()["value"].to_pylist()
    if kind == "delta":
        from deltalake import DeltaTable

        rows = DeltaTable(to.removeprefix("delta:")).to_pyarrow_dataset()
    else:
        rows = dataset(to)
    return rows.to_table(columns=["value"])["value"].to_pylist()


def main() -> int:
    parser = kill_parser(__doc__, kills=200)
    parser.add_argument("--target", default="parquet", choices=TARGETS)
    given = parser.parse_args()

    def play(directory: Path) -> tuple[str, list[str]]:
        verdict = LoadCampaign(directory, given.target, given.seed, given.kills).run()
        return verdict.summary(), verdict.faults(given.kills)

    return run_judged("headrace-load-chaos-", given.seed, play)


if __name__ == "__main__":
    sys.exit(main())

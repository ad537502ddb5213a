"""Queries of one table, past and present, by DuckDB, Polars and plain reads, while it is produced to, loaded, deleted from and merged.

    python -m tests.chaos.query_campaign [--queries 2000] [--target delta|iceberg] [--seed 7]

Runs in: a test, or `make query-chaos`. It starts its own ZooKeeper, node, loaders and other writer, and ends only those, by pid.

    producer, idempotent, acks=all  ->  topic  ->  headrace load --every, killed over and over  ->  table  <-  deletes, OPTIMIZE
                                          +--------- headrace.table(...), and snapshots of it -------+

Each query is judged by `query_judge.py`: its rows are those of one moment. Of a snapshot several queries are: they have to agree.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow.compute as pc
from confluent_kafka import Producer

import headrace
from headrace.load.audit_report import audit
from tests.chaos.campaign import kill_parser, run_judged
from tests.chaos.load_campaign import _SILENT, CLIENT, TOPIC, Driver, _commits, target_of
from tests.chaos.other_writer import read_journal
from tests.chaos.query_judge import Window, fault_of_counts, fault_of_rows
from tests.chaos.running_node import started_node
from tests.support import children
from tests.support.tree import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

PARTITIONS = 4
RATE = 100  # records a second: all rows are compared, over and over
KILL_S = 6.0
SPAN_MAX = 400
ENGINES = ("DuckDB", "Polars", "plain")
WAYS = ("rows", "range", "count", "snapshot")
OFFSET, PARTITION = pc.field("offset"), pc.field("partition")


@dataclass
class QueryVerdict:
    """What a campaign saw."""

    seed: int
    target: str
    queries: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    kills: int = 0
    deletes: int = 0
    sent: int = 0
    commits: int = 0
    audit: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def faults(self, wanted: int) -> list[str]:
        checks = [
            (self.queries.total() < wanted, f"only {self.queries.total()} queries"),
            (bool(self.wrong), f"wrong: {self.wrong[:3]} ({len(self.wrong)} in all)"),
            (bool(self.audit), f"audit: {self.audit[:3]}"),
            (self.commits == 0, "nothing was committed"),
        ]
        return [text for failed, text in checks if failed]

    def summary(self) -> str:
        by_way = " ".join(f"{way}={count}" for way, count in sorted(self.queries.items()))
        return (
            f"seed={self.seed} target={self.target} queries={self.queries.total()} ({by_way}) wrong={len(self.wrong)} "
            f"kills={self.kills} deletes={self.deletes} sent={self.sent} commits={self.commits} audit={len(self.audit)} "
            f"seconds={self.seconds:.0f}"
        )


class Sender:
    """Writes into each partition in turn; knows how many were sent and acknowledged of each."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.sent = dict.fromkeys(range(PARTITIONS), 0)
        self.acknowledged = dict.fromkeys(range(PARTITIONS), 0)
        self._rate = rate
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, **CLIENT}
        self._producer = Producer(settings, logger=_SILENT)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.02):
            for _ in range(self._rate // 50):
                partition = number % PARTITIONS
                self.sent[partition] += 1
                self._producer.produce(TOPIC, b"%d" % number, partition=partition, on_delivery=self._done)
                number += 1
            self._producer.poll(0)

    def _done(self, error: Any, message: Any) -> None:
        assert error is None, error
        self.acknowledged[message.partition()] = message.offset() + 1

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(DEADLINE_S)


def rows_by(engine: str, table_of_it: Any, partition: int | None, first: int, end: int) -> dict[int, list[int]]:
    """Offsets by partition, of one or all, within bounds."""
    if engine == "DuckDB":
        where = f'"offset" >= {first} and "offset" < {end}' + (
            f" and partition = {partition}" if partition is not None else ""
        )
        found = duckdb.sql(f'select partition, "offset" from table_of_it where {where}').fetchnumpy()
        pairs = found["partition"], found["offset"]
    elif engine == "Polars":
        frame = table_of_it.lazy().filter((polars.col("offset") >= first) & (polars.col("offset") < end))
        if partition is not None:
            frame = frame.filter(polars.col("partition") == partition)
        frame = frame.select("partition", "offset").collect()
        pairs = frame["partition"].to_numpy(), frame["offset"].to_numpy()
    else:
        where = (first <= OFFSET) & (end > OFFSET)
        if partition is not None:
            where &= partition == PARTITION
        found = table_of_it.to_table(columns=["partition", "offset"], filter=where)
        pairs = found["partition"].to_numpy(), found["offset"].to_numpy()
    partitions, offsets = pairs
    return {index: offsets[partitions == index] for index in np.unique(partitions).tolist()}


def counts_by(engine: str, table_of_it: Any) -> dict[int, int]:
    """How many rows each partition has."""
    if engine == "DuckDB":
        return dict(duckdb.sql("select partition, count(*) from table_of_it group by partition").fetchall())
    if engine == "Polars":
        return dict(table_of_it.lazy().group_by("partition").len().collect().rows())
    return {index: table_of_it.count_rows(filter=index == PARTITION) for index in range(PARTITIONS)}


class QueryCampaign:
    """One run in a directory."""

    def __init__(self, directory: Path, target: str, seed: int, queries: int, kill_s: float = KILL_S) -> None:
        self._directory = directory
        self._queries = queries
        self._kill_s = kill_s
        self._random = random.Random(seed)
        self._log = directory / "load.log"
        self._journal = directory / "journal"
        self.verdict = QueryVerdict(seed, target)
        self.to, environment = target_of(target, directory)
        os.environ.update(environment)

    def run(self) -> QueryVerdict:
        """raises   NotReady, where the node does not start"""
        settings = {"log.segment.bytes": "262144", "offsets.topic.num.partitions": "2"}
        verdict = self.verdict
        with started_node(self._directory, TOPIC, PARTITIONS, 1, settings) as node:
            sender = Sender(node.bootstrap, RATE)
            driver = self._driver(node.bootstrap)
            wait_until(lambda: _commits(self.to), "no first commit")
            command = [sys.executable, "-m", "tests.chaos.other_writer", self.to]
            with open(self._directory / "writer.log", "a") as log:
                other = children.start([*command, str(self._journal), str(verdict.seed)], cwd=ROOT, stderr=log)
            begun_s = killed_s = time.monotonic()
            try:
                clicks = headrace.table(TOPIC, history=self.to, bootstrap_servers=node.bootstrap)
                while verdict.queries.total() < self._queries:
                    if time.monotonic() - killed_s > self._kill_s:
                        driver.kill()
                        driver, killed_s = self._driver(node.bootstrap), time.monotonic()
                        verdict.kills += 1
                    before = verdict.queries.total()
                    self._query(clicks, sender)
                    if verdict.queries.total() // 200 > before // 200:
                        print(f"  {verdict.queries.total()} queries, {len(verdict.wrong)} wrong", flush=True)
                sender.stop()
                children.end(other)
                children.end(driver.process)
                last = Driver(self.to, node.bootstrap, self._log)
                if last.process.wait(DEADLINE_S):
                    verdict.audit.append(f"the last load failed: {self._log.read_text()[-500:]}")
                self._query(clicks, sender)
            finally:
                sender.stop()
                for left in (driver.process, other):
                    if left.poll() is None:
                        left.kill()
                        left.wait()
            verdict.seconds = time.monotonic() - begun_s
            verdict.sent = sum(sender.sent.values())
        found = audit(self.to, is_deep=True)
        verdict.audit += found.faults
        verdict.commits = found.commits
        verdict.deletes = len(read_journal(self._journal)[0])
        return verdict

    def _driver(self, bootstrap: str) -> Driver:
        return Driver(self.to, bootstrap, self._log, "--every", "0.3s", "--compact-every", "5")

    def _query(self, clicks: Any, sender: Sender) -> None:
        """One, or a few over a snapshot, by lot."""
        way, engine = self._random.choice(WAYS), self._random.choice(ENGINES)
        least = sender.acknowledged.copy()
        deletes, is_done = read_journal(self._journal)
        done = len(deletes) - (not is_done)
        try:
            if way == "snapshot":
                self._of_snapshot(clicks, sender, least, done)
                return
            partition = self._random.randrange(PARTITIONS)
            first = self._random.randrange(max(least[partition], 1))
            end = first + self._random.randint(1, SPAN_MAX)
            if way == "count":
                counts = counts_by(engine, clicks)
                fault = fault_of_counts(self._window(sender, least, done), counts)
            elif way == "rows":
                found = rows_by(engine, clicks, None, 0, 1 << 62)
                fault = fault_of_rows(self._window(sender, least, done), found)
            else:
                found = rows_by(engine, clicks, partition, first, end)
                window = self._window(sender, {partition: least[partition]}, done)
                fault = fault_of_rows(window, found, first, end)
        except Exception as failure:
            fault = f"{failure!r:.600}"
        self._judged(f"{way} by {engine}", fault)

    def _of_snapshot(self, clicks: Any, sender: Sender, least: dict[int, int], done: int) -> None:
        with clicks.snapshot() as moment:
            window = self._window(sender, least, done)
            ends = {index: moment.offsets.get(index, 0) for index in range(PARTITIONS)}
            wrong = [index for index in ends if not least[index] <= ends[index] <= window.most[index]]
            window = Window(ends, ends, window.done, window.begun)
            seen = []
            for engine in ENGINES:
                found = rows_by(engine, moment, None, 0, 1 << 62)
                seen.append({index: np.sort(offsets) for index, offsets in found.items()})
                fault = fault_of_rows(window, found) or (f"ends {ends}, acknowledged {least}" if wrong else "")
                is_same = seen[-1].keys() == seen[0].keys() and all(
                    np.array_equal(one, seen[-1][index]) for index, one in seen[0].items()
                )
                if not is_same or counts_by(engine, moment) != {index: len(one) for index, one in seen[0].items()}:
                    fault = fault or "queries of one snapshot differ"
                self._judged(f"snapshot by {engine}", fault)

    def _window(self, sender: Sender, least: dict[int, int], done: int) -> Window:
        """Of a query that has ended."""
        begun, _is_done = read_journal(self._journal)
        return Window(least, {index: sender.sent[index] for index in least}, min(done, len(begun)), tuple(begun))

    def _judged(self, what: str, fault: str) -> None:
        self.verdict.queries[what] += 1
        if fault:
            self.verdict.wrong.append(f"query {self.verdict.queries.total()} ({what}): {fault}")
            print(f"  {self.verdict.wrong[-1]}", flush=True)


def main() -> int:
    parser = kill_parser(__doc__, kills=0)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--target", default="delta", choices=("delta", "iceberg"))
    given = parser.parse_args()

    def play(directory: Path) -> tuple[str, list[str]]:
        verdict = QueryCampaign(directory, given.target, given.seed, given.queries).run()
        return verdict.summary(), verdict.faults(given.queries)

    return run_judged("headrace-query-chaos-", given.seed, play)


if __name__ == "__main__":
    sys.exit(main())

"""Kills of a Spark query with an exactly-once sink in the moment of writing, of its task workers and of the node, under load.

Runs in: a test or `make sink-chaos` (`python -m tests.chaos.sink_campaign --kills 100 --seed 7`). It starts its own ZooKeeper, node and
queries in a directory and ends only those, by pid.

    producer, idempotent, acks=all: numbers  ->  topic work  ->  Spark, headrace.exactly.once  ->  topic out

    worker      the Python worker of a task that writes (SIGKILL): Spark tries the task again
    driver      the query's JVM: the micro-batch is repeated by the next query over the same checkpoint
    zombie      its driver is killed, a worker that writes is stopped (SIGSTOP), and wakes up beside the attempt that took its place
    process     one of the node
    node        all of it

Most kills wait until a micro-batch has written a number of rows, by lot, and is not committed (`sink_watch.py`); the others come at
any time. Who has a connection to the node writes. What is judged: `sink_judge.py`. With --without the option is off, and the same
kills have to leave doubles. With --foreach the micro-batches are written by `foreachBatch` (`spark/batch_sink.py`).
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from headrace.cli.spark_daemon import TASKS
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from tests.chaos.campaign import kill_parser, run_judged
from tests.chaos.load_campaign import SequenceProducer
from tests.chaos.running_node import Node, started_node
from tests.chaos.sink_judge import Row, SinkVerdict, Strike
from tests.chaos.sink_query import PARTITIONS, SOURCE, TARGET
from tests.chaos.sink_watch import SinkWatch
from tests.support import children
from tests.support.spark_python import python_of
from tests.support.waiting import wait_until

RATE = 1_000  # records a second
KINDS = {"worker": 12, "zombie": 4, "driver": 4, "process": 4, "node": 1}
BACKLOG_MAX = 50_000  # rows that the query has yet to write, above which the producer rests
ANY_TIME_SHARE = 0.15
MID_ROWS_MAX = 1_500  # that a micro-batch has written when a kill comes
STARTED_S = 300.0  # for a query to have written something; a JVM starts meanwhile
SETTLE_S = 600.0  # for the last query to write the rest
ENDED_MAX = 5  # queries, one after the other, that nobody killed
LOG_LINES = 40  # of the queries' log, in an error
INTERPRETER = Path(sys.executable).name  # what a process is called that has no name of its own
OVERTAKEN_S = 4.0  # that a zombie runs on beside its successor


class Query:
    """A query's processes: Python, its JVM, and the workers that this forked."""

    def __init__(self, bootstrap: str, directory: Path, sockets: str, *options: str) -> None:
        self._orphans: list[psutil.Process] = []
        environment = {**os.environ, "PYSPARK_PYTHON": str(python_of(directory)), "SPARK_LOCAL_IP": "127.0.0.1"}
        with open(directory / "query.log", "a") as log:
            self.process = children.start(
                [sys.executable, "-m", "tests.chaos.sink_query", bootstrap, str(directory / "checkpoint"), sockets, *options],
                stdout=log, stderr=log, env=environment,
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
        """The Python workers: forked by daemons of our own, which gave both of them a name."""
        return [one for one in self.tree()[1:] if "headrace.cli.spark_" in _command(one) and _is_named_as_parent(one)]

    def writers(self, port: int) -> list[psutil.Process]:
        """Those that run tasks and have a connection to the node."""
        return [one for one in self.workers() if _name(one) == TASKS and port in _ports_of(one)]

    def stop_orphaned(self, worker: psutil.Process) -> bool:
        """SIGSTOP to a worker, after its daemon has died; whether it was there.

        The other way round it would never wake up, see `end_parent`.
        """
        try:
            self._orphans += end_parent(worker, lambda: self.is_alive)
        except psutil.NoSuchProcess:
            return False
        return _signal(worker, signal.SIGSTOP)

    def kill(self, spared: Sequence[psutil.Process] = ()) -> None:
        """All of it, but for some workers."""
        for one in [*self.tree(), *self._orphans]:
            if one not in spared:
                _signal(one, signal.SIGKILL)
        self.process.wait()


class SinkCampaign:
    """One run in a directory.

    without   the option is off
    foreach   micro-batches are written by `foreachBatch`
    kinds     only these; all where none is named
    """

    def __init__(
        self,
        directory: Path,
        seed: int,
        kills: int,
        without: bool = False,
        foreach: bool = False,
        kinds: Sequence[str] = (),
        pace_s: float = 1.0,
    ) -> None:
        self._directory = directory
        self._kills = kills
        self._kinds = {kind: weight for kind, weight in KINDS.items() if not kinds or kind in kinds}
        self._pace_s = pace_s
        self._options = ["--without"] * without + ["--foreach"] * foreach
        self._random = random.Random(seed)
        self._asleep: list[psutil.Process] = []
        self._ended = 0
        self.verdict = SinkVerdict(seed, without)

    def run(self) -> SinkVerdict:
        """raises   NotReady, where the node does not start"""
        settings = {"offsets.topic.num.partitions": "2"}
        with (
            tempfile.TemporaryDirectory(prefix="sink-") as self._sockets,
            started_node(self._directory, SOURCE, PARTITIONS, 2, settings) as node,
            Cluster(node.bootstrap) as cluster,
        ):
            Admin(cluster).create_topics([NewTopic(TARGET, PARTITIONS, 1)])
            watch = SinkWatch(cluster, TARGET, self._directory / "checkpoint", STARTED_S)
            producer = SequenceProducer(node.bootstrap, RATE)
            query = self._start(node)
            try:
                while len(self.verdict.strikes) < self._kills:
                    query = self._strike(node, query, watch)
                    producer.is_resting = len(producer.acknowledged) - sum(watch.ends.values()) > BACKLOG_MAX
                    if len(self.verdict.strikes) % 10 == 0:
                        print(
                            f"  {len(self.verdict.strikes)} kills, {len(producer.acknowledged)} acknowledged, "
                            f"{sum(watch.ends.values())} rows",
                            flush=True,
                        )
                producer.stop()
                self._wake()
                query.kill()
                self._write_rest(node)
            finally:
                producer.stop()
                self._wake()
                if query.is_alive:
                    query.kill()
            log = (self._directory / "query.log").read_text(errors="replace")
            self.verdict.judge(producer.acknowledged, rows_of(cluster), log)
        return self.verdict

    def _start(self, node: Node, *options: str) -> Query:
        self.verdict.queries += 1
        return Query(node.bootstrap, self._directory, self._sockets, *self._options, *options)

    def _count_ended(self) -> None:
        """raises   AssertionError, with the end of their log, where query after query ends"""
        self.verdict.ended += 1
        self._ended += 1
        if self._ended > ENDED_MAX:
            lines = (self._directory / "query.log").read_text(errors="replace").splitlines()
            raise AssertionError(
                "\n".join([f"{self._ended} queries ended by themselves, the last with", *lines[-LOG_LINES:]])
            )

    def _strike(self, node: Node, query: Query, watch: SinkWatch) -> Query:
        """One kill, if there is whom to kill; returns the query that runs then."""
        if not query.is_alive:
            self._count_ended()  # a task failed more often than Spark tries it, or a process that plans was killed
            return self._start(node)
        kind = self._random.choices([*self._kinds], [*self._kinds.values()])[0]
        rows = self._random.randint(1, MID_ROWS_MAX)
        chosen = self._random.random()
        pause_s = self._random.expovariate(1 / self._pace_s)
        batch = None
        if self._random.random() < ANY_TIME_SHARE:
            wait_for_workers(query)
            time.sleep(pause_s)
            victims = query.workers()
        else:
            batch = watch.wait_written(rows, lambda: query.is_alive)
            victims = query.writers(node.port)
            if batch is None:
                return query
        if kind in ("worker", "zombie"):
            if not victims:
                return query
            victim = victims[int(chosen * len(victims))]
            if not (_signal(victim, signal.SIGKILL) if kind == "worker" else query.stop_orphaned(victim)):
                return query
            if kind == "zombie":
                self._asleep.append(victim)
        elif kind == "process":
            parts = [pid for role, pids in node.children().items() if role != "supervisor" for pid in pids]
            if not parts or not node.signal(parts[int(chosen * len(parts))], signal.SIGKILL):
                return query
        elif kind == "node":
            node.kill_tree()
        if kind in ("driver", "zombie"):
            query.kill(spared=self._asleep)
        if kind == "zombie" and not _is_running(victim):
            kind = "driver"  # it died with that, and wakes up nowhere
        if kind not in ("process", "node"):
            watch.look()
        is_mid_write = batch is not None and watch.under_way() == batch
        self._ended = 0
        self.verdict.strikes.append(
            Strike(kind, {name.partition: end for name, end in watch.ends.items()}, is_mid_write)
        )
        if kind == "node":
            node.start()
        elif kind in ("driver", "zombie"):
            query = self._start(node)
        if kind == "zombie":
            self._wake_beside(query, watch)
        return query

    def _wake_beside(self, query: Query, watch: SinkWatch) -> None:
        """Where the next query has just begun, or in mid-write."""
        rows, pause_s = self._random.randint(1, MID_ROWS_MAX), self._random.expovariate(1 / self._pace_s)
        if self._random.random() < 0.5:
            watch.wait_written(rows, lambda: query.is_alive)
        else:
            wait_for_workers(query)
            time.sleep(pause_s)
        self._wake()

    def _wake(self) -> None:
        """Zombies run on for a while, and are ended."""
        asleep, self._asleep = self._asleep, []
        self.verdict.woken += sum(_is_running(one) for one in asleep)
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
                self._count_ended()
            finally:
                if query.is_alive:
                    query.kill()
        raise AssertionError(f"the last query does not end, see {self._directory / 'query.log'}")


def rows_of(cluster: Cluster) -> Iterator[Row]:
    """What the topic holds, up to its ends."""
    cluster.refresh([TARGET])
    names = [name for name in cluster.partitions if name.topic == TARGET]
    starts = cluster.offsets(dict.fromkeys(names, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(names, LATEST))
    with Kafka(cluster.bootstrap_servers) as kafka:
        for records in read_ranges(kafka, starts, ends):
            for record in records:
                number = int(record.value or b"")
                yield Row(record.partition, record.offset, number, number % PARTITIONS)


def end_parent(worker: psutil.Process, has_grandparent: Callable[[], bool]) -> list[psutil.Process]:
    """Its siblings and itself, of which none dies when it is stopped and the grandparent is killed.

    A process group with a member that is stopped gets a SIGHUP when it loses its last parent. A parent for which nobody has
    waited yet counts as one, so that the grandparent's death would be its loss. raises   NoSuchProcess, AssertionError
    """
    parent = worker.parent()
    if parent is None:
        raise psutil.NoSuchProcess(worker.pid)
    siblings = parent.children()
    parent.kill()
    wait_until(lambda: not parent.is_running() or not has_grandparent(), "nobody waits for the parent of a worker")
    return siblings


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


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _is_named_as_parent(process: psutil.Process) -> bool:
    try:
        parent = process.parent()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False
    return parent is not None and _name(parent) == _name(process) not in ("", INTERPRETER)


def _ports_of(process: psutil.Process) -> set[int]:
    """Of the other ends of its connections."""
    try:
        return {one.raddr.port for one in process.net_connections("tcp") if one.raddr}
    except psutil.Error:
        return set()


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
    parser = kill_parser(__doc__, kills=100)
    parser.add_argument("--without", action="store_true", help="the option is off: doubles have to be found")
    parser.add_argument("--foreach", action="store_true", help="micro-batches are written by foreachBatch")
    parser.add_argument("--kinds", nargs="+", default=(), choices=[*KINDS], help="only these")
    given = parser.parse_args()

    def play(directory: Path) -> tuple[str, list[str]]:
        verdict = SinkCampaign(directory, given.seed, given.kills, given.without, given.foreach, given.kinds).run()
        return verdict.summary(), verdict.faults(given.kills)

    return run_judged("headrace-sink-chaos-", given.seed, play)


if __name__ == "__main__":
    sys.exit(main())

"""Thousands of partitions on one node: what making and opening them costs, and what others wait meanwhile.

    python -m bench.partitions [--partitions 5000] [--topics 2000]

1. One topic with many partitions is created while another topic, with a partition on each partition worker, is
   produced to, one record at a time: time until all partitions are served, the longest wait of a produce.
2. With many topics of one partition, each with a record, one partition worker is killed: time until a topic of that
   worker acknowledges again (what is asked for is opened first), and until all of them do.

CPU seconds of each process tell what a busy machine does not.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.nodes import Headrace
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.errors import HeadraceError
from headrace.ids import owner_of
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch

TOPICS_PER_REQUEST = 500
PROBE_PAUSE_S = 0.002
SERVED_DEADLINE_S = 120
NO_ERROR = 0
_TICKS = os.sysconf("SC_CLK_TCK")
_BATCH = bytes(build_batch([(None, b"x" * 100)]))

_Produce = messages.ProduceRequest


def produce(connection: Connection, topics: dict[str, list[int]]) -> dict[str, int]:
    """One record to each partition; returns the worst error code of each topic."""
    data = [
        _Produce.TopicProduceData(name, [_Produce.PartitionProduceData(index, _BATCH) for index in indexes])
        for name, indexes in topics.items()
    ]
    request = _Produce(acks=-1, timeout_ms=30_000, topic_data=data)
    answer = connection.request(ApiKey.PRODUCE, 8, request)
    return {
        topic.name: max(partition.error_code for partition in topic.partition_responses) for topic in answer.responses
    }


class Probe(threading.Thread):
    """Produces to a topic one record after the other.

    worst_ms   the longest time until one was acknowledged
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self._connection = _connect(bootstrap)
        self._topic = topic
        self._partitions = partitions
        self._is_over = False
        self.worst_ms = 0.0
        self.count = 0

    def run(self) -> None:
        while not self._is_over:
            for index in range(self._partitions):
                begun = time.perf_counter()
                while produce(self._connection, {self._topic: [index]})[self._topic]:
                    time.sleep(PROBE_PAUSE_S)
                self.worst_ms = max(self.worst_ms, (time.perf_counter() - begun) * 1000)
                self.count += 1
            time.sleep(PROBE_PAUSE_S)

    def stop(self) -> None:
        self._is_over = True
        self.join()


def _connect(bootstrap: str) -> Connection:
    host, _, port = bootstrap.rpartition(":")
    return Connection(host, int(port), timeout_s=SERVED_DEADLINE_S)


def processes(server: Headrace) -> dict[str, tuple[int, float]]:
    """(pid, CPU seconds so far) by name of the process."""
    found = {}
    for pid in server.pids():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        found[name] = (pid, (int(fields[11]) + int(fields[12])) / _TICKS)
    return found


@contextmanager
def measured(server: Headrace, what: str) -> Iterator[None]:
    """Print time and CPU of each process."""
    before, begun = processes(server), time.perf_counter()
    yield
    taken_s = time.perf_counter() - begun
    spent = []
    for name, (pid, cpu_s) in sorted(processes(server).items()):
        known_pid, known_s = before.get(name, (0, 0.0))
        spent.append(f"{name} {cpu_s - (known_s if known_pid == pid else 0.0):.2f}")
    print(f"{what}: {taken_s:.2f} s; CPU s: {', '.join(spent)}", flush=True)


def bench_creation(server: Headrace, admin: Admin, partitions: int) -> None:
    """One large topic, while another is produced to."""
    _create(admin, [NewTopic("probe", 2)])
    probe = Probe(server.bootstrap, "probe", 2)
    probe.start()
    with measured(server, f"1 topic of {partitions} partitions created and served"):
        _create(admin, [NewTopic("large", partitions)])
        _produce_large(server, partitions)
    probe.stop()
    print(f"  another topic's produce waited {probe.worst_ms:.0f} ms at most, {probe.count} of them", flush=True)


def _produce_large(server: Headrace, partitions: int) -> None:
    connection = _connect(server.bootstrap)
    while produce(connection, {"large": list(range(partitions))})["large"]:
        time.sleep(PROBE_PAUSE_S)


def bench_kill(server: Headrace, admin: Admin, count: int, workers: int) -> None:
    """A partition worker killed with many topics."""
    names = [f"topic{number:05d}" for number in range(count)]
    with measured(server, f"{count} topics created"):
        for first in range(0, count, TOPICS_PER_REQUEST):
            _create(admin, [NewTopic(name, 1) for name in names[first : first + TOPICS_PER_REQUEST]])
    connection = _connect(server.bootstrap)
    _produce_until_served(connection, names)
    owned = [name for name in names if owner_of(name, 0, workers) == 0]
    asked = owned[len(owned) // 2]
    with measured(server, f"partition worker of {len(owned)} of {count} topics killed, all of them acknowledge again"):
        begun = time.perf_counter()
        os.kill(processes(server)["hr-partition-0"][0], signal.SIGKILL)
        while True:
            try:
                if not produce(connection, {asked: [0]})[asked]:
                    break
            except HeadraceError:
                connection = _connect(server.bootstrap)
            time.sleep(PROBE_PAUSE_S)
        first_s = time.perf_counter() - begun
        _produce_until_served(connection, owned)
    print(f"  the first that was asked for after {first_s:.2f} s", flush=True)


def _produce_until_served(connection: Connection, names: list[str]) -> None:
    left = names
    while left:
        errors = produce(connection, {name: [0] for name in left})
        left = [name for name in left if errors[name] != NO_ERROR]
        time.sleep(PROBE_PAUSE_S)


def _create(admin: Admin, topics: list[NewTopic]) -> None:
    failed = {name: error for name, error in admin.create_topics(topics).items() if error is not None}
    if failed:
        raise SystemExit(f"topics not created: {failed}")


def _how_it_stopped(server: Headrace) -> str:
    """What the node says of its stop."""
    _before, _stopping, after = (server.directory / "broker.log").read_text().rpartition(" stopping reason=")
    told = [line for line in after.splitlines() if "stop" in line or "not closed" in line]
    return "\n  ".join(told[-5:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=5_000)
    parser.add_argument("--topics", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = Headrace(Path(directory) / "node", {"headrace.partition.workers": str(options.workers)})
        server.start()
        try:
            with Cluster(server.bootstrap) as cluster:
                admin = Admin(cluster)
                if options.partitions:
                    bench_creation(server, admin, options.partitions)
                if options.topics:
                    bench_kill(server, admin, options.topics, options.workers)
                if (
                    options.topics and options.partitions
                ):  # a stop is not clean while a killed worker's logs are unopened
                    _produce_large(server, options.partitions)
            begun = time.perf_counter()
            server.stop_broker()
            print(f"stopped after {time.perf_counter() - begun:.2f} s, {_how_it_stopped(server)}")
        finally:
            server.stop()


if __name__ == "__main__":
    main()

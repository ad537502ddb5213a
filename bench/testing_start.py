"""From the start of a node in a test to its first acknowledged record, beside the same with Apache's ZooKeeper in a JVM.

    python -m bench.testing_start [--rounds 9] [--kafka]

    first      the keeper is started too: what the first test of a session waits for, if nothing ran before it
    next       the keeper runs: a fork of a node, its ZooKeeper, a topic, a record of acks=all
    three      the same with a cluster of three nodes, and a topic of three replicas
    apache zk  `headrace start` over an embedded ZooKeeper of Apache's, both started
    kafka      Apache Kafka over the same (needs Maven)

Printed are medians and ratios to `apache zk`. CPU is of all processes from start to stop: it says on a busy machine what the
wall clock does not.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.nodes import Headrace, Server, write_byte_code
from bench.nodes import Kafka as ApacheKafka
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.testing.cluster import KafkaCluster
from headrace.testing.keeper_client import keeper

PATIENCE_S = 60.0
TOPIC = "first"


class Measured(NamedTuple):
    """One start: until it served, until the record was acknowledged, and CPU from start to stop."""

    served_s: float
    done_s: float
    cpu_s: float


def create_topic(bootstrap: str) -> None:
    with Cluster(bootstrap, timeout_s=PATIENCE_S, patience_s=PATIENCE_S) as cluster:
        for failure in Admin(cluster).create_topics([NewTopic(TOPIC, 1, 1)]).values():
            if failure is not None:
                raise failure


def acknowledge(bootstrap: str) -> None:
    with Kafka(bootstrap) as kafka, kafka.producer() as producer:
        producer.send(TOPIC, b"1").result(PATIENCE_S)


def cpu_s(pid: int) -> float:
    """Of a process and of those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_a_test(nodes: int) -> Measured:
    keeper().ask(do="end", cluster="none")  # it runs
    pid = keeper().pid
    before = cpu_s(pid)
    served, done = _run_cluster(nodes)
    return Measured(served, done, cpu_s(pid) - before)


def first_of_a_session() -> Measured:
    keeper().end()
    before = children_cpu_s()
    served, done = _run_cluster(1)
    keeper().end()
    return Measured(served, done, children_cpu_s() - before)


def _run_cluster(nodes: int) -> tuple[float, float]:
    kafka, begun = KafkaCluster(nodes), time.perf_counter()
    kafka.start()
    try:
        served = time.perf_counter()
        kafka.create_topic(TOPIC, 1, nodes)
        acknowledge(kafka.bootstrap_servers)
        return served - begun, time.perf_counter() - begun
    finally:
        kafka.stop()


def of_a_server(kind: type[Server]) -> Measured:
    directory, before = Path(tempfile.mkdtemp()), children_cpu_s()
    server, begun = kind(directory), time.perf_counter()
    try:
        server.start()
        served = time.perf_counter()
        create_topic(server.bootstrap)
        acknowledge(server.bootstrap)
        done = time.perf_counter()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return Measured(served - begun, done - begun, children_cpu_s() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kafka", action="store_true")
    given = parser.parse_args()
    write_byte_code()
    ways: dict[str, Callable[[], Measured]] = {
        "first": first_of_a_session,
        "next": lambda: of_a_test(1),
        "three": lambda: of_a_test(3),
        "apache zk": lambda: of_a_server(Headrace),
        **({"kafka": lambda: of_a_server(ApacheKafka)} if given.kafka else {}),
    }
    found: dict[str, list[Measured]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, way in ways.items():
            found[name].append(way())
    keeper().end()
    load = os.getloadavg()[0]
    print(f"medians of {given.rounds} rounds in seconds, load average {load:.1f} on {os.cpu_count()} cores")
    print(f"{'':10} {'serves':>8} {'acknowledged':>13} {'ratio':>7} {'cpu':>7} {'ratio':>7}")
    peer = _medians(found["apache zk"])
    for name, rounds in found.items():
        served, done, cpu = _medians(rounds)
        print(f"{name:10} {served:8.3f} {done:13.3f} {done / peer.done_s:7.2f} {cpu:7.2f} {cpu / peer.cpu_s:7.2f}")


def _medians(rounds: list[Measured]) -> Measured:
    return Measured(*map(median, zip(*rounds, strict=True)))


if __name__ == "__main__":
    main()

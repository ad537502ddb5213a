"""From the start of a node in a test to its first acknowledged record, beside the same with Apache's ZooKeeper in a JVM.

    python -m bench.testing_start [--rounds 9] [--kafka]

    first      the keeper is started too: what the first test of a session waits for, if nothing ran before it
    next       the keeper runs: a fork of a node, its ZooKeeper, a topic, a record of acks=all
    three      the same with a cluster of three nodes, and a topic of three replicas
    apache zk  `headrace start` over an embedded ZooKeeper of Apache's, both started
    kafka      Apache Kafka over the same (needs Maven)

Printed are the median of the rounds in seconds and the ratio to `apache zk`. Source: none.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.nodes import Headrace, Kafka, Server, write_byte_code
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.producer import Producer
from headrace.testing.cluster import KafkaCluster
from headrace.testing.keeper_client import keeper

PATIENCE_S = 60.0
TOPIC = "first"


def acknowledged(bootstrap: str, replicas: int = 1) -> None:
    """Create a topic and have a record acknowledged."""
    with Cluster(bootstrap, timeout_s=PATIENCE_S, patience_s=PATIENCE_S) as cluster:
        for failure in Admin(cluster).create_topics([NewTopic(TOPIC, 1, replicas)]).values():
            if failure is not None:
                raise failure
    with Producer(Cluster(bootstrap, timeout_s=PATIENCE_S, patience_s=PATIENCE_S)) as producer:
        producer.send(TOPIC, b"1")


def of_a_test(nodes: int) -> tuple[float, float]:
    """Seconds until the nodes served, and until the record was acknowledged."""
    kafka, begun = KafkaCluster(nodes), time.perf_counter()
    kafka.start()
    try:
        served = time.perf_counter()
        acknowledged(kafka.bootstrap_servers, nodes)
        return served - begun, time.perf_counter() - begun
    finally:
        kafka.stop()


def first_of_a_session() -> tuple[float, float]:
    keeper().end()
    return of_a_test(1)


def of_a_server(kind: type[Server]) -> tuple[float, float]:
    directory = Path(tempfile.mkdtemp())
    server, begun = kind(directory), time.perf_counter()
    try:
        server.start()
        served = time.perf_counter()
        acknowledged(server.bootstrap)
        return served - begun, time.perf_counter() - begun
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kafka", action="store_true")
    given = parser.parse_args()
    write_byte_code()
    ways: dict[str, Callable[[], tuple[float, float]]] = {
        "first": first_of_a_session,
        "next": lambda: of_a_test(1),
        "three": lambda: of_a_test(3),
        "apache zk": lambda: of_a_server(Headrace),
        **({"kafka": lambda: of_a_server(Kafka)} if given.kafka else {}),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, way in ways.items():
            found[name].append(way())
    keeper().end()
    peer = median(done for _served, done in found["apache zk"])
    print(f"{'':10} {'serves':>8} {'acknowledged':>13} {'ratio':>7}   median of {given.rounds} rounds, seconds")
    for name, rounds in found.items():
        served, done = (median(one[index] for one in rounds) for index in (0, 1))
        print(f"{name:10} {served:8.3f} {done:13.3f} {done / peer:7.2f}")


if __name__ == "__main__":
    main()

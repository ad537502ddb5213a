"""Replicas of three nodes have the leader's bytes: while it writes, after a node was away, and under another leader.

Nodes of `headrace dev --nodes 3`. Tests run in order: those at the end kill nodes.
"""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from tests.e2e.test_three_nodes import is_known, leaders_of, metadata_of, numbers, read, running
from tests.support import children
from tests.support.waiting import wait_until

NODES = 3
PARTITIONS = 6


@pytest.fixture(scope="module", params=["3.9", "2.6"])
def nodes(request, tmp_path_factory):
    more = (
        "headrace.partition.workers=2",
        "log.segment.bytes=100000",
        f"inter.broker.protocol.version={request.param}",
    )
    with running(tmp_path_factory.mktemp("followers"), *more) as nodes:
        yield nodes
    assert "Traceback" not in nodes.errors.read_text()


@pytest.fixture
def topic(nodes):
    name = f"followed-{uuid.uuid4().hex[:8]}"
    with Cluster(nodes.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(name, PARTITIONS, NODES)]) == {name: None}
    wait_until(lambda: is_known(nodes.bootstrap, name))
    return name


def write(nodes, topic, values):
    with Kafka(nodes.bootstrap) as kafka, kafka.producer() as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % PARTITIONS)
    assert producer.acknowledged == len(values)


def replicas(nodes, topic, index):
    """The bytes of a partition on each node, its segments one after the other."""
    directories = [Path(nodes.directory) / f"node-{node}" / "logs" / f"{topic}-{index}" for node in range(NODES)]
    return [b"".join(path.read_bytes() for path in sorted(one.glob("*.log"))) for one in directories]


def are_equal(nodes, topic):
    return all(len(set(replicas(nodes, topic, index))) == 1 for index in range(PARTITIONS))


def isrs(nodes, topic):
    """By partition, as its leader knows it."""
    known = {index: metadata_of(bootstrap, topic) for index, bootstrap in enumerate(nodes.bootstraps)}
    return [known[one.leader][index].isr for index, one in sorted(known[0].items())]


def test_what_is_acknowledged_by_all_is_on_all_byte_by_byte(nodes, topic):
    values = numbers(3_000)
    write(nodes, topic, values)
    wait_until(lambda: are_equal(nodes, topic))
    assert all(replicas(nodes, topic, index)[0] for index in range(PARTITIONS))
    assert read(nodes.bootstrap, topic) == values


def test_a_partition_worker_that_was_killed_fetches_on(nodes, topic):
    write(nodes, topic, numbers(600))
    supervisor = nodes.pid(1)
    workers = [
        int(pid)
        for pid in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        if "part" in Path(f"/proc/{pid}/comm").read_text()
    ]
    assert len(workers) == 2
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    write(nodes, topic, numbers(600, 600))
    wait_until(lambda: are_equal(nodes, topic))
    assert read(nodes.bootstrap, topic) == numbers(1_200)


def test_a_node_that_was_killed_has_everything_again(nodes, topic):
    """It is back within its session: it leads what it led, and follows the rest."""
    write(nodes, topic, numbers(600))
    os.kill(nodes.pid(1), signal.SIGKILL)
    write(nodes, topic, numbers(600, 600))
    wait_until(lambda: are_equal(nodes, topic))
    assert read(nodes.bootstrap, topic) == numbers(1_200)


def test_while_a_node_is_away_another_leads_and_it_follows_when_it_is_back(nodes, topic):
    write(nodes, topic, numbers(600))
    away = 2
    rest = nodes.bootstraps[:away]
    os.kill(nodes.pid(away), signal.SIGTERM)
    wait_until(lambda: nodes.pid(away) is None)
    wait_until(lambda: set(leaders_of(rest[0], topic).values()) == {0, 1})
    write(nodes, topic, numbers(600, 600))
    file = nodes.directory / f"node-{away}" / "server.properties"
    process = children.start(
        [sys.executable, "-m", "headrace.cli.main", "start", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert f"bootstrap={nodes.bootstraps[away]} " in process.stdout.readline()
        wait_until(lambda: are_equal(nodes, topic))
        wait_until(lambda: all(len(isr) == NODES for isr in isrs(nodes, topic)), lambda: str(isrs(nodes, topic)))
        assert read(nodes.bootstrap, topic) == numbers(1_200)
    finally:
        assert children.end(process) == 0
        process.stdout.close()

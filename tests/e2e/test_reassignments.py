"""Replicas that move between three nodes while records are written, and what tools and the command line say of it.

Holds: client/replica_admin.py
"""

import subprocess
import sys
import threading
import uuid

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import LATEST, Cluster
from headrace.client.consumer import Consumer
from headrace.client.producer import Producer
from headrace.client.replica_admin import ReplicaAdmin
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from tests.support import children
from tests.support.waiting import wait_until

NODES = 3
SESSION_MS = 6_000


class Running:
    """`headrace dev --nodes 3`"""

    def __init__(self, directory):
        settings = (
            f"zookeeper.session.timeout.ms={SESSION_MS}",
            "headrace.partitions.max=256",
            "offsets.topic.num.partitions=1",
        )
        command = [sys.executable, "-m", "headrace.cli.main", "dev", "--nodes", str(NODES), "--dir", str(directory)]
        command += ["--port", "0", *(word for setting in settings for word in ("--set", setting))]
        self.directory = directory
        self.errors = directory / "log"
        with open(self.errors, "w") as log:
            self.process = children.start(command, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("ready "), self.errors.read_text()[-3000:]
        words = dict(word.split("=", 1) for word in line.split()[1:])
        self.bootstrap, self.zookeeper = words["bootstrap"], words["zookeeper"]

    def close(self):
        code = children.end(self.process)
        self.process.stdout.close()
        assert code == 0, self.errors.read_text()[-3000:]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("moves"))
    yield running
    running.close()


@pytest.fixture
def cluster(nodes):
    with Cluster(nodes.bootstrap, patience_s=20) as cluster:
        cluster.refresh([])
        yield cluster


def create(cluster, partitions=2, factor=2):
    name = f"moves-{uuid.uuid4().hex[:8]}"
    assert Admin(cluster).create_topics([NewTopic(name, partitions, factor)]) == {name: None}
    wait_until(lambda: is_known(cluster, name))
    return name


def is_known(cluster, name):
    """Whether every node knows the topic, with leaders."""
    for broker in cluster.brokers.values():
        with Cluster(f"{broker.host}:{broker.port}") as one:
            try:
                one.refresh([name])
            except KafkaError:
                return False
            if any(row.leader < 0 for place, row in one.partitions.items() if place.topic == name):
                return False
    return True


def rows(cluster, name):
    """{partition: metadata}"""
    cluster.refresh([name])
    return {one.partition: row for one, row in cluster.partitions.items() if one.topic == name}


def wait_moved(cluster, name, targets):
    """Until partitions have these replicas, all in sync."""

    def is_there():
        found = rows(cluster, name)
        return all(
            found[index].replicas == target and set(found[index].isr) == set(target)
            for index, target in targets.items()
        )

    wait_until(is_there, lambda: f"{rows(cluster, name)}")
    wait_until(lambda: not ReplicaAdmin(cluster).reassignments())


def test_replicas_move_while_records_are_written(nodes, cluster):
    topic = create(cluster)
    stop = threading.Event()
    written = []

    def write():
        with Producer(Cluster(nodes.bootstrap, patience_s=30)) as producer:
            while not stop.is_set():
                value = b"%08d" % len(written)
                producer.send(topic, value, partition=len(written) % 2)
                written.append(value)
                if not len(written) % 50:
                    producer.flush()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        admin = ReplicaAdmin(cluster)
        for _round in range(2):
            before = rows(cluster, topic)
            targets = {}
            for index, row in before.items():
                [other] = set(range(NODES)) - set(row.replicas)
                targets[index] = (other, row.replicas[0])
            errors = admin.reassign({TopicPartition(topic, index): target for index, target in targets.items()})
            assert set(errors.values()) == {None}
            wait_moved(cluster, topic, targets)
    finally:
        stop.set()
        thread.join()
    names = {TopicPartition(topic, index): 0 for index in range(2)}
    cluster.refresh([topic])
    ends = cluster.offsets(dict.fromkeys(names, LATEST))
    consumer, values = Consumer(cluster, names, ends), []
    while not consumer.is_done:
        for _name, records in consumer.poll():
            values += [bytes(record.value) for record in records]
    assert sorted(values) == sorted(written)
    wait_until(
        lambda: directories(nodes, topic) == {(node, index) for index, target in targets.items() for node in target}
    )


def directories(nodes, topic):
    """(node, partition) that have one, as it is served."""
    return {
        (node, index)
        for node in range(NODES)
        for index in range(8)
        if (nodes.directory / f"node-{node}" / "logs" / f"{topic}-{index}").is_dir()
    }

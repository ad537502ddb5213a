"""Replicas that move between three nodes while records are written, and what tools and the command line say of it."""

import json
import subprocess
import sys
import threading
import uuid
from collections import Counter

import pytest
from kazoo.client import KazooClient

from headrace.client.admin import Admin, NewTopic, ReplicaAdmin
from headrace.client.cluster import LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.controller.zookeeper.admin_znodes import encode_reassignment
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.cli.program import Program
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
        with Kafka(nodes.bootstrap) as kafka, kafka.producer() as producer:
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
    with Kafka(nodes.bootstrap) as kafka:
        values = [record.value for records in read_ranges(kafka, names, ends) for record in records]
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


def program(nodes, *words):
    return Program(nodes.bootstrap)("cluster", *words).decode()


def test_a_cluster_is_evened_out_by_the_command_line(nodes, cluster):
    topic = create(cluster, 6)
    crowded = dict.fromkeys(range(6), (0, 1))
    admin = ReplicaAdmin(cluster)
    admin.reassign({TopicPartition(topic, index): target for index, target in crowded.items()})
    wait_moved(cluster, topic, crowded)
    shown = program(nodes, "rebalance")
    assert "dry run: nothing was changed" in shown
    assert rows(cluster, topic)[5].replicas == (0, 1)
    planned = [json.loads(line) for line in program(nodes, "rebalance", "--json").splitlines()]
    assert any(2 in row["adding"] for row in planned)
    assert f"moved {len(planned)} partitions" in program(nodes, "rebalance", "--execute")
    wait_until(lambda: "balanced" in program(nodes, "rebalance"))
    cluster.refresh(None)
    held = Counter(broker for row in cluster.partitions.values() for broker in row.replicas)
    assert max(held.values()) - min(held.values()) <= 1, held
    moved = [row["partition"] for row in planned if row["topic"] == topic]
    wait_until(
        lambda: all(found[one].leader == found[one].replicas[0] for found in [rows(cluster, topic)] for one in moved)
    )


def test_a_reassignment_that_waits_is_listed_and_cancelled(nodes, cluster):
    topic = create(cluster, 1)
    before = rows(cluster, topic)[0].replicas
    away = 9
    client = KazooClient(nodes.zookeeper)
    client.start()
    try:
        client.create("/admin/reassign_partitions", encode_reassignment({(topic, 0): (away, *before)}))
        wait_until(lambda: ReplicaAdmin(cluster).reassignments())
        [row] = [json.loads(line) for line in program(nodes, "reassignments", "--json").splitlines()]
        assert (row["topic"], row["adding"], row["removing"]) == (topic, [away], [])
        assert program(nodes, "reassignments").splitlines()[1].split() == [
            topic, "0", f"{away},{','.join(map(str, before))}", str(away), "-", ",".join(map(str, row["isr"]))
        ]  # fmt: skip
        assert program(nodes, "rebalance", "--cancel") == f"cancelled {topic}-0\n"
        assert program(nodes, "reassignments", "--json") == ""
        wait_until(lambda: client.exists("/admin/reassign_partitions") is None)
    finally:
        client.stop()
        client.close()
    assert rows(cluster, topic)[0].replicas == before


def test_preferred_replicas_lead_when_they_are_asked_to(nodes, cluster):
    topic = create(cluster, 1)
    first, second = rows(cluster, topic)[0].replicas
    ReplicaAdmin(cluster).reassign({TopicPartition(topic, 0): (second, first)})
    wait_until(lambda: rows(cluster, topic)[0].replicas == (second, first))
    assert rows(cluster, topic)[0].leader == first
    assert program(nodes, "elect-leaders", "--topic", topic).endswith(f": {topic}-0\n")
    wait_until(lambda: rows(cluster, topic)[0].leader == second)
    with pytest.raises(KafkaError) as failure:
        raise ReplicaAdmin(cluster).elect([TopicPartition(topic, 7)])[TopicPartition(topic, 7)]
    assert failure.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_another_node_than_the_controller_says_who_is(nodes, cluster):
    others = [broker for broker in cluster.brokers.values() if broker.node_id != cluster.controller_id]
    topic = create(cluster, 1)
    for broker in others:
        connection = cluster.connect(broker.host, broker.port)
        try:
            for key, request, codes in refused_requests(topic):
                assert set(codes(connection.request(key, 0, request))) == {ErrorCode.NOT_CONTROLLER}, key
        finally:
            connection.close()


def refused_requests(topic):
    """(api key, request, its error codes) of what the controller alone answers."""
    alter, list_, elect = (
        messages.AlterPartitionReassignmentsRequest,
        messages.ListPartitionReassignmentsRequest,
        messages.ElectLeadersRequest,
    )
    grow, create_, delete = messages.CreatePartitionsRequest, messages.CreateTopicsRequest, messages.DeleteTopicsRequest
    rows = [alter.ReassignableTopic(topic, [alter.ReassignablePartition(0, [0])])]
    yield ApiKey.ALTER_PARTITION_REASSIGNMENTS, alter(topics=rows), lambda one: [one.error_code]
    yield ApiKey.LIST_PARTITION_REASSIGNMENTS, list_(topics=None), lambda one: [one.error_code]
    yield (
        ApiKey.ELECT_LEADERS,
        elect(topic_partitions=[elect.TopicPartitions(topic, [0])]),
        lambda one: [row.error_code for found in one.replica_election_results for row in found.partition_result],
    )
    yield (
        ApiKey.CREATE_PARTITIONS,
        grow(topics=[grow.CreatePartitionsTopic(topic, 9, None)], timeout_ms=1000),
        lambda one: [row.error_code for row in one.results],
    )
    yield (
        ApiKey.CREATE_TOPICS,
        create_(
            topics=[create_.CreatableTopic(name=f"{topic}-2", num_partitions=1, replication_factor=1)], timeout_ms=1000
        ),
        lambda one: [row.error_code for row in one.topics],
    )
    yield (
        ApiKey.DELETE_TOPICS,
        delete(topic_names=[topic], timeout_ms=1000),
        lambda one: [row.error_code for row in one.responses],
    )

"""Our own producer and consumer where processes die under them."""

import signal
import subprocess
import sys
import threading

import pytest

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import LATEST, Cluster
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from tests.support import children
from tests.support.waiting import DEADLINE_S

RECORDS = 30_000
KILLS = 6
PARTITIONS = 4


def test_every_record_is_there_once_and_in_order_whatever_dies(node_factory):
    node = node_factory("killed", "headrace.network.workers=1", "headrace.partition.workers=2")
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic("t", PARTITIONS)]) == {"t": None}
    seen = {TopicPartition("t", index): [] for index in range(PARTITIONS)}
    failures = []

    def follow():
        """A consumer that reads while all of this happens."""
        ends = dict.fromkeys(seen, RECORDS // PARTITIONS)
        try:
            with Kafka(node.bootstrap) as kafka:
                for records in read_ranges(kafka, dict.fromkeys(seen, 0), ends):
                    seen[records[0].topic_partition] += [int(record.value) for record in records]
        except HeadraceError as failure:
            failures.append(failure)

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    with Kafka(node.bootstrap) as kafka, kafka.producer(batch_size=2_000) as producer:
        for number in range(RECORDS):
            producer.send("t", b"%d" % number, partition=number % PARTITIONS)
            if number % (RECORDS // KILLS) == RECORDS // KILLS // 2:
                role = ("hr-partition-0", "hr-network-0", "hr-partition-1")[number * KILLS // RECORDS % 3]
                node.kill(role)
    assert producer.acknowledged == RECORDS
    with Cluster(node.bootstrap) as cluster:
        cluster.refresh(["t"])
        assert cluster.offsets(dict.fromkeys(seen, LATEST)) == dict.fromkeys(seen, RECORDS // PARTITIONS)
    reader.join(DEADLINE_S)
    assert not failures
    assert seen == {name: list(range(name.partition, RECORDS, PARTITIONS)) for name in seen}


@pytest.fixture
def started():
    """Starts a command that is ended with the test."""
    made = []

    def start(command):
        made.append(children.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return made[-1]

    yield start
    for process in made:
        children.end(process)


def test_a_group_reads_on_whatever_dies_and_its_offsets_are_stored(node_factory, started):
    node = node_factory("group", "headrace.network.workers=1", "headrace.partition.workers=2")
    names = [TopicPartition("t", index) for index in range(PARTITIONS)]
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic("t", PARTITIONS)]) == {"t": None}
    command = [
        sys.executable,
        "-m",
        "headrace.cli.main",
        "consume",
        "t",
        "--group",
        "g",
        "--follow",
        "-b",
        node.bootstrap,
    ]
    reader = started(command)
    seen = set()
    with Kafka(node.bootstrap) as kafka, kafka.producer() as producer:
        for kill in range(KILLS):
            numbers = range(kill * 500, (kill + 1) * 500)
            for number in numbers:
                producer.send("t", b"%d" % number, partition=number % PARTITIONS)
            producer.flush()
            while not seen.issuperset(numbers):
                line = reader.stdout.readline()
                assert line, reader.stderr.read()
                seen.add(int(line))
            node.kill(("hr-partition-0", "hr-network-0", "hr-partition-1")[kill % 3])
    reader.send_signal(signal.SIGINT)
    assert reader.wait(DEADLINE_S) == 130, reader.stderr.read()
    assert reader.stderr.read() == b""
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).group_offsets("g") == dict.fromkeys(names, KILLS * 500 // PARTITIONS)

"""Clusters of real nodes for tests: what a test does to them, with clients of ours and of others."""

import os
import socket
import subprocess
import sys

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import Producer as OtherProducer
from confluent_kafka.admin import AdminClient

from headrace.client.kafka import Kafka
from headrace.errors import ConfigError, ErrorCode, KafkaError
from headrace.shm.region import region_prefix
from headrace.testing.cluster import PREFIX, KafkaCluster, KafkaServer
from headrace.testing.keeper_client import KeeperClient, TestingFailed, keeper
from headrace.testing.processes import children_of, is_alive, title_of
from headrace.testing.settings import settings_of
from tests.support import children
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.process

OTHER_PROCESS = """
import sys
from headrace.testing.cluster import KafkaServer
server = KafkaServer()
server.start()
print(server.directory, *server.pids, flush=True)
sys.stdin.read()
"""


def produce(servers, topic, *values, **options):
    with Kafka(servers) as kafka, kafka.producer() as producer:
        for value in values:
            producer.send(topic, value, **options)


def values(kafka, topic):
    return [one.value for one in kafka.records(topic)]


def regions(directory, nodes):
    prefixes = [region_prefix(node, directory / f"node-{node}" / "logs") for node in range(nodes)]
    return [name for name in os.listdir("/dev/shm") if name.startswith(tuple(prefixes))]


def test_what_was_written_is_read_back_with_its_offsets(kafka, kafka_topic):
    produce(kafka.bootstrap_servers, kafka_topic, b"1", b"2", key=b"k", headers=[("h", b"x")], timestamp_ms=7)
    first, second = kafka.records(kafka_topic)
    assert first == (0, 0, 7, b"k", b"1", (("h", b"x"),))
    assert (second.offset, second.value) == (1, b"2")


def test_a_topic_of_a_test_is_new_and_has_its_name(kafka, kafka_topic):
    assert kafka.records(kafka_topic) == []
    assert kafka_topic.startswith("test_a_topic_of_a_test_is_new_and_has_its_name-")


def test_records_of_a_topic_that_is_not_there_are_an_error(kafka):
    with pytest.raises(KafkaError) as failure:
        kafka.records("nothing")
    assert failure.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_other_clients_write_and_read(kafka, kafka_topic):
    producer = OtherProducer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(kafka_topic, b"of theirs")
    assert producer.flush(DEADLINE_S) == 0
    options = {"group.id": kafka_topic, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, **options})
    consumer.subscribe([kafka_topic])
    assert consumer.poll(DEADLINE_S).value() == b"of theirs"
    consumer.close()


def test_three_nodes_replicate_and_a_node_that_was_killed_comes_back(kafka_cluster):
    kafka = kafka_cluster(3, {"min.insync.replicas": "2"})
    kafka.create_topic("t", 3, 3)
    servers = kafka.bootstrap_servers
    produce(servers, "t", *[b"%d" % number for number in range(9)])
    assert kafka.kill("node", node=1) == 5
    assert kafka.pids[1] == 0
    produce(servers, "t", b"9")
    kafka.restart(1)
    assert kafka.bootstrap_servers == servers
    kafka.kill("node", node=0)
    produce(servers, "t", b"10")
    kafka.restart(0)
    assert sorted(values(kafka, "t"), key=int) == [b"%d" % number for number in range(11)]


@pytest.mark.parametrize("role", ["network", "partition", "controller", "housekeeper"])
def test_a_process_that_was_killed_is_started_again(kafka, kafka_topic, role):
    before = set(children_of(kafka.pids[0]))
    assert kafka.kill(role) == 1
    kafka.wait_ready()
    wait_until(lambda: len(children_of(kafka.pids[0])) == len(before))
    assert len(before - set(children_of(kafka.pids[0]))) == 1
    produce(kafka.bootstrap_servers, kafka_topic, b"after")
    assert values(kafka, kafka_topic) == [b"after"]


def test_a_restart_in_order_keeps_the_records(kafka, kafka_topic):
    produce(kafka.bootstrap_servers, kafka_topic, b"kept")
    before = kafka.bootstrap_servers, kafka.pids
    kafka.restart()
    assert kafka.bootstrap_servers == before[0]
    assert kafka.pids != before[1]
    assert values(kafka, kafka_topic) == [b"kept"]


def test_a_node_that_is_paused_is_silent_and_goes_on(kafka, kafka_topic):
    pids = children_of(kafka.pids[0])
    kafka.pause()
    try:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=0.3)
    finally:
        kafka.resume()
    assert children_of(kafka.pids[0]) == pids
    produce(kafka.bootstrap_servers, kafka_topic, b"after")
    assert values(kafka, kafka_topic) == [b"after"]


def test_a_node_that_is_paused_can_be_stopped():
    kafka = KafkaServer()
    kafka.start()
    directory, pid = kafka.directory, kafka.pids[0]
    kafka.pause()
    kafka.stop()
    assert not is_alive(pid)
    assert regions(directory, 1) == []


def test_cut_closes_the_connections_of_this_process(kafka):
    host, port = kafka.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as connection:
        assert kafka.cut() >= 1
        assert connection.recv(1) == b""


def test_cut_closes_the_connections_of_another_process(kafka):
    host, port = kafka.bootstrap_servers.split(":")
    text = f"import socket; s = socket.create_connection(('{host}', {port})); print('on', flush=True); print(s.recv(1))"
    process = children.start([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "on\n"
    assert kafka.cut(process.pid) == 1
    assert process.stdout.readline() == "b''\n"
    process.wait(DEADLINE_S)
    process.stdout.close()


def test_nothing_is_left_of_clusters_that_were_stopped():
    keeper().begin()
    for kafka in (KafkaServer(), KafkaCluster(2)):
        kafka.start()
        kafka.stop()  # the keeper and our client have opened what they keep
    descriptors = len(os.listdir("/proc/self/fd"))
    keeper_descriptors = len(os.listdir(f"/proc/{keeper().pid}/fd"))
    for cycle in range(4):
        kafka = KafkaServer()
        kafka.start()
        kafka.create_topic("t")
        directory, pids = kafka.directory, [*kafka.pids, *children_of(kafka.pids[0])]
        if cycle % 2:
            kafka.kill("node")
        kafka.stop()
        kafka.stop()
        assert not directory.exists()
        assert regions(directory, 1) == []
        assert not [pid for pid in pids if is_alive(pid)]
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert len(os.listdir(f"/proc/{keeper().pid}/fd")) == keeper_descriptors


def test_nodes_end_with_a_test_process_that_is_killed():
    process = children.start(
        [sys.executable, "-c", OTHER_PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    directory, *pids = process.stdout.readline().split()
    pids = [int(pid) for pid in pids]
    pids += children_of(pids[0])
    assert pids[1:]
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    wait_until(lambda: not any(map(is_alive, pids)))
    wait_until(lambda: not os.path.exists(directory))


def test_a_node_that_can_not_start_says_why():
    kafka = KafkaServer({"headrace.worker.cpus": "9999"})
    with pytest.raises((TestingFailed, ConfigError), match="9999"):
        kafka.start()
    with pytest.raises(TestingFailed, match="is not running"):
        _ = kafka.bootstrap_servers


@pytest.mark.parametrize("key", ["broker.id", "listeners", "log.dirs", "zookeeper.connect"])
def test_what_each_node_has_for_itself_is_refused(key):
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        KafkaServer({key: "1"})


def test_bad_words_and_numbers_are_named(kafka, tmp_path):
    with pytest.raises(ConfigError, match="must be one of network"):
        kafka.kill("broker")
    with pytest.raises(ConfigError, match="must be 0 to 0"):
        kafka.kill("node", node=1)
    with pytest.raises(ConfigError, match="must be 1 to"):
        settings_of(tmp_path, 0, {})


def test_a_node_that_does_not_run_is_named(kafka_cluster):
    kafka = kafka_cluster(1)
    kafka.kill()
    for call in (kafka.kill, kafka.pause, lambda: kafka.kill("network")):
        with pytest.raises(TestingFailed, match="node 0 is not running"):
            call()


def test_a_keeper_that_ended_is_an_error():
    client = KeeperClient()
    with pytest.raises(TestingFailed, match="is not running"):
        _ = client.pid
    client.begin()
    client._process.kill()
    with pytest.raises(TestingFailed, match="has exited"):
        client.ask(do="end", cluster="none")
    client.end()


def test_processes_are_told_by_their_names(kafka):
    titles = sorted(title_of(pid) for pid in children_of(kafka.pids[0]))
    assert titles == ["hr-controlle-0", "hr-housekeep-0", "hr-network-0", "hr-partition-0"]
    assert title_of(0) == ""
    assert str(kafka.directory.name).startswith(PREFIX)


@pytest.mark.heavy
def test_a_hundred_cycles_leave_nothing():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        with KafkaServer() as kafka:
            kafka.create_topic("t")
            produce(kafka.bootstrap_servers, "t", b"1")
            directory = kafka.directory
        assert not directory.exists()
        assert regions(directory, 1) == []
    assert len(os.listdir("/proc/self/fd")) <= before + 3  # the keeper's pipes

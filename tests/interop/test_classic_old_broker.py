"""The classic clients against a broker of Kafka 0.8.2, the oldest that they speak to: no ApiVersions, v0 of most requests."""

import shutil
import socket

import pytest

from headrace.classic.consumer import Consumer
from headrace.classic.discovery import ZooKeeperBrokers, ask_metadata
from headrace.classic.errors import ConsumerTimeout, OffsetOutOfRange
from headrace.classic.producer import Producer, ProducerData
from headrace.classic.simple_consumer import FetchRequest, OffsetRequest, SimpleConsumer
from headrace.classic.sync_producer import SyncProducer
from headrace.client.connection import ConnectionFailed
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.support import children
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop

PARTITIONS = 3


class OldBroker:
    def __init__(self, zookeeper, port):
        self.zookeeper, self.port = zookeeper, port
        self.list = f"127.0.0.1:{port}"


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.fixture(scope="module")
def old_broker(tmp_path_factory):
    if shutil.which("mvn") is None:
        pytest.skip("mvn is needed")
    from bench.peers import jars

    directory = tmp_path_factory.mktemp("kafka-0.8.2")
    classpath = ":".join(map(str, jars("kafka-0.8.2")))
    zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
    zookeeper.start()
    port = free_port()
    settings = {
        "broker.id": 0,
        "port": port,
        "host.name": "127.0.0.1",
        "log.dirs": directory / "logs",
        "zookeeper.connect": zookeeper.connect,
        "log.cleaner.enable": "false",
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": 1,
    }
    (directory / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    with open(directory / "out", "w") as out:
        command = ["java", "-Xmx256m", "-cp", classpath, "kafka.Kafka", str(directory / "server.properties")]
        process = children.start(command, stdout=out, stderr=out)
        try:
            wait_until(lambda: listens(port), (directory / "out").read_text)
            create = ["java", "-cp", classpath, "kafka.admin.TopicCommand", "--create", "--topic", "t"]
            create += ["--partitions", str(PARTITIONS), "--replication-factor", "1", "--zookeeper", zookeeper.connect]
            made = children.start(create, stdout=out, stderr=out)
            assert made.wait() == 0, (directory / "out").read_text()
            wait_until(lambda: is_led(zookeeper.connect), "no leaders")
            yield OldBroker(zookeeper.connect, port)
        finally:
            children.end(process)
            zookeeper.stop()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def is_led(connect):
    """Whether the broker has taken up its partitions, as it says itself."""
    discovery = ZooKeeperBrokers(connect, 6000, 6000)
    try:
        found = ask_metadata(list(discovery.live_brokers().values()), "t", 5000, "")
    except (KafkaError, ConnectionFailed):
        return False
    finally:
        discovery.close()
    return len(found.leaders) == PARTITIONS and min(found.leaders.values()) >= 0


def test_all_of_it(old_broker):
    """Each producer, the simple consumer, groups with offsets in either store."""
    ways = [
        {"broker.list": old_broker.list},
        {"zk.connect": old_broker.zookeeper, "compression.codec": "gzip"},
        {"zk.connect": old_broker.zookeeper, "producer.type": "async", "compression.codec": "snappy"},
    ]
    for place, way in enumerate(ways):
        with Producer({**way, "acks": 1}) as producer:
            producer.send(ProducerData("t", "key", [b"%d-%d" % (place, number) for number in range(5)]))
    with SyncProducer({"host": "127.0.0.1", "port": old_broker.port}) as producer:
        producer.send("t", [b"sync"])
    sent = sorted([b"%d-%d" % (place, number) for place in range(len(ways)) for number in range(5)] + [b"sync"])
    with SimpleConsumer("127.0.0.1", old_broker.port, buffer_size=20) as consumer:
        found = []
        for partition in range(PARTITIONS):
            (offset,) = consumer.get_offsets_before("t", partition, OffsetRequest.EARLIEST_TIME, 1)
            while messages := list(consumer.fetch(FetchRequest("t", partition, offset))):
                found += [one.message.payload for one in messages]
                offset = messages[-1].next_offset
            assert consumer.get_offsets_before("t", partition, OffsetRequest.LATEST_TIME, 1) == [offset]
        assert sorted(found) == sent
        with pytest.raises(OffsetOutOfRange):
            consumer.fetch(FetchRequest("t", 0, 1000))
        first, second = TopicPartition("t", 0), TopicPartition("t", 1)
        for storage in ("zookeeper", "kafka"):
            consumer.commit_offsets("simple", {first: 2}, storage)
            assert consumer.fetch_offsets("simple", [first, second], storage) == {first: 2}
    for storage in ("zookeeper", "kafka"):
        config = {"zk.connect": old_broker.zookeeper, "groupid": storage, "offsets.storage": storage}
        config |= {"autooffset.reset": "smallest", "consumer.timeout.ms": 2000}
        for wanted in (sent, []):
            with Consumer.create(config) as connector:
                (stream,) = connector.create_message_streams({"t": 1})["t"]
                seen = []
                with pytest.raises(ConsumerTimeout):
                    seen.extend(one.message for one in stream)
                assert sorted(seen) == wanted

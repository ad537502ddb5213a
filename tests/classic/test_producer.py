"""The producer against a node: P1, P2, P3, P8 to P14, and compression from end to end (P16)."""

import socket
import threading

import pytest

from headrace.classic.broker_pool import BrokerPool
from headrace.classic.config import ProducerConfig
from headrace.classic.discovery import Address, BrokerList, ZooKeeperBrokers
from headrace.classic.errors import MessageSizeTooLarge, ProducerClosed, SendFailed
from headrace.classic.handlers import ProducerRequest
from headrace.classic.old_brokers import connect
from headrace.classic.partitioner import DefaultPartitioner
from headrace.classic.producer import KeyedMessage, Producer, ProducerData
from headrace.classic.sync_producer import SyncProducer
from headrace.classic.zookeeper import ZooKeeperUnavailable
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.connection import ConnectionFailed
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.errors import ConfigError, ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from tests.support.waiting import wait_until

pytestmark = pytest.mark.process


def read(node, topic, partitions):
    """(key, value) of all records, by partition."""
    with Cluster(node.bootstrap) as cluster:
        names = [TopicPartition(topic, number) for number in range(partitions)]
        cluster.refresh([topic])
        ends = cluster.offsets(dict.fromkeys(names, LATEST))
        starts = cluster.offsets(dict.fromkeys(names, EARLIEST))
    found = {number: [] for number in range(partitions)}
    with Kafka(node.bootstrap) as kafka:
        for records in read_ranges(kafka, starts, ends):
            found[records[0].partition] += [(record.key, record.value) for record in records]
    return found


def values(node, topic, partitions=1):
    return sorted(value for rows in read(node, topic, partitions).values() for _key, value in rows)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("discovery", ["broker.list", "zk.connect"])
def test_one_producer_for_both_types_and_both_ways_to_find_brokers_p1_p11_p12(node, new_topic, kind, discovery):
    topic = new_topic(3)
    where = node.bootstrap if discovery == "broker.list" else node.zookeeper
    config = {discovery: where, "producer.type": kind, "acks": 1, "serializer.class": "kafka.serializer.StringEncoder"}
    with Producer(config) as producer:
        producer.send(ProducerData(topic, "user-1", ["a", "b"]))
        producer.send([ProducerData(topic, "user-2", ["c"]), KeyedMessage(topic, "d", "x", part_key="user-1")])
    found = read(node, topic, 3)
    place = DefaultPartitioner().partition
    expected = {number: [] for number in range(3)}
    expected[place("user-1", 3)] += [(b"user-1", b"a"), (b"user-1", b"b")]
    expected[place("user-2", 3)] += [(b"user-2", b"c")]
    expected[place("user-1", 3)] += [(b"x", b"d")]
    assert found == expected


def test_a_list_of_values_has_one_key_and_a_list_of_data_any_p2(node, new_topic):
    topic = new_topic(1)
    with Producer({"broker.list": node.bootstrap, "acks": 1}) as producer:
        producer.send(ProducerData(topic, None, [b"1", b"2", None]))
        producer.send(ProducerData(topic, b"k", []))
        producer.send([])
    assert read(node, topic, 1)[0] == [(None, b"1"), (None, b"2"), (None, None)]


def test_close_is_final_and_can_be_repeated_p3(node, new_topic):
    topic = new_topic(1)
    producer = Producer({"broker.list": node.bootstrap, "producer.type": "async", "acks": 1})
    producer.send(ProducerData(topic, None, [b"queued"]))
    producer.close()
    producer.close()
    assert values(node, topic) == [b"queued"]
    with pytest.raises(ProducerClosed):
        producer.send(ProducerData(topic, None, [b"late"]))


@pytest.mark.parametrize("codec", ["gzip", "2", "lz4", "zstd"])
def test_compressed_batches_p16(node, new_topic, codec):
    topic, plain = new_topic(1), new_topic(1)
    config = {"broker.list": node.bootstrap, "acks": 1, "compression.codec": codec, "compressed.topics": topic}
    with Producer(config) as producer:
        producer.send(ProducerData(topic, None, [b"x" * 1000] * 10))
        producer.send(ProducerData(plain, None, [b"x" * 1000] * 10))
    assert values(node, topic) == values(node, plain) == [b"x" * 1000] * 10


class Last:
    def partition(self, key, num_partitions):
        return num_partitions - 1


class Beyond:
    def partition(self, key, num_partitions):
        return num_partitions


def test_a_partitioner_of_ones_own_p9(node, new_topic):
    topic = new_topic(4)
    with Producer({"broker.list": node.bootstrap, "acks": 1}, partitioner=Last()) as producer:
        producer.send(ProducerData(topic, "k", [b"v"]))
    assert [len(rows) for rows in read(node, topic, 4).values()] == [0, 0, 0, 1]
    beyond = Producer({"broker.list": node.bootstrap, "partitioner.class": Beyond})
    with beyond, pytest.raises(KafkaError, match=r"chose 4 for .*, which has 4 partitions"):
        beyond.send(ProducerData(topic, "k", [b"v"]))


def test_a_null_key_goes_anywhere_p9(node, new_topic):
    topic = new_topic(2)
    with Producer({"zk.connect": node.zookeeper, "acks": 1}) as producer:
        for _ in range(40):
            producer.send(ProducerData(topic, None, [b"v"]))
    assert all(read(node, topic, 2).values()), "both partitions, but for one run in 2^39"


class Fixed:
    """A discovery that says what it was made with."""

    def __init__(self, leaders, brokers, anywhere=False):
        self._leaders, self._brokers, self._anywhere = leaders, brokers, anywhere
        self.refreshed = 0

    def leaders(self, topic):
        return self._leaders

    def address(self, broker_id):
        return self._brokers.get(broker_id)

    def live_brokers(self):
        return self._brokers

    def is_placed_anywhere(self):
        return self._anywhere

    def refresh(self, topic):
        self.refreshed += 1

    def close(self):
        pass


def pool_of(discovery, **config):
    made = ProducerConfig.of({"broker.list": "a:1", "acks": 1, "retry.backoff.ms": 0, **config})
    return BrokerPool(made, discovery)


def test_an_id_indexes_the_sorted_list_of_partitions_or_of_brokers_and_partitions_p10():
    leaders = {0: 2, 1: 1, 2: 2, 3: 1}
    assert [pool_of(Fixed(leaders, {})).partition_at("t", index) for index in range(4)] == [0, 1, 2, 3]
    by_broker = pool_of(Fixed(leaders, {}), **{"partition.list": "broker"})
    assert [by_broker.partition_at("t", index) for index in range(4)] == [1, 3, 0, 2]


def closed_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_with_a_broker_list_a_send_fails_while_its_broker_is_down_p12(node, new_topic):
    topic = new_topic(1)
    down = Address("127.0.0.1", closed_port())
    fixed = Fixed({0: 0, 1: 1}, {0: Address(*node.address), 1: down}, anywhere=True)
    pool = pool_of(fixed)
    with pytest.raises(SendFailed, match=f"not sent after 4 tries: {topic}-1") as failure:
        pool.multi_send([ProducerRequest(topic, 0, [(None, b"fine")]), ProducerRequest(topic, 1, [(None, b"lost")])])
    assert list(failure.value.failures) == [TopicPartition(topic, 1)]
    assert fixed.refreshed == 3
    assert values(node, topic) == [b"fine"], "what was acknowledged is not sent again"
    pool.close()


def test_with_zookeeper_only_live_partitions_are_chosen_p11(node, new_topic):
    topic = new_topic(1)
    pool = pool_of(Fixed({0: 0, 1: -1}, {0: Address(*node.address)}))
    for _ in range(20):
        pool.multi_send([ProducerRequest(topic, -1, [(None, b"v")])])
    assert len(values(node, topic)) == 20
    pool.close()
    with pytest.raises(SendFailed, match="no partition of t has a live leader"):
        pool_of(Fixed({0: -1}, {})).multi_send([ProducerRequest("t", -1, [(None, b"v")])])


def test_what_can_t_succeed_is_not_tried_again(node, new_topic):
    topic = new_topic(1)
    with (
        Producer({"broker.list": node.bootstrap, "acks": 5}) as producer,
        pytest.raises(SendFailed, match="INVALID_REQUIRED_ACKS"),
    ):
        producer.send(ProducerData(topic, None, [b"v"]))


def test_the_four_watches_p11(node, new_topic):
    """A topic is new; a broker comes and goes; a partition moves: each is seen without another request failing."""
    brokers = ZooKeeperBrokers(node.zookeeper, 6000, 6000)
    (own,) = brokers.live_brokers()
    topic = new_topic(2)
    wait_until(lambda: topic in brokers.topics())
    assert brokers.leaders(topic) == {0: own, 1: own}
    other = ZooKeeperBrokers(node.zookeeper, 6000, 6000)
    other._zookeeper.create("/brokers/ids/4007", b"old-host:elsewhere:1234", True)
    wait_until(lambda: brokers.address(4007) == Address("elsewhere", 1234))
    state = f"/brokers/topics/{topic}/partitions/1/state"
    before = other._zookeeper.get(state)
    other._zookeeper.put(state, before.replace(b'"leader":%d' % own, b'"leader":4007'))
    wait_until(lambda: brokers.leaders(topic)[1] == 4007)
    other._zookeeper.put(state, before)
    other.close()
    wait_until(lambda: brokers.address(4007) is None)
    assert brokers.leaders(topic) == {0: own, 1: own}
    brokers.close()
    with pytest.raises(ZooKeeperUnavailable, match="no connection within 300 ms"):
        ZooKeeperBrokers(f"127.0.0.1:{closed_port()}", 6000, 300)


def test_the_pool_connects_to_brokers_that_come_and_drops_those_that_go_p13(node, new_topic):
    topic = new_topic(1)
    live = {0: Address(*node.address)}
    pool = pool_of(Fixed({0: 0}, live))
    pool.multi_send([ProducerRequest(topic, 0, [(None, b"a")])])
    first = pool._producers[0][1]
    live[0] = Address("localhost", node.address[1])
    pool.multi_send([ProducerRequest(topic, 0, [(None, b"b")])])
    assert pool._producers[0][1] is not first
    with pytest.raises(ProducerClosed):
        first.send(topic, [b"c"])
    assert values(node, topic) == [b"a", b"b"]
    pool.close()


def test_a_sync_producer_needs_one_connection_and_no_list_p14(node, new_topic):
    """As behind a balancer of TCP connections: it is told an address, and finds out what that broker leads."""
    topic = new_topic(3)
    host, port = node.address
    with SyncProducer({"host": host, "port": port, "reconnect.interval": 4}) as producer:
        producer.send(topic, [b"a", (b"k", b"b")])
        first = producer._connection
        producer.send(topic, [b"c", b"d"], partition=2)
        producer.send(topic, [b"e"])
        assert producer._connection is not first, "a balancer may send it elsewhere"
    assert values(node, topic, 3) == [b"a", b"b", b"c", b"d", b"e"]


def test_a_broker_that_leads_nothing_refuses_p14(node, new_topic):
    host, port = node.address
    with SyncProducer({"host": host, "port": port}) as producer:
        with pytest.raises(SendFailed, match="UNKNOWN_TOPIC_OR_PARTITION"):
            producer.send("no-such-topic", [b"a"])
        with pytest.raises(SendFailed, match="UNKNOWN_TOPIC_OR_PARTITION"):
            producer.send(new_topic(1), [b"a"], partition=9)
        with pytest.raises(MessageSizeTooLarge, match=r"max\.message\.size is 1000000"):
            producer.send("t", [b"x" * 1_000_001])
    with pytest.raises(ProducerClosed):
        producer.send("t", [b"a"])
    with pytest.raises(ConfigError, match="host: is required"):
        SyncProducer({"port": 1})
    with SyncProducer({"host": "127.0.0.1", "port": closed_port()}) as producer, pytest.raises(ConnectionFailed):
        producer.send("t", [b"a"])


def test_acks_zero_is_not_waited_for(node, new_topic):
    topic = new_topic(1)
    with Producer({"broker.list": node.bootstrap}) as producer:
        producer.send(ProducerData(topic, None, [b"a"]))
        wait_until(lambda: values(node, topic) == [b"a"])


def test_entries_of_a_broker_list_have_both_forms():
    assert BrokerList(("a:1", "0:b:2", "[::1]:3"), 1000)._addresses == [
        Address("a", 1),
        Address("b", 2),
        Address("::1", 3),
    ]
    for wrong in ("a", "a:", "a:0", "a:x", ":1"):
        with pytest.raises(ConfigError, match="expected host:port, or id:host:port"):
            BrokerList((wrong,), 1000)


def test_a_broker_from_before_api_versions_is_spoken_to_as_0_8_2():
    """It hangs up at the first request, and serves the second connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            for _ in range(2):
                peer, _address = listener.accept()
                with peer:
                    peer.recv(1024)

        serving = threading.Thread(target=serve)
        serving.start()
        connection = connect("127.0.0.1", listener.getsockname()[1], 5000, "")
        assert connection.version(ApiKey.PRODUCE, 0, 9) == 0
        with pytest.raises(KafkaError) as failure:
            connection.version(ApiKey.FETCH, 4, 12)
        assert failure.value.code is ErrorCode.UNSUPPORTED_VERSION
        connection.close()
        serving.join()

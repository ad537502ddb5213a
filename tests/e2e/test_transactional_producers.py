"""Transactions by other people's clients: committed ones are read whole, aborted ones not at all, whoever dies meanwhile."""

import asyncio
import uuid

import aiokafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ADVERTISED, ApiKey
from headrace.testing.cluster import KafkaCluster, KafkaServer
from tests.support.waiting import DEADLINE_S, wait_until


@pytest.fixture
def topic(node):
    name = f"tx-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(DEADLINE_S)
    return name


def producer_of(bootstrap, name, **settings):
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, **settings})
    producer.init_transactions(DEADLINE_S)
    return producer


def consumer_of(bootstrap, *topics):
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"g-{uuid.uuid4().hex[:8]}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe(list(topics))
    return consumer


def read(consumer, count):
    """So many records, and what else is there."""
    found = []
    wait_until(
        lambda: (
            found.extend(one.value() for one in consumer.consume(count, 0.5) if not one.error()) or len(found) >= count
        )
    )
    found += [one.value() for one in consumer.consume(100, 0.5) if not one.error()]
    return sorted(found)


def write(producer, topic, *values):
    producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 3)
    producer.flush(DEADLINE_S)


def test_librdkafka_commits_and_aborts(node, topic):
    producer = producer_of(node.bootstrap, topic)
    write(producer, topic, b"1", b"2", b"3")
    producer.commit_transaction(DEADLINE_S)
    write(producer, topic, b"x", b"y", b"z")
    producer.abort_transaction(DEADLINE_S)
    write(producer, topic, b"4", b"5")
    producer.commit_transaction(DEADLINE_S)
    consumer = consumer_of(node.bootstrap, topic)
    assert read(consumer, 5) == [b"1", b"2", b"3", b"4", b"5"]
    consumer.close()


def test_kafka_python_commits_and_aborts(node, topic):
    producer = KafkaProducer(bootstrap_servers=node.bootstrap, transactional_id=topic)
    producer.init_transactions()
    for value, is_commit in ((b"1", True), (b"x", False), (b"2", True)):
        producer.begin_transaction()
        producer.send(topic, value)
        producer.flush(DEADLINE_S)
        producer.commit_transaction() if is_commit else producer.abort_transaction()
    producer.close()
    consumer = consumer_of(node.bootstrap, topic)
    assert read(consumer, 2) == [b"1", b"2"]
    consumer.close()


def test_aiokafka_commits_and_aborts(node, topic):
    async def run():
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=node.bootstrap, transactional_id=topic)
        await asyncio.wait_for(producer.start(), DEADLINE_S)
        try:
            for value, is_commit in ((b"1", True), (b"x", False), (b"2", True)):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, value)
                await (producer.commit_transaction() if is_commit else producer.abort_transaction())
        finally:
            await producer.stop()

    asyncio.run(run())
    consumer = consumer_of(node.bootstrap, topic)
    assert read(consumer, 2) == [b"1", b"2"]
    consumer.close()


def test_offsets_count_with_their_transaction(node, topic):
    producer = producer_of(node.bootstrap, topic)
    write(producer, topic, b"1", b"2", b"3")
    producer.commit_transaction(DEADLINE_S)
    consumer = consumer_of(node.bootstrap, topic)
    read(consumer, 3)
    place = TopicPartition(topic, 0, 1)
    for offset, is_commit in ((1, True), (0, False)):
        producer.begin_transaction()
        producer.produce(topic, b"copy", partition=1)
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata(), DEADLINE_S
        )
        (producer.commit_transaction if is_commit else producer.abort_transaction)(DEADLINE_S)
        assert consumer.committed([place], DEADLINE_S)[0].offset == 1
    consumer.close()


def test_the_next_producer_of_an_id_fences_the_one_before_and_aborts_its_transaction(node, topic):
    before = producer_of(node.bootstrap, topic)
    write(before, topic, b"x")
    after = producer_of(node.bootstrap, topic)
    with pytest.raises(KafkaException) as raised:
        before.commit_transaction(DEADLINE_S)
    assert raised.value.args[0].code() == KafkaError._FENCED
    write(after, topic, b"1")
    after.commit_transaction(DEADLINE_S)
    consumer = consumer_of(node.bootstrap, topic)
    assert read(consumer, 1) == [b"1"]
    consumer.close()


def test_a_transaction_that_takes_too_long_is_aborted(node, topic):
    producer = producer_of(node.bootstrap, topic, **{"transaction.timeout.ms": 1_000, "message.timeout.ms": 1_000})
    write(producer, topic, b"x")
    other = producer_of(node.bootstrap, f"{topic}-other")
    write(other, topic, b"1")
    other.commit_transaction(DEADLINE_S)
    consumer = consumer_of(node.bootstrap, topic)
    assert read(consumer, 1) == [b"1"], "the open transaction is before it in the same partition"
    consumer.close()


@pytest.mark.parametrize("version", range(1, ADVERTISED[ApiKey.FIND_COORDINATOR][1] + 1))
def test_every_version_of_find_coordinator_names_this_node(node, version):
    connection = Connection(*node.address)
    request = messages.FindCoordinatorRequest(key="t", key_type=1, coordinator_keys=["t"])

    def found():
        answer = connection.request(ApiKey.FIND_COORDINATOR, version, request)
        row = answer.coordinators[0] if version >= 4 else answer
        assert row.error_code in (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return not row.error_code and row.port == node.address[1]

    wait_until(found)
    connection.close()


@pytest.mark.parametrize("role", ["partition", "network", "controller"])
def test_a_transaction_outlives_a_process_of_its_node(role):
    with KafkaServer() as server:
        server.create_topic("t", partitions=3)
        bootstrap = server.bootstrap_servers
        producer = producer_of(bootstrap, "copier")
        write(producer, "t", b"1", b"2", b"3")
        server.kill(role)
        producer.produce("t", b"4", partition=0)
        producer.commit_transaction(DEADLINE_S)
        consumer = consumer_of(bootstrap, "t")
        assert read(consumer, 4) == [b"1", b"2", b"3", b"4"]
        consumer.close()


def test_a_transaction_outlives_its_coordinator_s_node():
    with KafkaCluster(3) as cluster:
        cluster.create_topic("t", partitions=3, replication_factor=3)
        bootstrap = cluster.bootstrap_servers
        producer = producer_of(bootstrap, "copier")
        write(producer, "t", b"1", b"2", b"3")
        cluster.kill("node", node=_coordinator_of(bootstrap, "copier"))
        producer.commit_transaction(3 * DEADLINE_S)
        consumer = consumer_of(bootstrap, "t")
        assert read(consumer, 3) == [b"1", b"2", b"3"]
        consumer.close()


def _coordinator_of(bootstrap, name):
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    connection = Connection(host, int(port))
    request = messages.FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    node_id = connection.request(ApiKey.FIND_COORDINATOR, 4, request).coordinators[0].node_id
    connection.close()
    return node_id

"""Consumer groups of three clients against one node: they subscribe, commit, come back where they were."""

import asyncio
import os
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.waiting import DEADLINE_S, wait_until

SESSION_MS = 60_000  # every member here leaves in order: a slow one must not be thrown out


@pytest.fixture
def topic(node):
    name = f"groups-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(name, 4, 1)])[name].result(DEADLINE_S)
    return name


@pytest.fixture
def group():
    return f"group-{uuid.uuid4().hex[:8]}"


def write(node, topic, values):
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 4)
    assert producer.flush(DEADLINE_S) == 0


def confluent(node, group, **settings):
    return Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500,
            **settings,
        }
    )


def poll_values(consumer, count):
    found, deadline = [], time.monotonic() + 2 * DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        message = consumer.poll(0.2)
        if message is not None:
            assert not message.error(), message.error()
            found.append(message.value())
    return found


def values_of(first, last):
    return [b"%d" % number for number in range(first, last)]


def test_librdkafka_subscribes_commits_and_goes_on(node, topic, group):
    write(node, topic, values_of(0, 40))
    first = confluent(node, group)
    first.subscribe([topic])
    assert sorted(poll_values(first, 40)) == sorted(values_of(0, 40))
    committed = first.commit(asynchronous=False)
    assert {row.partition: row.offset for row in committed} == dict.fromkeys(range(4), 10)
    first.close()
    write(node, topic, values_of(40, 60))
    second = confluent(node, group)
    second.subscribe([topic])
    assert sorted(poll_values(second, 20)) == sorted(values_of(40, 60))
    second.close()


def test_kafka_python_subscribes_commits_and_goes_on(node, topic, group):
    from kafka import KafkaConsumer

    def consume(count):
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=node.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
            consumer_timeout_ms=DEADLINE_S * 1000,
        )
        found = [record.value for _, record in zip(range(count), consumer, strict=False)]
        consumer.commit()
        consumer.close()
        return found

    write(node, topic, values_of(0, 40))
    assert sorted(consume(40)) == sorted(values_of(0, 40))
    write(node, topic, values_of(40, 60))
    assert sorted(consume(20)) == sorted(values_of(40, 60))


def test_aiokafka_subscribes_commits_and_goes_on(node, topic, group):
    import aiokafka

    async def consume(count):
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=node.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
        )
        await consumer.start()
        try:
            found = [(await asyncio.wait_for(consumer.getone(), DEADLINE_S)).value for _ in range(count)]
            await consumer.commit()
            return found
        finally:
            await consumer.stop()

    write(node, topic, values_of(0, 40))
    assert sorted(asyncio.run(consume(40))) == sorted(values_of(0, 40))
    write(node, topic, values_of(40, 60))
    assert sorted(asyncio.run(consume(20))) == sorted(values_of(40, 60))


def test_two_members_share_the_partitions_and_one_takes_over(node, topic, group):
    consumers = [confluent(node, group) for _ in range(2)]
    deadline = time.monotonic() + DEADLINE_S
    for consumer in consumers:
        consumer.subscribe([topic])
    while [len(consumer.assignment()) for consumer in consumers] != [2, 2]:
        assert time.monotonic() < deadline
        for consumer in consumers:
            consumer.poll(0.1)
    held = [{row.partition for row in consumer.assignment()} for consumer in consumers]
    assert held[0] | held[1] == {0, 1, 2, 3}
    consumers[0].close()
    while len(consumers[1].assignment()) != 4:
        assert time.monotonic() < deadline
        consumers[1].poll(0.1)
    consumers[1].close()


def test_a_cooperative_group_keeps_what_it_has_while_another_joins(node, topic, group):
    revoked = []
    first = confluent(node, group, **{"partition.assignment.strategy": "cooperative-sticky"})
    first.subscribe([topic], on_revoke=lambda _consumer, rows: revoked.append({row.partition for row in rows}))
    deadline = time.monotonic() + DEADLINE_S
    while len(first.assignment()) != 4:
        assert time.monotonic() < deadline
        first.poll(0.1)
    second = confluent(node, group, **{"partition.assignment.strategy": "cooperative-sticky"})
    second.subscribe([topic])
    while len(second.assignment()) != 2 or len(first.assignment()) != 2:
        assert time.monotonic() < deadline
        first.poll(0.1)
        second.poll(0.1)
    assert [len(rows) for rows in revoked if rows] == [2], "only what moves is revoked"
    first.close()
    second.close()


def test_committed_offsets_come_back_with_their_metadata(node, topic, group):
    consumer = confluent(node, group)
    consumer.commit(offsets=[TopicPartition(topic, 1, 7, "note ✓")], asynchronous=False)
    found = consumer.committed([TopicPartition(topic, 1), TopicPartition(topic, 2)], timeout=DEADLINE_S)
    assert [(row.offset, row.metadata) for row in found] == [(7, "note ✓"), (-1001, None)]
    consumer.close()


def lags(node, group):
    """The group's lag as shared memory has it, by partition."""
    from headrace.shm.lag_table import LagTable, lags_of
    from headrace.shm.partition_table import PartitionTable
    from headrace.shm.region import SHM_DIRECTORY, Region, region_prefix
    from headrace.shm.view_reader import ClusterViewReader

    prefix = region_prefix(0, node.log_dir)
    names = [name for name in os.listdir(SHM_DIRECTORY) if name.startswith(prefix)]
    regions = {
        what: next(f"/{name}" for name in names if name.endswith(f"-{what}")) for what in ("lag", "view", "partitions")
    }
    table = LagTable(Region.attach(regions["lag"], writable=False))
    view = ClusterViewReader(Region.attach(regions["view"], writable=False))
    partitions = PartitionTable(Region.attach(regions["partitions"], writable=False), 16_384)
    try:
        now_ms = time.time_ns() // 1_000_000
        return {lag.partition: lag for lag in lags_of(table, view.read(), partitions, now_ms) if lag.group == group}
    finally:
        for each in (table, view, partitions):
            each.close()


def test_the_node_itself_knows_the_lag_of_a_group(node, topic, group):
    write(node, topic, values_of(0, 40))
    consumer = confluent(node, group)
    consumer.commit(offsets=[TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 10)], asynchronous=False)

    def looked_up():
        """All rows, once the age of the first unread record is known."""
        found = lags(node, group)
        return found if found.keys() == {0, 1} and found[0].seconds is not None else None

    found = wait_until(looked_up, lambda: lags(node, group))
    assert {index: (lag.committed, lag.end, lag.records) for index, lag in found.items()} == {
        0: (4, 10, 6),
        1: (10, 10, 0),
    }
    assert 0 <= found[0].seconds < 60 * DEADLINE_S
    assert found[1].seconds == 0
    consumer.close()


def test_offsets_that_no_ring_message_holds_come_back_whole(node, topic, group):
    from headrace.client.connection import Connection
    from headrace.protocol import messages
    from headrace.protocol.apis import ApiKey

    metadata = "m" * 4_000
    consumer = confluent(node, group)
    names = [f"{topic}-{number}" for number in range(64)]
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    for made in admin.create_topics([NewTopic(name, 4, 1) for name in names]).values():
        made.result(DEADLINE_S)
    for name in names:
        consumer.commit(offsets=[TopicPartition(name, index, 7, metadata) for index in range(4)], asynchronous=False)
    consumer.close()
    connection = Connection(*node.address)
    answer = connection.request(ApiKey.OFFSET_FETCH, 5, messages.OffsetFetchRequest(group_id=group, topics=None))
    connection.close()
    rows = [row for each in answer.topics for row in each.partitions]
    assert len(rows) == 256, "a MiB of them"
    assert {(row.committed_offset, row.metadata.rstrip("\0")) for row in rows} == {(7, metadata)}  # the client's NUL


def test_clients_do_not_write_internal_topics(node, topic, group):
    consumer = confluent(node, group)
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
    failures = []
    producer = Producer({"bootstrap.servers": node.bootstrap, "message.timeout.ms": 60_000})
    producer.produce(
        "__consumer_offsets", b"x", key=b"k", partition=0, on_delivery=lambda e, _m: failures.append(e.name())
    )
    producer.flush(DEADLINE_S)
    assert failures == ["TOPIC_EXCEPTION"]

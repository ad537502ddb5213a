"""A mirror from and to Apache Kafka: 3.9 in both directions, 0.10.2 with its sets of v1, two sources into one target, other counts.

Transactions come from librdkafka: what was aborted is not copied, and what was committed is no transaction at the target.
"""

import contextlib
import time
from functools import partial
from typing import ClassVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bench import nodes
from bench.nodes import Kafka
from bench.peers import jars
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.ids import TopicPartition as Name
from headrace.mirror.journal import Journal
from tests.support.mirror_process import MirrorProcess, contents, records_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

TIMES_MS = 1_700_000_000_000


class OldKafka(Kafka):
    """Apache Kafka 0.10.2."""

    name = "kafka-0.10.2"
    profile: ClassVar[str] = "kafka-0.10.2"

    def start_broker(self):
        before = nodes.jars
        nodes.jars = lambda _profile: jars(self.profile)
        try:
            super().start_broker()
        finally:
            nodes.jars = before


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    server = Kafka(
        tmp_path_factory.mktemp("kafka-3.9"), {"offsets.topic.num.partitions": "2", "log.retention.hours": "-1"}
    )
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(server.stop)
        server.start()
        yield server


@pytest.fixture(scope="module")
def old_kafka(tmp_path_factory):
    settings = {"offsets.topic.num.partitions": "2", "log.retention.hours": "-1", "auto.create.topics.enable": "false"}
    server = OldKafka(tmp_path_factory.mktemp("kafka-0.10.2"), settings)
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(server.stop)
        server.start()
        yield server


def create(bootstrap, topic, partitions=1, **configs):
    with Cluster(bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(topic, partitions, 1, configs)]) == {topic: None}


def produce(bootstrap, topic, numbers, **settings):
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **settings})
    headers = settings.get("enable.idempotence", True)
    for number in numbers:
        given = {"headers": [("n", b"%d" % number)]} if headers else {}
        producer.produce(topic, b"%d" % number, b"k%d" % (number % 7), timestamp=TIMES_MS + number, **given)
        producer.poll(0)
    assert producer.flush(30) == 0


def mirror(tmp_path, sources, target, topic, **settings):
    return MirrorProcess(tmp_path / "mirror", sources, target, mirror_topics_whitelist=topic, **settings)


def check_equal(source, target, topic):
    there, here = records_of(source, topic, is_read_committed=True), records_of(target, topic)
    assert {index: contents(rows) for index, rows in here.items()} == {
        index: contents(rows) for index, rows in there.items()
    }
    with Cluster(target) as cluster:
        cluster.refresh(None)
        journal = Journal(cluster, lambda lane: lane.topic == topic, lambda: 0, "")
        journal.read()
    for lane, notes in journal.lanes.items():
        for old, new in zip(there[lane.partition], here[lane.partition], strict=True):
            assert notes.translation.translate(old.offset) == new.offset, (lane, old.offset)
    return sum(map(len, here.values()))


def check_by_key(source, target, topic):
    """Each record is there once, in order for each pair of partitions. returns   partition of the target -> keys in it"""
    there, here = records_of(source, topic, is_read_committed=True), records_of(target, topic)
    place = {one.value: (index, one) for index, rows in there.items() for one in rows}
    assert sorted(one.value for rows in here.values() for one in rows) == sorted(place)
    for rows in here.values():
        old = [place[one.value] for one in rows]
        assert contents(rows) == contents([one for _index, one in old])
        for partition in there:
            offsets = [one.offset for index, one in old if index == partition]
            assert offsets == sorted(offsets)
    return {index: {one.key for one in rows} for index, rows in here.items()}


def keys_of_a_java_producer(bootstrap, topic, count):
    """Where librdkafka puts the same keys, with Java's partitioner."""
    create(bootstrap, f"{topic}-java", count)
    produce(bootstrap, f"{topic}-java", range(100), partitioner="murmur2_random")
    return {index: {one.key for one in rows} for index, rows in records_of(bootstrap, f"{topic}-java").items()}


def batches_of(bootstrap, topic, codec, count):
    """Functions that write 2,000 records each."""
    return [
        partial(produce, bootstrap, topic, range(first, first + 2_000), **{"compression.type": codec})
        for first in range(0, 2_000 * count, 2_000)
    ]


def run_with_kills(one, produced):
    """Records come while it is killed; then it catches up."""
    for numbers in produced:
        one.start()
        numbers()
        time.sleep(1.0)
        one.kill()
    assert one.finish() == 0, one.log()


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd", "gzip", "snappy"])
def test_kafka_into_a_node(tmp_path, kafka, node, topic, codec):
    create(kafka.bootstrap, topic, 2)
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    run_with_kills(one, batches_of(kafka.bootstrap, topic, codec, count=2))
    assert check_equal(kafka.bootstrap, node.bootstrap, topic) == 4_000


def test_a_node_into_kafka(tmp_path, kafka, node, topic):
    create(node.bootstrap, topic, 2)
    one = mirror(tmp_path, [node.bootstrap], kafka.bootstrap, topic)
    run_with_kills(one, batches_of(node.bootstrap, topic, "lz4", count=3))
    assert check_equal(node.bootstrap, kafka.bootstrap, topic) == 6_000


def test_aborted_transactions_stay_behind_and_offsets_are_exact(tmp_path, kafka, node, topic):
    create(kafka.bootstrap, topic)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for number in range(30):
        producer.begin_transaction()
        for index in range(5):
            producer.produce(topic, b"%d %d" % (number, index), timestamp=TIMES_MS)
        producer.flush(30)
        if number % 3:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    assert one.finish() == 0, one.log()
    assert check_equal(kafka.bootstrap, node.bootstrap, topic) == 100


def test_a_compacted_topic(tmp_path, kafka, node, topic):
    settings = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    create(kafka.bootstrap, topic, 1, **settings)
    for first in range(0, 400, 100):
        produce(kafka.bootstrap, topic, range(first, first + 100))
        time.sleep(0.3)  # so that the segment is old enough to roll
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    deadline = time.monotonic() + 60
    while len(records_of(kafka.bootstrap, topic)[0]) == 400 and time.monotonic() < deadline:
        time.sleep(0.5)  # the cleaner looks each 15 seconds
    assert one.finish() == 0, one.log()
    assert check_equal(kafka.bootstrap, node.bootstrap, topic) < 400


def test_log_append_time_becomes_the_records_own(tmp_path, kafka, node, topic):
    create(kafka.bootstrap, topic, 1, **{"message.timestamp.type": "LogAppendTime"})
    produce(kafka.bootstrap, topic, range(100))
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    assert one.finish() == 0, one.log()
    assert check_equal(kafka.bootstrap, node.bootstrap, topic) == 100


@pytest.mark.parametrize("codec", ["none", "lz4", "gzip"])
def test_sets_of_kafka_0_10_become_batches(tmp_path, old_kafka, node, topic, codec):
    create(old_kafka.bootstrap, topic, 2)
    settings = {"enable.idempotence": False, "compression.type": codec}
    one = mirror(tmp_path, [old_kafka.bootstrap], node.bootstrap, topic)
    run_with_kills(one, [lambda: produce(old_kafka.bootstrap, topic, range(1_000), **settings)])
    assert check_equal(old_kafka.bootstrap, node.bootstrap, topic) == 1_000


def test_a_node_into_kafka_0_10_at_least_once(tmp_path, old_kafka, node, topic):
    create(node.bootstrap, topic)
    produce(node.bootstrap, topic, range(500), **{"enable.idempotence": True})
    one = mirror(tmp_path, [node.bootstrap], old_kafka.bootstrap, topic)
    assert one.finish() == 0, one.log()
    there, here = records_of(node.bootstrap, topic)[0], records_of(old_kafka.bootstrap, topic)[0]
    assert [row[:3] for row in contents(here)] == [row[:3] for row in contents(there)]


def test_two_sources_into_one(tmp_path, kafka, node, node_factory, topic):
    other = node_factory("other", "headrace.network.workers=1", "headrace.partition.workers=1")
    for number, bootstrap in enumerate((kafka.bootstrap, node.bootstrap)):
        create(bootstrap, topic)
        produce(bootstrap, topic, range(1_000 * number, 1_000 * number + 1_000))
    one = mirror(tmp_path, [kafka.bootstrap, node.bootstrap], other.bootstrap, topic)
    assert one.finish() == 0, one.log()
    values = [int(record.value) for record in records_of(other.bootstrap, topic)[0]]
    assert [value for value in values if value < 1_000] == list(range(1_000))
    assert [value for value in values if value >= 1_000] == list(range(1_000, 2_000))


def test_a_group_of_librdkafka_continues_at_the_next_record(tmp_path, kafka, node, topic):
    create(kafka.bootstrap, topic)
    produce(kafka.bootstrap, topic, range(100))
    settings = {"group.id": topic, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, **settings})
    consumer.commit(offsets=[TopicPartition(topic, 0, 37)], asynchronous=False)
    consumer.close()
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    assert one.finish() == 0, one.log()
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).group_offsets(topic) == {Name(topic, 0): 37}


def test_kafka_into_a_node_by_key(tmp_path, kafka, node, topic):
    create(kafka.bootstrap, topic, 3)
    create(node.bootstrap, topic, 5)
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    run_with_kills(one, batches_of(kafka.bootstrap, topic, "zstd", count=3))
    assert check_by_key(kafka.bootstrap, node.bootstrap, topic) == keys_of_a_java_producer(node.bootstrap, topic, 5)


def test_a_node_into_kafka_by_key(tmp_path, kafka, node, topic):
    create(node.bootstrap, topic, 5)
    create(kafka.bootstrap, topic, 3)
    one = mirror(tmp_path, [node.bootstrap], kafka.bootstrap, topic, mirror_partitioner="key")
    run_with_kills(one, batches_of(node.bootstrap, topic, "lz4", count=3))
    assert check_by_key(node.bootstrap, kafka.bootstrap, topic) == keys_of_a_java_producer(kafka.bootstrap, topic, 3)


def test_a_compacted_topic_by_key(tmp_path, kafka, node, topic):
    settings = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    create(kafka.bootstrap, topic, 1, **settings)
    create(node.bootstrap, topic, 2)
    one = mirror(tmp_path, [kafka.bootstrap], node.bootstrap, topic)
    for first in range(0, 400, 100):
        produce(kafka.bootstrap, topic, range(first, first + 100))
        time.sleep(0.3)  # so that the segment is old enough to roll
    deadline = time.monotonic() + 60
    while len(records_of(kafka.bootstrap, topic)[0]) == 400 and time.monotonic() < deadline:
        time.sleep(0.5)  # the cleaner looks each 15 seconds
    assert one.finish() == 0, one.log()
    check_by_key(kafka.bootstrap, node.bootstrap, topic)


def test_a_target_that_can_not_grow_is_written_by_key(tmp_path, old_kafka, node, topic):
    create(node.bootstrap, topic, 3)
    create(old_kafka.bootstrap, topic, 2)  # it has no CreatePartitions
    produce(node.bootstrap, topic, range(500), **{"enable.idempotence": True})
    one = mirror(tmp_path, [node.bootstrap], old_kafka.bootstrap, topic)
    assert one.finish() == 0, one.log()
    assert "partitioner=key" in one.log()
    values = sorted(int(record.value) for rows in records_of(old_kafka.bootstrap, topic).values() for record in rows)
    assert values == list(range(500))


def test_sets_of_kafka_0_10_by_key(tmp_path, old_kafka, node, topic):
    create(old_kafka.bootstrap, topic, 2)
    create(node.bootstrap, topic, 3)
    settings = {"enable.idempotence": False, "compression.type": "gzip"}
    one = mirror(tmp_path, [old_kafka.bootstrap], node.bootstrap, topic)
    run_with_kills(one, [lambda: produce(old_kafka.bootstrap, topic, range(1_000), **settings)])
    assert check_by_key(old_kafka.bootstrap, node.bootstrap, topic) == keys_of_a_java_producer(node.bootstrap, topic, 3)

"""A plan of Spark's against a real node: the topic goes and comes back under it, its bytes rot."""

import uuid
from dataclasses import replace

import pyarrow as pa
import pytest

from headrace.arrow.errors import CorruptRange, TopicRecreated
from headrace.arrow.local_range import local_directory
from headrace.arrow.planner import plan
from headrace.arrow.ranges import read_range
from headrace.arrow.scan_options import ScanOptions
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.errors import KafkaError
from tests.support.waiting import wait_until


@pytest.fixture
def topic():
    return f"clicks-{uuid.uuid4().hex[:8]}"


def create(node, topic, records):
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(topic, 1)]) == {topic: None}
    with Kafka(node.bootstrap) as kafka, kafka.producer() as producer:
        for number in range(records):
            producer.send(topic, b"value-%06d" % number)


def is_gone(node, topic):
    with Cluster(node.bootstrap) as cluster:
        try:
            return topic not in cluster.refresh([topic])
        except KafkaError:
            return True


def values(one):
    return pa.Table.from_batches(read_range(one, ("value",)))["value"].to_pylist()


def test_offsets_of_a_topic_that_was_deleted_and_created_again_are_refused(node, topic):
    create(node, topic, 100)
    (one,) = plan(ScanOptions(node.bootstrap, (topic,)))
    assert (one.end, len(one.topic_id)) == (100, 32)
    assert local_directory(one) is not None
    assert len(values(one)) == len(values(replace(one, replicas=()))) == 100
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).delete_topics([topic]) == {topic: None}
    assert wait_until(lambda: is_gone(node, topic))
    create(node, topic, 300)
    for way in (one, replace(one, replicas=())):  # from the files, over the network
        with pytest.raises(TopicRecreated, match=f"{topic}-0: the topic was deleted and created again"):
            values(way)
    (again,) = plan(ScanOptions(node.bootstrap, (topic,)))
    assert again.topic_id != one.topic_id
    assert len(values(again)) == 300


def test_a_bit_that_flipped_on_the_disk_is_found(node, topic):
    create(node, topic, 100)
    (one,) = plan(ScanOptions(node.bootstrap, (topic,)))
    path = local_directory(one) / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"value-000050")] ^= 1
    with open(path, "r+b") as file:
        file.write(data)
    with pytest.raises(CorruptRange, match=rf"{topic}-0: the batch at offset \d+ \({path}, byte \d+\) is corrupt"):
        values(one)

"""A stream's plans against a real node: partitions that come, a topic that goes and comes back, a group that follows."""

import uuid

import pyarrow as pa
import pytest

from headrace.arrow.errors import DataLoss
from headrace.arrow.ranges import read_range
from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.client.kafka import Kafka
from headrace.errors import KafkaError
from headrace.ids import TopicPartition
from headrace.spark.stream_options import parse_stream_options
from headrace.spark.stream_planner import StreamPlanner
from tests.support.waiting import wait_until


@pytest.fixture
def topic():
    return f"clicks-{uuid.uuid4().hex[:8]}"


def produce(node, topic, partition, records):
    with Kafka(node.bootstrap) as kafka, kafka.producer() as producer:
        for number in range(records):
            producer.send(topic, b"value-%06d" % number, partition=partition)


def create(node, topic):
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_topics([NewTopic(topic, 1)]) == {topic: None}


def is_gone(node, topic):
    with Cluster(node.bootstrap) as cluster:
        try:
            return topic not in cluster.refresh([topic])
        except KafkaError:
            return True


def rows_of(ranges):
    return sum(pa.Table.from_batches(read_range(one, ("value",))).num_rows for one in ranges)


def test_a_stream_through_the_life_of_its_topic(node, topic):
    create(node, topic)
    produce(node, topic, 0, 100)
    options = {"kafka.bootstrap.servers": node.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    group = f"follows-{topic}"
    planner = StreamPlanner(parse_stream_options({**options, "headrace.commit.group": group}))
    first, new = TopicPartition(topic, 0), TopicPartition(topic, 1)
    start = planner.initial()
    end = planner.latest(start, is_limited=True, limit=40)
    assert end == {first: 40}
    assert rows_of(planner.ranges(start, end)) == 40
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).create_partitions({topic: 2}) == {topic: None}
    produce(node, topic, 1, 7)
    after = planner.latest(end, is_limited=False)
    assert after == {first: 100, new: 7}
    assert rows_of(planner.ranges(end, after)) == 67
    planner.commit(after)
    with Cluster(node.bootstrap) as cluster:
        assert Admin(cluster).group_offsets(group) == after
        assert Admin(cluster).delete_topics([topic]) == {topic: None}
    assert wait_until(lambda: is_gone(node, topic))
    create(node, topic)
    produce(node, topic, 0, 300)
    with pytest.raises(DataLoss, match=f"{topic} was deleted and created again while the stream ran"):
        planner.latest(after, is_limited=False)
    restarted = StreamPlanner(parse_stream_options(options))
    with pytest.raises(DataLoss, match=f"{topic}-1 no longer exist: records may be lost"):
        restarted.ranges(after, restarted.latest(after, is_limited=False))

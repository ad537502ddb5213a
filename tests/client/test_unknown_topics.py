"""A topic that is not there, or not any more, ends a consumer without a group by name."""

import pytest

from headrace.client.kafka import Kafka
from headrace.errors import ErrorCode, KafkaError
from headrace.testing.cluster import KafkaCluster

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def cluster():
    with KafkaCluster(1) as running:
        yield running


def polls_until_it_fails(consumer):
    def poll():
        for _ in range(30):
            consumer.poll(1.0)

    with pytest.raises(KafkaError, match="does not exist on any broker") as failed:
        poll()
    assert failed.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_was_never_there(cluster):
    with Kafka(cluster.bootstrap_servers) as kafka, kafka.consumer("never") as consumer:
        polls_until_it_fails(consumer)


def test_a_topic_that_was_deleted(cluster):
    cluster.create_topic("gone", partitions=2)
    with Kafka(cluster.bootstrap_servers) as kafka, kafka.consumer("gone", start="earliest") as consumer:
        with kafka.producer() as producer:
            producer.send("gone", b"value").result(30)
        assert [record.value for record in consumer.poll(30)] == [b"value"]
        cluster.delete_topic("gone")
        polls_until_it_fails(consumer)

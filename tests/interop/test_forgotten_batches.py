"""What an Apache Kafka broker forgets of an idempotent producer's last batches when it is stopped and started: all but one.

A producer has five batches in flight. Where all of them are in the log and none was acknowledged (a connection was cut), it sends the
first one again. A broker that was not restarted knows it; one that was has read its snapshot, which has each producer's last batch
alone, and answers OUT_OF_ORDER_SEQUENCE_NUMBER: librdkafka ends with a fatal error then ("sequence desynchronization"), and an
Apache Kafka broker logs an ERROR. Seen in campaigns of mixed clusters; a Kafka broker alone does so. A Headrace node reads the batches
of its log again.

The other way to the same: a producer that a broker does not know may begin with any sequence (KIP-360). Where its first batch was
refused and its second one is taken, the first one is out of order for ever. Headrace refuses the second one too.
"""

import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch
from tests.interop.mixed_cluster import KINDS, MixedCluster

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

TOPIC = "t"
BATCHES = 5
PRODUCE_VERSION = 7
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.fixture
def cluster(tmp_path, request):
    running = MixedCluster(tmp_path, request.param)
    try:
        running.start()
        yield running
    finally:
        running.close()


def create(cluster, replicas, **configs):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    wanted = NewTopic(TOPIC, 1, replica_assignment=[replicas], config=configs)
    admin.create_topics([wanted])[TOPIC].result(60)
    cluster.wait_until_whole()


def produce(cluster, sequence, leader=1, producer_id=4711):
    """One batch of one record; (error, base offset)."""
    connection = Connection("127.0.0.1", cluster.members[leader].port, timeout_s=20)
    try:
        batch = build_batch(
            [(None, b"%d" % sequence)],
            timestamp_ms=int(time.time() * 1000),  # an old one has Kafka forget the producer as it starts
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
        )
        data = messages.ProduceRequest.TopicProduceData(
            name=TOPIC, partition_data=[messages.ProduceRequest.PartitionProduceData(index=0, records=batch)]
        )
        request = messages.ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        [topic] = connection.request(ApiKey.PRODUCE, PRODUCE_VERSION, request).responses
        [row] = topic.partition_responses
        return ErrorCode(row.error_code), row.base_offset
    finally:
        connection.close()


@pytest.mark.parametrize("cluster", [[kind] for kind in KINDS], indirect=True, ids=KINDS)
def test_a_kafka_broker_that_was_restarted_knows_the_last_batch_of_a_producer_alone(cluster):
    create(cluster, [1], **{"min.insync.replicas": "1"})
    for sequence in range(BATCHES):
        assert produce(cluster, sequence) == (ErrorCode.NONE, sequence)
    assert produce(cluster, 0) == (ErrorCode.NONE, 0), "a repetition"
    cluster.stop_one(1)
    cluster.start_one(1)
    cluster.wait_until_whole()
    assert produce(cluster, BATCHES - 1) == (ErrorCode.NONE, BATCHES - 1)
    again = produce(cluster, 0)
    assert again[0] == OUT_OF_ORDER if cluster.members[1].kind == "kafka" else again == (ErrorCode.NONE, 0)
    assert produce(cluster, BATCHES) == (ErrorCode.NONE, BATCHES), "what was in flight and comes next is taken"


@pytest.mark.parametrize("cluster", [[kind] * 2 for kind in KINDS], indirect=True, ids=KINDS)
def test_a_producer_whose_first_batch_was_refused_begins_with_its_second_at_a_kafka_broker_alone(cluster):
    create(cluster, [1, 2], **{"min.insync.replicas": "2"})
    cluster.stop_one(2)
    cluster.wait_until(lambda: cluster.state(TOPIC, 0)["isr"] == [1], "the ISR did not shrink")
    cluster.wait_until(lambda: produce(cluster, 0)[0] == ErrorCode.NOT_ENOUGH_REPLICAS, "not refused")
    cluster.start_one(2)
    cluster.wait_until_whole()
    is_kafka = cluster.members[1].kind == "kafka"
    assert produce(cluster, 1)[0] == (ErrorCode.NONE if is_kafka else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert produce(cluster, 0)[0] == (OUT_OF_ORDER if is_kafka else ErrorCode.NONE)

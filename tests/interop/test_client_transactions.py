"""Transactions of our client against Apache Kafka's servers from 0.11 to 4.1: what counts, who is fenced, copies."""

import pytest

from headrace.client import Kafka, KafkaProducer, Output, ProducerFenced, TransactionAbortable, transform
from headrace.ids import TopicPartition
from tests.interop.kafka_servers import RELEASES, serve
from tests.interop.test_client_servers import wait_for_broker

pytestmark = pytest.mark.interop
RECORDS = 200
HAS_MEMBERS = ("kafka-2.8", "kafka", "kafka-4.1")  # in TxnOffsetCommit


@pytest.fixture(scope="module", params=RELEASES[1:])
def server(request, tmp_path_factory):
    with serve(request.param, tmp_path_factory.mktemp(request.param)) as bootstrap, Kafka(bootstrap) as kafka:
        wait_for_broker(kafka)
        with kafka.admin() as admin:
            for topic in ("source", "target"):
                admin.create_topic(topic, partitions=2, replication_factor=1)
        with kafka.producer() as plain:
            plain.send_many("source", [b"%d" % one for one in range(RECORDS)], partition=0)
        yield request.param, kafka


def read(kafka, topic, count):
    found = []
    with kafka.consumer(topic, start="earliest", isolation_level="read_committed") as consumer:
        while len(found) < count:
            found += [record.value for record in consumer.poll(5.0)]
        return found + [record.value for record in consumer.poll(0.5)]


def test_transactions_of_each_release(server):
    release, kafka = server
    producer: KafkaProducer = kafka.producer(transactional_id="by hand")
    producer.init_transactions()
    for value, is_commit in ((b"1", True), (b"x", False), (b"2", True)):
        producer.begin_transaction()
        producer.send("target", value, partition=1)
        producer.flush()
        producer.send_offsets_to_transaction({TopicPartition("source", 1): int(is_commit)}, "by hand")
        producer.commit_transaction() if is_commit else producer.abort_transaction()
    after = kafka.producer(transactional_id="by hand")
    after.init_transactions()
    producer.begin_transaction()
    producer.send("target", b"y", partition=1)
    with pytest.raises((ProducerFenced, TransactionAbortable)):
        producer.commit_transaction()
    assert read(kafka, "target", 2) == [b"1", b"2"], release


def test_a_copy_of_each_release(server):
    release, kafka = server
    with (
        kafka.producer(transactional_id="copier") as producer,
        kafka.consumer("source", group="copier", delivery="transactional", start="earliest") as consumer,
    ):
        producer.init_transactions()
        copied = transform(
            consumer, producer, lambda record: Output("target", record.value, partition=0), max_records=50
        )
        if release not in HAS_MEMBERS:
            with pytest.raises(TransactionAbortable, match="TxnOffsetCommit v3"):
                list(copied)
            return
        done = 0
        for count in copied:
            done += count
            if done >= RECORDS:
                break
    found = sorted(read(kafka, "target", RECORDS + 2))
    assert found == sorted([b"1", b"2"] + [b"%d" % one for one in range(RECORDS)])

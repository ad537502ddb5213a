"""Transactions in a cluster of both kinds: either kind coordinates, either kind leads the data, and members change places in between.

Ids are chosen so that every partition of `__transaction_state` coordinates some; the topic's partitions are led by all members. So
each way between the kinds is gone: AddPartitionsToTxn of a data leader to a coordinator (KIP-890), markers of a coordinator to a
leader, offsets to a group's coordinator.
"""

import signal
import uuid

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.ids import TRANSACTIONS_TOPIC, coordinator_partition
from tests.interop.mixed_cluster import MixedCluster
from tests.support.waiting import wait_until

PARTITIONS = 3  # of the topic, and of `__transaction_state`
CALL_S = 20


@pytest.fixture(params=[("kafka", "headrace", "kafka"), ("headrace", "kafka", "headrace")], ids="-".join)
def cluster(request, tmp_path):
    cluster = MixedCluster(tmp_path, request.param)
    cluster.start()
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic("t", PARTITIONS, 3)])["t"].result(60)
    cluster.wait_until_whole()
    yield cluster
    cluster.close()


def ids():
    """A transactional id for each partition of `__transaction_state`."""
    found = {}
    while len(found) < PARTITIONS:
        name = f"tx-{uuid.uuid4().hex[:6]}"
        found.setdefault(coordinator_partition(name, PARTITIONS), name)
    return [found[index] for index in sorted(found)]


def producer_of(cluster, name):
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": name,
            "metadata.recovery.strategy": "none",
            "retry.backoff.ms": 50,
        }
    )
    finish(lambda: producer.init_transactions(CALL_S))
    return producer


def finish(call):
    """However often it has to be repeated."""

    def is_done():
        try:
            call()
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
            return False
        return True

    wait_until(is_done)


def write(producer, *values):
    """A record to every partition for each value."""
    producer.begin_transaction()
    for value in values:
        for partition in range(PARTITIONS):
            producer.produce("t", value, partition=partition)


def committed(cluster, count):
    """What is read committed of each partition: so many records, and what else is there."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": uuid.uuid4().hex, "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition("t", partition, 0) for partition in range(PARTITIONS)])
    found = {partition: [] for partition in range(PARTITIONS)}

    def take():
        for record in consumer.consume(500, 0.5):
            if record.error() is None:
                found[record.partition()].append(record.value())
        return all(len(values) >= count for values in found.values())

    wait_until(take)
    take()
    consumer.close()
    return {partition: sorted(values) for partition, values in found.items()}


@pytest.mark.interop
def test_either_kind_coordinates_and_either_kind_leads(cluster):
    wanted = []
    for name in ids():
        producer = producer_of(cluster, name)
        for number, is_commit in enumerate((True, False, True)):
            value = f"{name}-{number}".encode()
            write(producer, value)
            finish(lambda p=producer, c=is_commit: (p.commit_transaction if c else p.abort_transaction)(CALL_S))
            wanted += [value] if is_commit else []
    assert {cluster.state(TRANSACTIONS_TOPIC, index)["leader"] for index in range(PARTITIONS)} == {1, 2, 3}
    assert committed(cluster, len(wanted)) == dict.fromkeys(range(PARTITIONS), sorted(wanted))


@pytest.mark.interop
def test_offsets_count_with_their_transactions_on_either_kind(cluster):
    for name in ids():
        producer = producer_of(cluster, name)
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": name, "auto.offset.reset": "earliest"})
        place = TopicPartition("t", 0)
        for offset, is_commit in ((5, True), (3, False)):
            producer.begin_transaction()
            producer.produce("t", b"copy", partition=1)
            finish(
                lambda p=producer, c=consumer, o=offset: p.send_offsets_to_transaction(
                    [TopicPartition("t", 0, o)], c.consumer_group_metadata(), CALL_S
                )
            )
            finish(lambda p=producer, c=is_commit: (p.commit_transaction if c else p.abort_transaction)(CALL_S))
            wait_until(lambda c=consumer, p=place: c.committed([p], CALL_S)[0].offset == 5)
        consumer.close()


@pytest.mark.interop
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["in order", "killed"])
def test_members_change_places_while_transactions_are_open(cluster, number):
    producers = {name: producer_of(cluster, name) for name in ids()}
    for name, producer in producers.items():
        write(producer, f"{name}-open".encode())
        assert producer.flush(60) == 0
    for member in cluster.members.values():
        other = "headrace" if member.kind == "kafka" else "kafka"
        cluster.swap(member.broker_id, other, number)
        cluster.wait_until_whole()
    for producer in producers.values():
        finish(lambda p=producer: p.commit_transaction(CALL_S))
    wanted = sorted(f"{name}-open".encode() for name in producers)
    assert committed(cluster, len(wanted)) == dict.fromkeys(range(PARTITIONS), wanted)

"""One log directory, two brokers: the offsets that Headrace wrote Apache Kafka returns, and the other way round."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

pytestmark = pytest.mark.interop

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = {"offsets.topic.num.partitions": "8", "group.initial.rebalance.delay.ms": "0"}
TOPIC = "work"
GROUPS = [f"group-{number}" for number in range(20)]


def commit(bootstrap, first):
    """Commits of many groups, some of them twice, one deleted; returns what has to be there."""
    wanted = {}
    for number, group in enumerate(GROUPS):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        for offset in (first, first + number):
            row = TopicPartition(TOPIC, 0, offset, f"note {number} ✓")
            consumer.commit(offsets=[row], asynchronous=False)
        wanted[group] = (first + number, f"note {number} ✓")
        consumer.close()
    return wanted


def committed(bootstrap):
    found = {}
    for group in GROUPS:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        (row,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=30)
        found[group] = (row.offset, row.metadata)
        consumer.close()
    return found


def consume(bootstrap, count):
    """A member of a group reads and commits; the group itself goes into the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "members",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    found = [consumer.poll(30).value() for _ in range(count)]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def write(bootstrap, values):
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(TOPIC, value, partition=0)
    assert producer.flush(20) == 0


def test_offsets_survive_the_change_of_brokers_in_both_directions(tmp_path, tools):
    from bench.groups import wait_for_coordinators
    from bench.nodes import Headrace, Kafka

    values = [b"%d" % number for number in range(30)]
    ours = Headrace(tmp_path, SETTINGS)
    ours.start()
    try:
        write(ours.bootstrap, values)
        wanted = commit(ours.bootstrap, 100)
        assert consume(ours.bootstrap, 10) == values[:10]
    finally:
        ours.stop()
    logs = sorted((tmp_path / "logs").glob("__consumer_offsets-*/*.log"))
    dumped = tools.dump(*logs, options=("--offsets-decoder", "--print-data-log"))
    assert "note 19" in dumped
    assert '"protocolType":"consumer"' in dumped
    theirs = Kafka(tmp_path, SETTINGS)
    theirs.start()
    try:
        wait_for_coordinators(theirs.bootstrap)  # it serves before it leads, and librdkafka hands NOT_COORDINATOR on
        assert committed(theirs.bootstrap) == wanted
        assert consume(theirs.bootstrap, 10) == values[10:20]
        wanted = commit(theirs.bootstrap, 1_000)
    finally:
        theirs.stop()
    ours = Headrace(tmp_path, SETTINGS)
    ours.start()
    try:
        wait_for_coordinators(ours.bootstrap)
        assert committed(ours.bootstrap) == wanted
        assert consume(ours.bootstrap, 10) == values[20:]
    finally:
        ours.stop()

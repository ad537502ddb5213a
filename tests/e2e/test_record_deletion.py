"""Retention and DeleteRecords on a running node, as its clients see them."""

import os
import signal
import time

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.conftest import start_node
from tests.support.waiting import DEADLINE_S, wait_until

SETTINGS = ("log.retention.check.interval.ms=100", "headrace.partition.workers=2", "headrace.network.workers=2")


@pytest.fixture(scope="module")
def small_node(tmp_path_factory):
    """One for all tests that neither stop it nor end its processes; each has topics of its own."""
    node = start_node(tmp_path_factory.mktemp("small-node"), *SETTINGS)
    yield node
    node.stop()


def create(admin, topic, partitions=1, **config):
    config = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result()


def write(bootstrap, topic, count, partition=0, start=0):
    """One batch a record."""
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "batch.num.messages": 1})
    for number in range(start, start + count):
        producer.produce(
            topic, b"v" * 100 + b"%d" % number, partition=partition, on_delivery=lambda e, _m: e and failures.append(e)
        )
    assert producer.flush(DEADLINE_S) == 0
    assert not failures


def offset(admin, topic, spec, partition=0):
    place = TopicPartition(topic, partition)
    return admin.list_offsets({place: spec})[place].result().offset


def delete_records(admin, topic, before, partition=0):
    place = TopicPartition(topic, partition, before)
    return admin.delete_records([place])[place].result().low_watermark


def test_delete_records_moves_the_log_start_of_partitions_of_different_owners(small_node):
    admin = AdminClient({"bootstrap.servers": small_node.bootstrap})
    create(admin, "several", 4)
    for partition in range(4):
        write(small_node.bootstrap, "several", 10, partition)
    asked = [TopicPartition("several", partition, partition + 2) for partition in range(4)]
    answers = admin.delete_records(asked)
    assert {place.partition: one.result().low_watermark for place, one in answers.items()} == {0: 2, 1: 3, 2: 4, 3: 5}
    assert [offset(admin, "several", OffsetSpec.earliest(), partition) for partition in range(4)] == [2, 3, 4, 5]


def test_delete_records_judges_offsets_and_policies(small_node):
    admin = AdminClient({"bootstrap.servers": small_node.bootstrap})
    create(admin, "judged")
    create(admin, "compacted", cleanup_policy="compact")
    write(small_node.bootstrap, "judged", 10)
    assert delete_records(admin, "judged", 5) == 5
    assert delete_records(admin, "judged", 3) == 5  # never back
    with pytest.raises(KafkaException, match="OFFSET_OUT_OF_RANGE"):
        delete_records(admin, "judged", 11)
    with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
        delete_records(admin, "compacted", 0)
    assert delete_records(admin, "judged", -1) == 10  # OffsetSpec end: the high watermark
    write(small_node.bootstrap, "judged", 1)
    assert offset(admin, "judged", OffsetSpec.earliest()) == 10
    assert offset(admin, "judged", OffsetSpec.latest()) == 11


def test_the_log_start_offset_survives_kills_and_restarts(node_factory):
    node = node_factory("again", *SETTINGS)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    create(admin, "kept")
    write(node.bootstrap, "kept", 10)
    delete_records(admin, "kept", 7)
    before = node.pids()
    for name, pid in before.items():
        if name.startswith(("hr-partition", "hr-housekeeper")):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(node.pids()) == len(before) and not set(node.pids().values()) >= set(before.values()))

    def earliest():
        try:
            return offset(admin, "kept", OffsetSpec.earliest())
        except KafkaException:
            return -1

    wait_until(lambda: earliest() == 7)
    write(node.bootstrap, "kept", 1, start=10)
    assert node.stop() == 0
    again = node_factory("again", *SETTINGS)
    assert offset(AdminClient({"bootstrap.servers": again.bootstrap}), "kept", OffsetSpec.earliest()) == 7


def test_retention_by_size_deletes_the_oldest_segments_and_then_their_files(small_node):
    admin = AdminClient({"bootstrap.servers": small_node.bootstrap})
    create(admin, "sized", segment_bytes="2000", retention_bytes="6000", file_delete_delay_ms="60000")
    write(small_node.bootstrap, "sized", 100)
    directory = small_node.log_dir / "sized-0"
    first = wait_until(lambda: offset(admin, "sized", OffsetSpec.earliest()))
    wait_until(lambda: min(int(path.stem) for path in directory.glob("*.log")) >= first)
    assert list(directory.glob("*.log.deleted"))

    def kept_bytes():
        try:
            return sum(path.stat().st_size for path in directory.glob("*.log"))
        except FileNotFoundError:  # one was renamed between the listing and the look
            return 1 << 30

    wait_until(lambda: kept_bytes() < 8000)
    assert offset(admin, "sized", OffsetSpec.latest()) == 100


def test_retention_by_time_takes_the_active_segment_too(small_node):
    admin = AdminClient({"bootstrap.servers": small_node.bootstrap})
    create(admin, "aged", retention_ms="1")
    write(small_node.bootstrap, "aged", 10)
    wait_until(lambda: offset(admin, "aged", OffsetSpec.earliest()) == 10)
    write(small_node.bootstrap, "aged", 5)
    assert offset(admin, "aged", OffsetSpec.latest()) == 15


def test_a_consumer_that_reads_while_segments_go_sees_no_gap_but_at_its_start(small_node):
    """Every record from the first one it gets is there; where the log start overtakes it, it is told."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer

    admin = AdminClient({"bootstrap.servers": small_node.bootstrap})
    create(admin, "raced", segment_bytes="2000", retention_bytes="20000")
    consumer = Consumer({"bootstrap.servers": small_node.bootstrap, "group.id": "none", "enable.auto.commit": False,
                         "auto.offset.reset": "error", "fetch.message.max.bytes": 4_000})  # fmt: skip
    consumer.assign([TopicPartition("raced", 0, OFFSET_BEGINNING)])
    seen = []
    for start in range(0, 1000, 100):
        write(small_node.bootstrap, "raced", 100, start=start)
        deadline = time.monotonic() + DEADLINE_S
        while (not seen or seen[-1] != start + 99) and time.monotonic() < deadline:
            for message in consumer.consume(50, timeout=0.2):
                assert not message.error(), message.error()
                assert message.value() == b"v" * 100 + b"%d" % message.offset()
                seen.append(message.offset())
    consumer.close()
    assert seen == list(range(1000))
    wait_until(lambda: offset(admin, "raced", OffsetSpec.earliest()) > 700)


def test_a_topic_created_again_keeps_its_records_over_the_death_of_the_node(node_factory):
    """The log start of its predecessor stands in the checkpoint by then, and for a minute more."""
    node = node_factory("again", *SETTINGS)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    create(admin, "again")
    write(node.bootstrap, "again", 10)
    delete_records(admin, "again", 8)
    assert node.stop() == 0
    node = node_factory("again", *SETTINGS)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    assert offset(admin, "again", OffsetSpec.earliest()) == 8
    admin.delete_topics(["again"])["again"].result()

    def is_created():
        try:
            create(admin, "again")
        except KafkaException:
            return False
        return True

    wait_until(is_created)
    write(node.bootstrap, "again", 5)
    node.process.kill()
    node.stop()
    admin = AdminClient({"bootstrap.servers": node_factory("again", *SETTINGS).bootstrap})
    wait_until(lambda: offset(admin, "again", OffsetSpec.latest()) == 5)
    assert offset(admin, "again", OffsetSpec.earliest()) == 0

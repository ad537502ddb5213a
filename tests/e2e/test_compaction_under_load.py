"""Compaction on a running node: under load, while processes are killed, while the topic goes, and on bytes it can't read."""

import os
import random
import signal
import time

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.protocol.record_batch import iterate_batches, iterate_records
from tests.conftest import start_node
from tests.support.waiting import DEADLINE_S, wait_until

SETTINGS = (
    "log.cleaner.backoff.ms=50",
    "log.retention.check.interval.ms=200",
    "headrace.network.workers=1",
    "headrace.partition.workers=2",
)
TOPIC = {
    "cleanup.policy": "compact",
    "segment.bytes": "100000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "300",
    "file.delete.delay.ms": "500",
}


@pytest.fixture(scope="module")
def node_of_module(tmp_path_factory):
    node = start_node(tmp_path_factory.mktemp("compaction"), *SETTINGS)
    yield node
    node.stop()


@pytest.fixture
def small_node(node_of_module):
    """One for all tests that kill nothing. Each has topics of its own, and sees the lines that were logged since it began (`log_of`)."""
    node_of_module.log_position = log_path(node_of_module).stat().st_size
    return node_of_module


def log_path(node):
    return node.directory / "node.log"


def log_of(node):
    return log_path(node).read_bytes()[node.log_position :].decode()


def create(node, topic, **config):
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config={**TOPIC, **config})])[topic].result()


def records_on_disk(directory):
    """What the segments hold; the log may be changing."""
    while True:
        try:
            found = {}
            for path in sorted(directory.glob("*.log")):
                for _place, header, batch in iterate_batches(path.read_bytes()):
                    if not header.is_control:
                        found.update((record.offset, (record.key, record.value)) for record in iterate_records(batch))
            return found
        except FileNotFoundError:
            continue


def is_compacted(directory):
    """Whether no key stands twice below the active segment, and that is not the only one."""
    active = max((int(path.stem) for path in directory.glob("*.log")), default=0)
    keys = [key for offset, (key, _value) in records_on_disk(directory).items() if offset < active]
    return active > 0 and len(keys) == len(set(keys))


def read_as_a_client(node, topic, end_offset):
    """The last value of each key as a consumer from the beginning sees it, tombstones included."""
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values, last, deadline = {}, -1, time.monotonic() + DEADLINE_S
    while last < end_offset - 1:
        assert time.monotonic() < deadline, f"{last} of {end_offset} offsets came"
        for message in consumer.consume(1000, timeout=1):
            assert not message.error(), message.error()
            assert message.offset() > last
            last = message.offset()
            values[message.key()] = message.value()
    consumer.close()
    return values


class Writer:
    """Writes keys over and over, deletes one in ten; knows what has to be left."""

    def __init__(self, node, topic, seed):
        self.chance = random.Random(seed)
        self.expected = {}
        self.count = 0
        self.topic = topic
        self.failures = []
        self.producer = Producer(
            {"bootstrap.servers": node.bootstrap, "linger.ms": 5, "enable.idempotence": True, "batch.size": 4000,
             "compression.type": self.chance.choice(["none", "lz4"]), "message.timeout.ms": 60_000}
        )  # fmt: skip

    def write(self, count, keys=300):
        for _ in range(count):
            key = b"key-%d" % self.chance.randrange(keys)
            value = None if self.chance.random() < 0.1 else b"%d" % self.count + b"v" * 50
            self.expected[key] = value
            self.producer.produce(self.topic, value, key=key, on_delivery=lambda e, _m: e and self.failures.append(e))
            self.count += 1
            if not self.count % 500:
                self.producer.poll(0)
        assert self.producer.flush(60) == 0
        assert not self.failures

    def finish(self):
        """One more key, at the end: what stands before it can be told to have been read."""
        self.producer.produce(self.topic, b"end", key=b"end")
        assert self.producer.flush(60) == 0
        self.expected[b"end"] = b"end"
        self.count += 1

    def check(self, found):
        live = {key: value for key, value in self.expected.items() if value is not None}
        assert {key: value for key, value in found.items() if value is not None} == live
        assert all(self.expected[key] is None for key, value in found.items() if value is None)


def test_the_last_value_of_each_key_stays_and_deleted_keys_vanish_after_their_time(small_node):
    create(small_node, "kept")
    writer = Writer(small_node, "kept", 1)
    directory = small_node.log_dir / "kept-0"
    for _ in range(4):
        writer.write(3000)
    wait_until(lambda: is_compacted(directory))
    deleted = {key for key, value in writer.expected.items() if value is None}
    assert deleted
    # Tombstones go with a later pass than the one that meets them first; more records keep the compaction going.
    deadline = time.monotonic() + DEADLINE_S
    while deleted & {key for key, _value in records_on_disk(directory).values()}:
        assert time.monotonic() < deadline, "deleted keys are still there"
        for _ in range(2000):
            writer.producer.produce("kept", b"filler" * 10, key=b"filler")
            writer.count += 1
        writer.expected[b"filler"] = b"filler" * 10
        assert writer.producer.flush(60) == 0
        time.sleep(0.1)
    writer.finish()
    writer.check(read_as_a_client(small_node, "kept", writer.count))
    wait_until(lambda: not list(directory.glob("*.deleted")))
    checkpoint = (small_node.log_dir / "cleaner-offset-checkpoint").read_text().splitlines()
    assert [line for line in checkpoint[2:] if line.startswith("kept 0 ")]


def test_processes_killed_under_load_lose_nothing(node_factory):
    node = node_factory("node", *SETTINGS)
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    create(node, "killed")
    writer = Writer(node, "killed", seed)
    directory = node.log_dir / "killed-0"
    for _ in range(12):
        writer.write(2000)
        time.sleep(chance.random() * 0.2)
        victims = [pid for name, pid in node.pids().items() if name.startswith(("hr-partition", "hr-housekeep"))]
        os.kill(chance.choice(victims), signal.SIGKILL)
    writer.finish()
    wait_until(lambda: is_compacted(directory))
    wait_until(lambda: not list(directory.glob("*.swap")))
    writer.check(read_as_a_client(node, "killed", writer.count))
    log = log_path(node).read_text()
    assert "uncleanable" not in log, f"seed {seed}"
    assert "offline" not in log, f"seed {seed}"


def test_a_topic_deleted_while_it_is_compacted_is_no_trouble(small_node):
    admin = AdminClient({"bootstrap.servers": small_node.bootstrap})
    for number in range(4):
        topic = f"gone-{number}"
        create(small_node, topic)
        writer = Writer(small_node, topic, number)
        writer.write(4000)
        admin.delete_topics([topic])[topic].result()
    create(small_node, "after")
    writer = Writer(small_node, "after", 9)
    writer.write(10_000)
    wait_until(lambda: is_compacted(small_node.log_dir / "after-0"))
    writer.finish()
    writer.check(read_as_a_client(small_node, "after", writer.count))
    assert "died" not in log_of(small_node)


def test_a_partition_that_cannot_be_read_is_left_alone_and_reported_once(small_node):
    create(small_node, "sound")
    create(small_node, "broken-too")
    broken = small_node.log_dir / "broken-too-0"
    other = Writer(small_node, "broken-too", 2)
    other.write(200)
    segment = min(broken.glob("*.log"))
    with open(segment, "r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 20)
    other.write(6000)
    wait_until(lambda: "partition uncleanable" in log_of(small_node))
    sound = Writer(small_node, "sound", 3)
    sound.write(10_000)
    wait_until(lambda: is_compacted(small_node.log_dir / "sound-0"))
    lines = [line for line in log_of(small_node).splitlines() if "uncleanable" in line]
    assert len(lines) == 1
    assert "broken-too-0" in lines[0]
    assert "byte" in lines[0]
    assert not list(broken.glob("*.cleaned"))

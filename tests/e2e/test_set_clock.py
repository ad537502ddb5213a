"""The date is set, back and forward, under every process of a node: what is done at intervals goes on as before."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace import ids
from headrace.log.state.checkpoints import (
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    read_offset_checkpoint,
)
from tests.support.waiting import wait_until

SOURCE = Path(__file__).parent / "set_clock.c"
HOUR_S = 3600
DEADLINE_S = 60
SETTINGS = (
    "replica.high.watermark.checkpoint.interval.ms=500",
    "log.flush.start.offset.checkpoint.interval.ms=500",
    "log.flush.offset.checkpoint.interval.ms=500",
    "log.retention.check.interval.ms=500",
    "log.segment.delete.delay.ms=500",
    "log.cleaner.backoff.ms=200",
    "group.initial.rebalance.delay.ms=0",
    "headrace.partition.workers=1",
)
SMALL = {"segment.bytes": "20000", "file.delete.delay.ms": "500"}
COMPACTED = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}


class SetClock:
    """The offset file of the preloaded clock."""

    def __init__(self, path):
        self._path = path
        path.write_bytes(struct.pack("q", 0))

    def set(self, offset_s):
        with open(self._path, "r+b") as file:
            file.write(struct.pack("q", offset_s))


@pytest.fixture
def clock(tmp_path, monkeypatch):
    """Preloaded into all that is started from now on."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not here")
    library = tmp_path / "set_clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    found = SetClock(tmp_path / "offset")
    monkeypatch.setenv("CLOCK_OFFSET_FILE", str(tmp_path / "offset"))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    return found


def produce(node, topic, count):
    producer = Producer({"bootstrap.servers": node.bootstrap, "batch.num.messages": 8})
    for number in range(count):
        producer.produce(topic, key=str(number % 7), value="v" * 1000, partition=0)
        producer.poll(0)
    assert not producer.flush(DEADLINE_S)


def checked(node, topic, file_name):
    """What a checkpoint says of the topic's partition."""
    return read_offset_checkpoint(node.log_dir / file_name).get(ids.TopicPartition(topic, 0))


def last_read(node):
    """A new member of the group reads one record; the one before it is gone without a word."""
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": "g",
            "session.timeout.ms": 6000,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["deleted"])
    found = wait_until(lambda: (message := consumer.poll(0.5)) is not None and not message.error() and message)
    return consumer, found.offset()


def test_the_date_is_set_and_all_intervals_are_as_long_as_before(clock, node_factory):
    node = node_factory("node", *SETTINGS)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    for topic, config in (("deleted", SMALL), ("compacted", COMPACTED)):
        admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(DEADLINE_S)
    partition = node.log_dir / "deleted-0"
    end = 0
    for offset_s in (0, -HOUR_S, HOUR_S, -24 * HOUR_S):
        clock.set(offset_s)
        for topic in ("deleted", "compacted"):
            produce(node, topic, 200)
        end += 200
        place = TopicPartition("deleted", 0, end - 50)
        admin.delete_records([place])[place].result(DEADLINE_S)
        wait_until(lambda end=end: checked(node, "deleted", LOG_START_OFFSET_FILE) == end - 50)
        wait_until(lambda end=end: checked(node, "deleted", REPLICATION_OFFSET_FILE) == end)
        wait_until(lambda end=end: checked(node, "deleted", RECOVERY_POINT_FILE) >= end - 50)
        wait_until(lambda end=end: (checked(node, "compacted", CLEANER_OFFSET_FILE) or 0) >= end - 50)
        wait_until(lambda: len(list(partition.glob("*.log"))) <= 5)
        wait_until(lambda: not list(partition.glob("*.deleted")))
        consumer, offset = last_read(node)
        assert offset >= end - 50
        consumer.close()
    assert node.stop() == 0

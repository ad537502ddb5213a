"""Reads of the log as Arrow while records are deleted, compacted, topics made again, workers killed, leaders moved.

Each gives the range that was frozen when it began, or an error that names what happened: never another row, never a SIGBUS. The
batches are views into the segments, and are compared only when the whole range was read, when many of its files are gone.
"""

import contextlib
import itertools
import os
import random
import signal
import threading
import time
import uuid

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import headrace.arrow
from headrace.arrow.errors import TopicRecreated
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from tests.e2e.test_three_nodes import NODES, running
from tests.support.waiting import DEADLINE_S, wait_until

SETTINGS = (
    "log.cleaner.backoff.ms=50",
    "log.retention.check.interval.ms=100",
    "headrace.network.workers=1",
    "headrace.partition.workers=2",
)
SMALL = {"segment.bytes": "10000", "file.delete.delay.ms": "0"}
COMPACTED = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"}
KEYS = 50
MOTION_S = 2.0
PAUSES_S = (0.002,)  # between two batches of a read, by lot, for things to happen in
LONG_PAUSES_S = (*[0.002] * 12, 0.5)
READ_ERRORS = (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class Motion:
    """A writer of numbered records, one a number from 0 on, and what else moves its topic, each on a thread until the end."""

    def __init__(self, bootstrap, topic, configs, replicas=1):
        self.topic = topic
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.configs = configs
        self.replicas = replicas
        self.acknowledged = 0
        self._is_over = threading.Event()
        self._threads = []
        self._failures = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1})
        self.create()

    def create(self):
        topic = NewTopic(self.topic, 1, self.replicas, config=self.configs)
        self.admin.create_topics([topic])[self.topic].result(DEADLINE_S)

    def repeat(self, act, pause_s=0.0, growth=1):
        """Call something again and again; each pause is `growth` times the one before."""

        def loop():
            try:
                for count in itertools.count():
                    if self._is_over.wait(pause_s * growth**count):
                        return
                    act()
            except BaseException as failure:
                self._failures.append(failure)

        self._threads.append(threading.Thread(target=loop))
        self._threads[-1].start()

    def write(self):
        """Forty records, acknowledged by all replicas."""
        failures = []
        first = self.acknowledged
        for number in range(first, first + 40):
            self._producer.produce(
                self.topic,
                value_of(number),
                b"%d" % (number % KEYS),
                0,
                on_delivery=lambda error, _message: failures.append(error) if error else None,
            )
        assert self._producer.flush(3 * DEADLINE_S) == 0
        assert not failures, failures
        self.acknowledged = first + 40

    def read(self, pauses_s=PAUSES_S):
        """(offset, key, value) of all rows from the log's start, compared late; None where an error said why not."""
        reader = headrace.arrow.open(self.topic, bootstrap_servers=self.bootstrap, rows_per_batch=100)
        batches = []
        try:
            for batch in reader:
                batches.append(batch)
                time.sleep(random.choice(pauses_s))
        except TopicRecreated:
            return None
        except KafkaError as failure:
            if failure.code not in READ_ERRORS:
                raise
            return None
        return [(row["offset"], row["key"], row["value"]) for batch in batches for row in batch.to_pylist()]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        if kind is None:
            assert not self._failures, self._failures


def value_of(number):
    return b"%08d" % number * (1 + number % 30)


@pytest.fixture(scope="module")
def small_node(tmp_path_factory):
    from tests.conftest import start_node

    node = start_node(tmp_path_factory.mktemp("motion"), *SETTINGS)
    yield node
    node.stop()


def reads_of(motion, pauses_s=PAUSES_S):
    """Whole ones, when there were three of them and three that an error ended."""
    whole, refused = [], 0
    deadline = time.monotonic() + DEADLINE_S
    while len(whole) < 3 or refused < 3:
        assert time.monotonic() < deadline, f"{len(whole)} whole, {refused} refused"
        rows = motion.read(pauses_s)
        refused += rows is None
        if rows:
            whole.append(rows)
    return whole


def test_while_records_are_deleted_a_read_is_whole_or_says_what_is_gone(small_node):
    with Motion(small_node.bootstrap, "deleted", SMALL) as motion:
        motion.write()

        def delete():
            place = TopicPartition("deleted", 0, max(0, motion.acknowledged - 600))
            motion.admin.delete_records([place])[place].result(DEADLINE_S)

        motion.repeat(motion.write)
        motion.repeat(delete, 0.3)
        motion.repeat(lambda: small_node.kill("hr-partition-0"), 1.0, growth=1.3)
        found = reads_of(motion, LONG_PAUSES_S)
    for rows in found:
        first = rows[0][0]
        assert rows == [(n, b"%d" % (n % KEYS), value_of(n)) for n in range(first, first + len(rows))]


def test_while_a_topic_is_compacted_every_row_is_the_one_that_was_written(small_node):
    with Motion(small_node.bootstrap, "compacted", COMPACTED) as motion:
        motion.write()
        motion.repeat(motion.write, 0.05)  # slower than any cleaner: one that never catches up shows nothing
        # Ever more rarely: on a slow machine a compaction needs longer than the first pauses.
        motion.repeat(lambda: small_node.kill("hr-housekeep-0"), 0.7, growth=2)
        kept = []  # the share of the records that was still there
        deadline = time.monotonic() + DEADLINE_S
        while len([share for share in kept if share < 0.9]) < 3:
            assert time.monotonic() < deadline, f"it is not compacted: {kept[-3:]}"
            acknowledged = motion.acknowledged
            rows = motion.read()
            assert rows is not None, "nothing is lost here"
            offsets = [offset for offset, _key, _value in rows]
            assert offsets == sorted(set(offsets))
            assert all((key, value) == (b"%d" % (n % KEYS), value_of(n)) for n, key, value in rows)
            is_rewritten = motion.acknowledged >= acknowledged + KEYS  # every key, after the end was frozen
            assert is_rewritten or offsets[-1] >= acknowledged - 1
            kept.append(len(offsets) / (offsets[-1] + 1))


def test_while_a_topic_is_made_again_and_again_no_read_mixes_two_of_them(small_node):
    with Motion(small_node.bootstrap, "again", SMALL) as motion:
        tags = itertools.count()

        def remake():
            with contextlib.suppress(KafkaException):
                motion.admin.delete_topics(["again"])["again"].result(DEADLINE_S)
            with contextlib.suppress(KafkaException):
                motion.create()
            tag = b"%04d" % next(tags)  # all lives have segments of the same names
            for number in range(1_000):
                producer.produce("again", tag + b":%d" % number * 20, tag, 0)
            producer.flush(DEADLINE_S)

        settings = {"bootstrap.servers": motion.bootstrap, "message.timeout.ms": 3_000, "batch.num.messages": 50}
        producer = Producer(settings)
        remake()
        motion.repeat(remake, 0.3)
        found = reads_of(motion, LONG_PAUSES_S)
    for rows in found:
        tags_of = {key for _offset, key, _value in rows}
        assert len(tags_of) == 1, tags_of
        (tag,) = tags_of
        assert rows == [(n, tag, tag + b":%d" % n * 20) for n in range(len(rows))]


def test_while_leaders_move_a_read_has_all_that_was_acknowledged_before_it_began(tmp_path):
    topic = f"led-{uuid.uuid4().hex[:8]}"
    with (
        running(tmp_path, "default.replication.factor=3", "min.insync.replicas=2") as nodes,
        Motion(nodes.bootstrap, topic, SMALL, NODES) as motion,
    ):
        motion.write()
        motion.repeat(motion.write)
        whole = 0
        for node_id in range(NODES):
            os.kill(nodes.pid(node_id), signal.SIGKILL)
            end_s = time.monotonic() + MOTION_S
            before, deadline = whole, time.monotonic() + DEADLINE_S
            while time.monotonic() < end_s or whole == before:
                assert time.monotonic() < deadline, "no read was whole"
                acknowledged = motion.acknowledged
                try:
                    rows = motion.read()
                except HeadraceError:
                    continue  # a broker is away: said, and no row was wrong
                assert rows == [(n, b"%d" % (n % KEYS), value_of(n)) for n in range(len(rows))]
                assert len(rows) >= acknowledged
                whole += 1
            wait_until(lambda node_id=node_id: nodes.pid(node_id) is not None)
            wait_until(lambda: len(nodes.live(0)) == NODES)

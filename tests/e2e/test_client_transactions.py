"""Transactions by our own clients: what counts, who is fenced, what outlives a worker; and copies that are exact."""

import asyncio
import threading
import time
import uuid

import pytest

from headrace import aio
from headrace.client import Kafka, Output, ProducerFenced, TransactionAbortable, TransactionAborted, transform
from headrace.client.engine.transaction_states import State
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.testing.cluster import KafkaServer
from tests.support.waiting import DEADLINE_S

PARTITIONS = 3
RECORDS = 3_000
QUIET_ROUNDS = 3  # without a record, until a copier is through


@pytest.fixture
def kafka(node):
    with Kafka(node.bootstrap) as made:
        yield made


@pytest.fixture
def new_topic(kafka):
    def create(partitions=PARTITIONS):
        topic = f"tx-{uuid.uuid4().hex[:8]}"
        with kafka.admin() as admin:
            admin.create_topic(topic, partitions=partitions)
        return topic

    return create


def read(kafka, topic, count):
    """So many committed values, and what else comes in a moment."""
    found = []
    end_s = time.monotonic() + DEADLINE_S
    with kafka.consumer(topic, start="earliest", isolation_level="read_committed") as consumer:
        while len(found) < count and time.monotonic() < end_s:
            found += [record.value for record in consumer.poll(1.0)]
        found += [record.value for record in consumer.poll(0.3)]
    return sorted(found)


def test_committed_records_count_and_aborted_ones_do_not(kafka, new_topic):
    topic = new_topic()
    with kafka.producer(transactional_id=topic) as producer:
        producer.init_transactions()
        for value, is_commit in ((b"1", True), (b"x", False), (b"2", True)):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.send(topic, value, partition=partition)
            producer.flush()
            producer.commit_transaction() if is_commit else producer.abort_transaction()
        producer.begin_transaction()
        dropped = producer.send(topic, b"y")
        producer.abort_transaction()
        assert isinstance(dropped.exception(), TransactionAborted)
    assert read(kafka, topic, 6) == [b"1"] * 3 + [b"2"] * 3


def test_asyncio_commits_and_aborts(node, kafka, new_topic):
    topic = new_topic()

    async def run():
        async with aio.Kafka(node.bootstrap) as cluster, cluster.producer(transactional_id=topic) as producer:
            await producer.init_transactions()
            for value, is_commit in ((b"1", True), (b"x", False), (b"2", True)):
                await producer.begin_transaction()
                await (await producer.send(topic, value))
                await (producer.commit_transaction() if is_commit else producer.abort_transaction())
            with pytest.raises(KafkaError, match="is ready"):
                await producer.send(topic, b"y")

    asyncio.run(run())
    assert read(kafka, topic, 2) == [b"1", b"2"]


def test_a_producer_that_is_closed_in_a_transaction_aborts_it(kafka, new_topic):
    topic = new_topic()
    with kafka.producer(transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0)
        producer.flush()
    with kafka.producer() as plain:
        plain.send(topic, b"1", partition=0)
    assert read(kafka, topic, 1) == [b"1"], "nothing holds the readers up"


def test_the_next_producer_of_an_id_fences_the_one_before(kafka, new_topic):
    topic = new_topic()
    before, after = (kafka.producer(transactional_id=topic) for _ in range(2))
    before.init_transactions()
    before.begin_transaction()
    before.send(topic, b"x")
    before.flush()
    after.init_transactions()
    with pytest.raises(ProducerFenced):
        before.commit_transaction()
    with pytest.raises(ProducerFenced):
        before.begin_transaction()
    after.begin_transaction()
    after.send(topic, b"1")
    after.commit_transaction()
    assert read(kafka, topic, 1) == [b"1"]


def test_offsets_count_with_their_transaction_and_a_strange_member_s_do_not(kafka, new_topic):
    topic = new_topic()
    name = TopicPartition(topic, 0)
    with kafka.producer() as plain:
        plain.send_many(topic, [b"%d" % one for one in range(10)], partition=0)
    with (
        kafka.producer(transactional_id=topic) as producer,
        kafka.consumer(topic, group=topic, delivery="transactional", start="earliest") as consumer,
    ):
        producer.init_transactions()
        assert consumer.poll(DEADLINE_S)
        for offset, is_commit in ((4, True), (9, False)):
            producer.begin_transaction()
            producer.send_offsets_to_transaction({name: offset}, consumer.group_metadata())
            producer.commit_transaction() if is_commit else producer.abort_transaction()
            assert consumer.committed([name])[name].offset == 4
        producer.begin_transaction()
        stale = consumer.group_metadata()._replace(generation=7_000)
        with pytest.raises(TransactionAbortable) as raised:
            producer.send_offsets_to_transaction({name: 5}, stale)
        assert raised.value.code is ErrorCode.ILLEGAL_GENERATION
        producer.abort_transaction()
        consumer.rewind()
        assert consumer.position(topic, 0) == 4


@pytest.mark.parametrize("role", ["partition", "network"])
def test_a_transaction_outlives_a_process_of_its_node(role):
    with KafkaServer() as server, Kafka(server.bootstrap_servers) as kafka:
        server.create_topic("t", partitions=PARTITIONS)
        producer = kafka.producer(transactional_id="copier")
        producer.init_transactions()
        for serial in range(3):
            producer.begin_transaction()
            producer.send_many("t", [b"%d-a" % serial, b"%d-b" % serial], partition=0)
            producer.flush()
            server.kill(role)
            producer.send("t", b"%d-c" % serial, partition=1)
            producer.commit_transaction(DEADLINE_S)
        producer.close()
        expected = sorted(b"%d-%s" % (serial, one) for serial in range(3) for one in (b"a", b"b", b"c"))
        assert read(kafka, "t", len(expected)) == expected


def test_a_copy_is_exact_over_rebalances_and_functions_that_fail(kafka, node, new_topic):
    """Two members come and go while a third one fails by its function; each source record is in the target once."""
    source, target = new_topic(), new_topic()
    with kafka.producer() as plain:
        plain.send_many(source, [b"%d" % one for one in range(RECORDS)], keys=[b"%d" % one for one in range(RECORDS)])
    failures = []
    is_over = threading.Event()
    made = [0]

    def copy(serial, rounds):
        """A copier; after so many transactions it goes, and another one comes in its place."""
        life = 0
        try:
            while not is_over.is_set():
                life += 1
                with (
                    Kafka(node.bootstrap) as own,
                    own.producer(transactional_id=f"{target}-{serial}") as producer,
                    own.consumer(
                        source, group=target, delivery="transactional", start="earliest", session_timeout_ms=6_000
                    ) as consumer,
                ):
                    producer.init_transactions()
                    left = rounds
                    for done in transform(consumer, producer, copied, max_records=50, idle=0.2):
                        made[0] += done
                        left -= 1
                        if is_over.is_set() or not left:
                            break
        except BaseException as failure:
            failures.append(failure)
            raise

    def copied(record):
        time.sleep(0.0005)
        return Output(target, record.value, key=record.key)

    members = [threading.Thread(target=copy, args=(serial, 8 + 3 * serial), daemon=True) for serial in range(2)]
    for member in members:
        member.start()
    try:
        found = read(kafka, target, RECORDS)
    finally:
        is_over.set()
        for member in members:
            member.join(DEADLINE_S)
    assert not failures
    assert found == sorted(b"%d" % one for one in range(RECORDS))


def test_a_function_that_raises_leaves_its_records_to_the_next_call(kafka, new_topic):
    source, target = new_topic(1), new_topic(1)
    with kafka.producer() as plain:
        plain.send_many(source, [b"%d" % one for one in range(20)])
    has_failed = []

    def picky(record):
        if record.value == b"7" and not has_failed:
            has_failed.append(True)
            raise LookupError("by the test")
        return [Output(target, record.value)] if int(record.value) % 2 else None

    with (
        kafka.producer(transactional_id=target) as producer,
        kafka.consumer(source, group=target, delivery="transactional", start="earliest") as consumer,
    ):
        producer.init_transactions()
        with pytest.raises(LookupError):
            list(transform(consumer, producer, picky, max_records=5))
        done = 0
        for count in transform(consumer, producer, picky, max_records=5):
            done += count
            if done >= 20 - 5:
                break
        assert producer.transaction_state is State.READY
    assert read(kafka, target, 10) == sorted(b"%d" % one for one in range(1, 20, 2))


def test_asyncio_copies_exactly_also_where_it_is_cancelled(node, kafka, new_topic):
    source, target = new_topic(), new_topic()
    with kafka.producer() as plain:
        plain.send_many(source, [b"%d" % one for one in range(300)], keys=[b"%d" % one for one in range(300)])

    async def copied(record):
        await asyncio.sleep(0)
        return Output(target, record.value)

    async def run():
        async with (
            aio.Kafka(node.bootstrap) as cluster,
            cluster.producer(transactional_id=target) as producer,
            cluster.consumer(source, group=target, delivery="transactional", start="earliest") as consumer,
        ):
            await producer.init_transactions()
            done = [0]

            async def copy(limit):
                async for count in aio.transform(consumer, producer, copied, max_records=20, idle=0.5):
                    done[0] += count
                    if not count and done[0] >= limit:
                        return

            task = asyncio.ensure_future(copy(10_000))
            while not done[0]:
                await asyncio.sleep(0.005)
            for _ in range(3):
                await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                task = asyncio.ensure_future(copy(10_000))
            await asyncio.sleep(3.0)
            task.cancel()

    asyncio.run(run())
    assert read(kafka, target, 300) == sorted(b"%d" % one for one in range(300))


def test_transform_takes_no_consumer_that_commits_by_itself(kafka, new_topic):
    topic = new_topic(1)
    with (
        kafka.producer(transactional_id=topic) as producer,
        kafka.consumer(topic, group=topic) as consumer,
        pytest.raises(ValueError, match="delivery='transactional'"),
    ):
        next(transform(consumer, producer, lambda _record: None))


def test_a_producer_without_an_id_has_no_transactions(kafka):
    with kafka.producer() as producer, pytest.raises(ValueError, match="transactional_id="):
        producer.init_transactions()
    with pytest.raises(ValueError, match="needs acks=all"):
        kafka.producer(transactional_id="t", acks=1)
    assert issubclass(ProducerFenced, HeadraceError)

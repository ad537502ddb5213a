"""Records to the broker: whole, in order, once; what fails is told with how much of it.

Holds: client/producer_batch.py, client/producer_options.py
"""

import pytest

from headrace.client.cluster import Cluster
from headrace.client.connection import ConnectionFailed
from headrace.client.producer import ProduceFailed, Producer
from headrace.client.producer_options import ACKS_LEADER, ACKS_NONE, ProducerOptions
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec

CLICKS = TopicPartition("clicks", 0)


@pytest.fixture
def topic(log):
    for partition in range(3):
        log.create("clicks", partition)
    return "clicks"


@pytest.fixture
def new_producer(broker):
    clusters = []

    def make(on_delivered=None, **options):
        cluster = Cluster(broker.address, timeout_s=30)
        clusters.append(cluster)
        return Producer(cluster, ProducerOptions(**options), on_delivered)

    yield make
    for cluster in clusters:
        cluster.close()


def values(log, partition=0):
    return [record.value for record in log.records(TopicPartition("clicks", partition))]


@pytest.mark.parametrize("codec", list(Codec))
def test_records_arrive_in_order_and_whole(log, topic, new_producer, codec):
    with new_producer(codec=codec) as producer:
        for number in range(1_000):
            producer.send(
                topic, b"%d" % number, key=b"k", headers=[("h", b"x"), ("n", None)], partition=0, timestamp_ms=number
            )
    found = log.records(CLICKS)
    assert [record.value for record in found] == [b"%d" % number for number in range(1_000)]
    assert {record.key for record in found} == {b"k"}
    assert {record.headers for record in found} == {(("h", b"x"), ("n", None))}
    assert [record.timestamp_ms for record in found] == list(range(1_000))
    assert producer.acknowledged == 1_000


def test_a_key_decides_the_partition_and_no_key_fills_them_all(log, topic, new_producer):
    with new_producer(batch_bytes=500) as producer:
        for number in range(300):
            producer.send(topic, b"x" * 50, key=b"key-%d" % (number % 5) if number % 2 else None)
    for key in {record.key for partition in range(3) for record in log.records(TopicPartition("clicks", partition))} - {
        None
    }:
        homes = [p for p in range(3) if any(record.key == key for record in log.records(TopicPartition("clicks", p)))]
        assert len(homes) == 1
    assert all(any(record.key is None for record in log.records(TopicPartition("clicks", p))) for p in range(3))


def test_batches_are_cut_by_size_and_each_is_reported(log, topic, new_producer):
    delivered = []
    with new_producer(lambda *batch: delivered.append(batch), batch_bytes=1_000) as producer:
        for _ in range(100):
            producer.send(topic, b"x" * 64, partition=1)
    assert all(header.size_bytes <= 1_000 for header, _batch in log.batches(TopicPartition("clicks", 1)))
    assert [name for name, _offset, _count in delivered] == [TopicPartition("clicks", 1)] * len(delivered)
    offset = 0
    for _name, base_offset, count in delivered:
        assert base_offset == offset
        offset += count
    assert offset == 100


@pytest.mark.parametrize("acks", [ACKS_NONE, ACKS_LEADER])
def test_other_acks(log, topic, new_producer, acks):
    with new_producer(acks=acks, is_idempotent=False) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    assert producer.acknowledged == 10
    for _ in range(1_000):
        if len(values(log)) == 10:
            break
    assert values(log) == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.CORRUPT_MESSAGE]
)
def test_an_error_that_passes_costs_a_retry(log, topic, broker, new_producer, error):
    broker.fail[ApiKey.PRODUCE, error] = 3
    with new_producer() as producer:
        producer.send(topic, b"v", partition=0)
    assert values(log) == [b"v"]
    assert broker.asked[ApiKey.PRODUCE] == 4


def test_a_retry_of_what_was_stored_is_stored_once(log, topic, broker, new_producer):
    with new_producer(batch_bytes=200) as producer:
        broker.lose_answers = 2
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=0)
    assert values(log) == [b"%d" % number for number in range(20)]
    assert producer.acknowledged == 20


def test_a_partition_that_forgot_the_producer_takes_what_follows_in_order_and_once(log, topic, broker, new_producer):
    with new_producer(batch_bytes=200) as producer:
        for number in range(40):
            producer.send(topic, b"%d" % number, partition=number % 2)
            if number == 20:
                producer.flush()
                broker.forget_producers()
    for partition in range(2):
        assert values(log, partition) == [b"%d" % number for number in range(partition, 40, 2)]


def test_connections_that_break_keep_the_order(log, topic, broker, new_producer):
    with new_producer(batch_bytes=300) as producer:
        for number in range(200):
            if number % 20 == 10:
                broker.drop_connections += 1
            producer.send(topic, b"%d" % number, partition=number % 2)
    for partition in range(2):
        assert values(log, partition) == [b"%d" % number for number in range(partition, 200, 2)]


def test_a_batch_that_is_too_large_is_halved(log, topic, broker, new_producer):
    broker.batch_bytes_max = 500
    with new_producer() as producer:
        for number in range(100):
            producer.send(topic, b"%03d" % number * 10, partition=0)
        producer.flush()
        producer.send(topic, b"last", partition=0)
    assert values(log) == [b"%03d" % number * 10 for number in range(100)] + [b"last"]
    assert producer.acknowledged == 101


def test_a_record_that_is_too_large_ends_the_producer_and_tells_what_is_lost(log, topic, broker, new_producer):
    broker.batch_bytes_max = 500
    producer = new_producer()
    producer.send(topic, b"x" * 600, partition=0)
    producer.send(topic, b"behind it", partition=0)
    producer.send(topic, b"elsewhere", partition=1)
    with pytest.raises(ProduceFailed, match="clicks-0") as failure:
        producer.flush()
    assert failure.value.cause.code is ErrorCode.MESSAGE_TOO_LARGE
    assert failure.value.partition == CLICKS
    assert 1 <= failure.value.lost <= 3
    with pytest.raises(ProduceFailed):
        producer.send(topic, b"more", partition=0)
    assert values(log) == []


def test_an_error_that_stays_ends_at_the_delivery_timeout(topic, broker, new_producer):
    broker.fail[ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS] = 10**9
    producer = new_producer(delivery_timeout_ms=50)
    producer.send(topic, b"v", partition=0)
    with pytest.raises(ProduceFailed, match="NOT_ENOUGH_REPLICAS") as failure:
        producer.flush()
    assert failure.value.lost == 1


def test_a_partition_without_a_leader_waits_for_one(log, topic, broker, new_producer):
    broker.leaders[CLICKS] = -1
    producer = new_producer(delivery_timeout_ms=50)
    producer.send(topic, b"v", partition=0)
    with pytest.raises(ProduceFailed, match="LEADER_NOT_AVAILABLE"):
        producer.flush()
    with new_producer() as producer:
        producer.send(topic, b"elsewhere")  # without a key or partition, one that has a leader is taken
    assert values(log) == []
    assert values(log, 1) + values(log, 2) == [b"elsewhere"]


def test_a_broker_that_never_answers_is_given_up(topic, broker, new_producer, monkeypatch):
    monkeypatch.setattr("headrace.client.producer.ANSWER_EXTRA_S", 0.0)
    producer = new_producer(delivery_timeout_ms=100, request_timeout_ms=20)
    monkeypatch.setattr(
        broker, "_answer", lambda frame, answer=broker._answer: None if frame[:2] == b"\0\0" else answer(frame)
    )
    producer.send(topic, b"v", partition=0)
    with pytest.raises(ProduceFailed, match="no response in time"):
        producer.flush()


def test_no_broker_at_all(topic, broker, new_producer):
    producer = new_producer(delivery_timeout_ms=50)
    producer.send(topic, b"v", partition=0)
    broker.__exit__()
    with pytest.raises(ProduceFailed) as failure:
        producer.flush()
    assert isinstance(failure.value.cause, ConnectionFailed)


def test_a_producer_id_that_is_not_to_be_had_yet_is_asked_for_again(log, topic, broker, new_producer):
    broker.fail[ApiKey.INIT_PRODUCER_ID, ErrorCode.COORDINATOR_NOT_AVAILABLE] = 2
    with new_producer() as producer:
        producer.send(topic, b"v", partition=0)
    assert values(log) == [b"v"]


def test_memory_is_bounded(log, topic, new_producer):
    producer = new_producer(buffer_bytes=5_000, batch_bytes=1_000, linger_ms=10_000)
    for number in range(500):
        producer.send(topic, b"x" * 100, partition=number % 3)
        assert producer.outstanding * 100 <= 5_000
    producer.close()
    assert sum(len(values(log, partition)) for partition in range(3)) == 500


def test_what_lingers_is_sent_by_a_poll_once_it_is_old(log, topic, broker):
    now_s = [100.0]
    producer = Producer(Cluster(broker.address), ProducerOptions(linger_ms=50), clock_s=lambda: now_s[0])
    producer.send(topic, b"v", partition=0)
    producer.poll()
    assert broker.asked[ApiKey.PRODUCE] == 0
    now_s[0] += 0.06
    producer.poll()
    producer.flush()
    assert values(log) == [b"v"]


def test_what_is_not_there_is_refused_at_once(topic, new_producer):
    producer = new_producer()
    with pytest.raises(KafkaError, match="absent") as failure:
        producer.send("absent", b"v")
    assert failure.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError, match="partitions 0 to 2, no partition 3"):
        producer.send(topic, b"v", partition=3)
    with pytest.raises(KafkaError, match="larger than buffer_bytes"):
        producer.send(topic, bytes(33 << 20))


@pytest.mark.parametrize("options", [{"acks": 2}, {"acks": 1}, {"batch_bytes": 0}, {"batch_bytes": 64 << 20}])
def test_options_that_can_not_be(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        ProducerOptions(**options)

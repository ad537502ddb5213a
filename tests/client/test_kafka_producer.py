"""A blocking producer: records whole, in order and once; values that it refuses, what fails and how it says so, closing, forks."""

import contextlib
import functools
import os
import signal
import threading
import time

import pytest

from headrace.client import DeliveryFailed, Interrupted, Kafka
from headrace.client.engine import producing
from headrace.client.engine.producing import Producing
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.forks import ForkedClient
from headrace.client.kafka_producer import KafkaProducer
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from tests.support.waiting import DEADLINE_S, wait_until

NAME = TopicPartition("t", 0)
CLICKS = TopicPartition("clicks", 0)


@pytest.fixture
def kafka(log, broker):
    log.create(*NAME)
    with Kafka(broker.address) as made:
        yield made


@pytest.fixture
def topic(log):
    for partition in range(3):
        log.create("clicks", partition)
    return "clicks"


@pytest.fixture
def new_producer(kafka):
    return kafka.producer


def values(log):
    return [record.value for record in log.records(NAME)]


def clicks(log, partition=0):
    return [record.value for record in log.records(TopicPartition("clicks", partition))]


@pytest.mark.parametrize("codec", list(Codec))
def test_records_arrive_in_order_and_whole(log, topic, new_producer, codec):
    with new_producer(compression=codec.name.lower()) as producer:
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
    with new_producer(batch_size=500) as producer:
        for number in range(300):
            producer.send(topic, b"x" * 50, key=b"key-%d" % (number % 5) if number % 2 else None)
    homes = {}
    for partition in range(3):
        for record in log.records(TopicPartition("clicks", partition)):
            homes.setdefault(record.key, set()).add(partition)
    assert homes.pop(None) == {0, 1, 2}
    assert len(homes) == 5
    assert all(len(partitions) == 1 for partitions in homes.values())


def test_batches_end_by_size_and_each_is_reported(log, topic, kafka):
    stored = []
    options = ProducingOptions(batch_size=1_000)
    with KafkaProducer(kafka.engine(), options, None, None, on_stored=lambda *one: stored.append(one)) as producer:
        for _ in range(100):
            producer.send(topic, b"x" * 64, partition=1)
    headers = [header for header, _batch in log.batches(TopicPartition("clicks", 1))]
    assert all(header.size_bytes <= 1_000 for header in headers)
    assert stored == [(TopicPartition("clicks", 1), one.base_offset, one.record_count) for one in headers]
    assert sum(count for _name, _offset, count in stored) == 100


@pytest.mark.parametrize("acks", [0, 1])
def test_other_acks(log, topic, new_producer, acks):
    with new_producer(acks=acks) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    assert producer.acknowledged == 10
    deadline = threading.Event()
    for _ in range(100):
        if len(clicks(log)) == 10:
            break
        deadline.wait(0.05)
    assert clicks(log) == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.CORRUPT_MESSAGE]
)
def test_an_error_that_passes_costs_a_retry(log, topic, broker, new_producer, error):
    broker.fail[ApiKey.PRODUCE, error] = 3
    with new_producer() as producer:
        producer.send(topic, b"v", partition=0)
    assert clicks(log) == [b"v"]
    assert broker.asked[ApiKey.PRODUCE] == 4


def test_a_retry_of_what_was_stored_is_stored_once(log, topic, broker, new_producer):
    with new_producer(batch_size=200) as producer:
        broker.lose_answers = 2
        for number in range(20):
            producer.send(topic, b"%d" % number, partition=0)
    assert clicks(log) == [b"%d" % number for number in range(20)]
    assert producer.acknowledged == 20


def test_a_partition_that_forgot_the_producer_takes_what_follows_in_order_and_once(log, topic, broker, new_producer):
    with new_producer(batch_size=200) as producer:
        for number in range(40):
            producer.send(topic, b"%d" % number, partition=number % 2)
            if number == 20:
                producer.flush()
                broker.forget_producers()
    for partition in range(2):
        assert clicks(log, partition) == [b"%d" % number for number in range(partition, 40, 2)]


def test_connections_that_break_keep_the_order(log, topic, broker, new_producer):
    with new_producer(batch_size=300) as producer:
        for number in range(200):
            if number % 20 == 10:
                broker.drop_connections += 1
            producer.send(topic, b"%d" % number, partition=number % 2)
    for partition in range(2):
        assert clicks(log, partition) == [b"%d" % number for number in range(partition, 200, 2)]


def test_a_batch_that_is_too_large_is_halved(log, topic, broker, new_producer):
    broker.batch_bytes_max = 500
    with new_producer() as producer:
        for number in range(100):
            producer.send(topic, b"%03d" % number * 10, partition=0)
        producer.flush()
        producer.send(topic, b"last", partition=0)
    assert clicks(log) == [b"%03d" % number * 10 for number in range(100)] + [b"last"]
    assert producer.acknowledged == 101


def test_a_record_that_is_too_large_is_reported_and_holds_up_no_other(log, topic, broker, new_producer):
    broker.batch_bytes_max = 500
    producer = new_producer(batch_size=100)
    too_large = producer.send(topic, b"x" * 600, partition=0)
    producer.send(topic, b"after it", partition=0)
    producer.send(topic, b"elsewhere", partition=1)
    with pytest.raises(DeliveryFailed, match=r"1 records were not acknowledged: MESSAGE_TOO_LARGE: .*clicks-0"):
        producer.flush()
    assert too_large.exception().code is ErrorCode.MESSAGE_TOO_LARGE
    producer.close()
    assert clicks(log) == [b"after it"]
    assert clicks(log, 1) == [b"elsewhere"]


def test_a_producer_that_its_failures_end_refuses_what_comes_after(log, topic, broker, kafka):
    broker.batch_bytes_max = 500
    options = ProducingOptions(batch_size=100, ends_at_failure=True)
    producer = KafkaProducer(kafka.engine(), options, None, None)
    producer.send(topic, b"x" * 600, partition=0)
    producer.send(topic, b"after it", partition=0)
    with pytest.raises(DeliveryFailed, match="MESSAGE_TOO_LARGE") as failure:
        producer.flush()
    assert failure.value.records == 2
    for send in (lambda: producer.send(topic, b"more"), lambda: producer.send_many(topic, [b"more"]), producer.flush):
        with pytest.raises(DeliveryFailed, match="MESSAGE_TOO_LARGE"):
            send()
    producer.close()
    assert clicks(log) == []


def test_an_error_that_stays_ends_at_the_delivery_timeout(topic, broker, new_producer):
    broker.fail[ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS] = 10**9
    producer = new_producer(delivery_timeout_ms=50)
    producer.send(topic, b"v", partition=0)
    with pytest.raises(DeliveryFailed, match=r"1 records were .* delivery\.timeout\.ms .*NOT_ENOUGH_REPLICAS"):
        producer.flush()


def test_a_partition_without_a_leader_waits_for_one(log, topic, broker, new_producer):
    broker.leaders[CLICKS] = -1
    producer = new_producer(delivery_timeout_ms=50)
    producer.send(topic, b"v", partition=0)
    with pytest.raises(DeliveryFailed, match="LEADER_NOT_AVAILABLE"):
        producer.flush()
    with new_producer() as producer:
        producer.send(topic, b"elsewhere")  # without a key or partition, one that has a leader is taken
    assert clicks(log) == []
    assert clicks(log, 1) + clicks(log, 2) == [b"elsewhere"]


def test_a_broker_that_never_answers_is_given_up(topic, broker, new_producer, monkeypatch):
    monkeypatch.setattr(producing, "ANSWER_EXTRA_S", 0.0)
    producer = new_producer(delivery_timeout_ms=100, request_timeout_ms=20)
    monkeypatch.setattr(
        broker, "_answer", lambda frame, answer=broker._answer: None if frame[:2] == b"\0\0" else answer(frame)
    )
    producer.send(topic, b"v", partition=0)
    with pytest.raises(DeliveryFailed, match="no response in time"):
        producer.flush()


def test_no_broker_at_all(topic, broker, new_producer):
    producer = new_producer(delivery_timeout_ms=50)
    delivery = producer.send(topic, b"v", partition=0)
    broker.__exit__()
    with pytest.raises(DeliveryFailed, match=r"delivery\.timeout\.ms"):
        producer.flush()
    assert delivery.exception().code is ErrorCode.REQUEST_TIMED_OUT


def test_a_producer_id_that_is_not_to_be_had_yet_is_asked_for_again(log, topic, broker, new_producer):
    broker.fail[ApiKey.INIT_PRODUCER_ID, ErrorCode.COORDINATOR_NOT_AVAILABLE] = 2
    with new_producer() as producer:
        producer.send(topic, b"v", partition=0)
    assert clicks(log) == [b"v"]


def test_memory_is_bounded(log, topic, new_producer):
    producer = new_producer(buffer_memory=5_000, batch_size=1_000, linger_ms=10_000)
    for number in range(500):
        producer.send(topic, b"x" * 100, partition=number % 3)
        assert producer.health()["buffered_bytes"] <= 5_000 + 200  # a record is taken where there is any room
    producer.close()
    assert sum(len(clicks(log, partition)) for partition in range(3)) == 500


def test_what_is_not_there_is_refused_at_once(topic, new_producer):
    producer = new_producer()
    with pytest.raises(KafkaError, match="absent") as failure:
        producer.send("absent", b"v")
    assert failure.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError, match="partitions 0 to 2, no partition 3"):
        producer.send(topic, b"v", partition=3)
    with pytest.raises(KafkaError, match=r"larger than buffer\.memory"):
        producer.send(topic, bytes(33 << 20))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, GeneratorExit])
def test_an_interruption_is_what_is_seen_whatever_was_not_sent(topic, new_producer, interruption):
    with pytest.raises(interruption), new_producer(linger_ms=60_000) as producer:  # noqa: PT012  # the block that is interrupted
        producer.send(topic, b"v", partition=0)
        raise interruption


def test_a_value_that_is_no_bytes_is_refused_and_holds_up_nothing(kafka, log):
    with kafka.producer(linger_ms=1) as producer:
        with pytest.raises(TypeError):
            producer.send("t", "text")
        with pytest.raises(TypeError):
            producer.send_many("t", [1])
        producer.flush(DEADLINE_S)
        assert producer.send("t", b"a").result(DEADLINE_S).offset == 0
    assert values(log) == [b"a"]


def test_a_producer_without_acks_has_sent_everything_when_it_is_closed(kafka, log, broker):
    with kafka.producer(acks=0) as producer:
        for serial in range(2_000):
            producer.send("t", b"%d" % serial * 50)
    with kafka.producer() as producer:  # the broker takes one connection's requests in order; this one's come after
        producer.send("t", b"end").result(DEADLINE_S)
    deadline = threading.Event()
    for _ in range(100):
        if len(values(log)) == 2_001:
            break
        deadline.wait(0.05)
    assert len(values(log)) == 2_001


def test_what_is_sent_after_closing_is_refused(kafka):
    producer = kafka.producer(linger_ms=1000)
    producer.send("t", b"a")
    producer.close()
    producer.close()
    with pytest.raises(Exception, match="closed"):
        producer.send("t", b"b")


@contextlib.contextmanager
def held_by_another_thread(lock):
    """As the sender thread may have it when the process forks."""
    is_held, is_over = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            is_over.wait(DEADLINE_S)

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_held.wait(DEADLINE_S)
    yield
    is_over.set()
    holder.join()


@pytest.mark.process
@pytest.mark.parametrize("thread", [False, True])
def test_a_forked_child_gets_an_error_and_never_hangs(kafka, thread):
    producer = kafka.producer(linger_ms=1, sender_thread=thread)
    sent = producer.send("t", b"a")
    sent.result(DEADLINE_S)
    waiting = producer.send("t", b"b")
    with held_by_another_thread(producer._lock) if thread else contextlib.nullcontext():
        status = status_of_child(producer, waiting, sent)
    assert waiting.result(DEADLINE_S).offset == 1
    assert producer.send("t", b"c").result(DEADLINE_S).offset == 2  # the parent's own connection is as it was
    producer.close()
    assert status == 0


@pytest.mark.process
def test_forks_while_the_sender_thread_sends(kafka, log):
    """Wherever the thread was, the child gets its error, and the parent's records are all there."""
    with kafka.producer(linger_ms=0, sender_thread=True) as producer:
        for serial in range(20):
            sent = [producer.send("t", b"%d" % (10 * serial + more)) for more in range(10)]
            assert status_of_child(producer, *sent) == 0
    assert sorted(map(int, values(log))) == list(range(200))


def test_ctrl_c_ends_a_wait_at_once_and_the_producer_goes_on(kafka, log):
    with kafka.producer(linger_ms=1) as producer:
        producer.send("t", b"a").result(DEADLINE_S)
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            wait_until(lambda: producer.poll(1))
        timer.join()
        assert producer.send("t", b"b").result(DEADLINE_S).offset == 1


@pytest.mark.parametrize("place", ["_send_to", "_answered", "open_batch"])
def test_ctrl_c_in_the_middle_of_a_step_is_said_and_never_a_wait_for_nothing(kafka, monkeypatch, place):
    """What a step leaves half done may be a batch that is in no list: a flush would wait for it without end."""
    producer = kafka.producer(linger_ms=1)
    producer.send("t", b"a").result(DEADLINE_S)
    with monkeypatch.context() as patched:
        patched.setattr(Producing, place, interrupt)
        with pytest.raises(KeyboardInterrupt):
            producer.send("t", b"b").result(DEADLINE_S)
    for call in (lambda: producer.send("t", b"c", partition=0), producer.flush, producer.poll):
        with pytest.raises(Interrupted, match="KeyboardInterrupt interrupted a step"):
            call()
    producer.close(0.0)
    with pytest.raises(Exception, match="closed"):
        producer.send("t", b"d")


def interrupt(*_arguments, **_options):
    raise KeyboardInterrupt


def status_of_child(producer, *sent):
    """How many of its calls were not refused, in a child that uses a producer of its parent."""
    calls = [
        lambda: producer.send("t", b"x"),
        lambda: producer.flush(1),
        producer.poll,
        lambda: producer.partitions("t"),
    ]
    calls += [functools.partial(one.result, 1) for one in sent if not one.is_done]
    child = os.fork()
    if child == 0:
        left = len(calls)
        try:
            for call in calls:
                try:
                    call()
                except ForkedClient:
                    left -= 1
            producer.close()
        finally:
            os._exit(left)
    deadline_s = time.monotonic() + DEADLINE_S
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline_s:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(found[1])

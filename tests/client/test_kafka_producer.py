"""A blocking producer: values that it refuses, closing, forks.

Holds: client/sending.py, client/send_path.py, client/forks.py, client/delivery.py, client/kafka.py,
client/addresses.py, client/failures.py
"""

import contextlib
import functools
import os
import signal
import threading
import time

import pytest

from headrace.client import Interrupted, Kafka
from headrace.client.engine.producing import Producing
from headrace.client.forks import ForkedClient
from headrace.ids import TopicPartition
from tests.support.waiting import DEADLINE_S, wait_until

NAME = TopicPartition("t", 0)


@pytest.fixture
def kafka(log, broker):
    log.create(*NAME)
    with Kafka(broker.address) as made:
        yield made


def values(log):
    return [record.value for record in log.records(NAME)]


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
        with pytest.raises(Interrupted, match="KeyboardInterrupt came in the middle"):
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

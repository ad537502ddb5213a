"""A blocking producer: values that it refuses, closing, forks.

Holds: client/sending.py, client/send_path.py, client/forks.py, client/delivery.py, client/kafka.py,
client/addresses.py, client/failures.py
"""

import os
import threading

import pytest

from headrace.client import Kafka
from headrace.client.forks import ForkedClient
from headrace.ids import TopicPartition
from tests.support.waiting import DEADLINE_S

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


@pytest.mark.parametrize("thread", [False])
def test_a_forked_child_gets_an_error_and_never_hangs(kafka, thread):
    producer = kafka.producer(linger_ms=1, sender_thread=thread)
    producer.send("t", b"a").result(DEADLINE_S)
    if thread:
        producer._lock.acquire()  # as the sender thread may hold it
        threading.Thread(target=lambda: producer._lock.acquire(timeout=0.2)).start()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            failures = 0
            for call in (lambda: producer.send("t", b"b"), lambda: producer.flush(1), lambda: producer.poll()):
                try:
                    call()
                except ForkedClient:
                    failures += 1
            producer.close()
            code = 0 if failures == 3 else 2
        finally:
            os._exit(code)
    if thread:
        producer._lock.release()
    _pid, status = os.waitpid(child, 0)
    producer.send("t", b"c").result(DEADLINE_S)  # the parent's own connection is as it was
    producer.close()
    assert os.waitstatus_to_exitcode(status) == 0

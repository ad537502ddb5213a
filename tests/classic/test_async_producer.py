"""The queue of an async producer, its send thread, and the hooks of each stage: P4, P5, P6, P7."""

import threading

import pytest

from headrace.classic.async_producer import AsyncProducer, BoundedQueue, QueueOptions
from headrace.classic.errors import ProducerClosed, QueueFull
from headrace.classic.handlers import DefaultEventHandler, NoCallbacks, QueueItem, callback_handler_of, event_handler_of
from headrace.classic.serializer import StringEncoder
from headrace.errors import ConfigError
from tests.support.waiting import DEADLINE_S, wait_until

HOUR_MS = 3_600_000


class Sink:
    """An event handler that keeps what it is given, and may be held up."""

    def __init__(self):
        self.batches = []
        self.props = None
        self.is_closed = False
        self.gate = threading.Event()
        self.gate.set()
        self.failure = None

    def init(self, props):
        self.props = props

    def handle(self, events, producer, encoder):
        assert self.gate.wait(DEADLINE_S)
        self.batches.append([event.data for event in events])
        if self.failure is not None:
            raise self.failure

    def close(self):
        self.is_closed = True


def producer_of(sink, callbacks=None, on_failure=None, **options):
    made = QueueOptions(**{"queue_buffering_max_ms": HOUR_MS, **options})
    return AsyncProducer(made, None, sink, StringEncoder(), callbacks, on_failure, {"a": "b"})


def item(value):
    return QueueItem("t", value)


def test_a_batch_leaves_when_it_has_batch_size_messages_p4():
    sink = Sink()
    producer = producer_of(sink, batch_num_messages=3)
    for value in "abcde":
        producer.send(item(value))
    wait_until(lambda: sink.batches)
    assert sink.batches == [["a", "b", "c"]]
    assert producer.close()
    assert sink.batches == [["a", "b", "c"], ["d", "e"]]
    assert sink.is_closed
    assert sink.props == {"a": "b"}


def test_a_batch_leaves_at_queue_time_without_another_send_p4_p5():
    sink = Sink()
    producer = producer_of(sink, queue_buffering_max_ms=1)
    producer.send(item("a"))
    wait_until(lambda: sink.batches == [["a"]])
    producer.close()


def test_the_send_thread_drains_while_the_caller_does_other_things_p5():
    sink = Sink()
    producer = producer_of(sink, batch_num_messages=1)
    assert [thread.name for thread in threading.enumerate()].count("ProducerSendThread") == 1
    for value in "abc":
        producer.send(item(value))
    wait_until(lambda: sink.batches == [["a"], ["b"], ["c"]])
    producer.close()
    assert not producer.queued


def full(sink, timeout_ms, callbacks=None):
    """A producer whose thread holds one message, and whose queue of two is full."""
    sink.gate.clear()
    producer = producer_of(
        sink, callbacks, batch_num_messages=1, queue_buffering_max_messages=2, queue_enqueue_timeout_ms=timeout_ms
    )
    producer.send(item(0))
    wait_until(lambda: producer.queued == 0)
    producer.send(item(1))
    producer.send(item(2))
    return producer


@pytest.mark.parametrize("timeout_ms", [0, 1])
def test_a_full_queue_drops_at_once_or_after_the_time_asked_for(timeout_ms):
    sink = Sink()
    producer = full(sink, timeout_ms)
    with pytest.raises(QueueFull, match=f"2 messages stayed full for {timeout_ms} ms"):
        producer.send(item(3))
    sink.gate.set()
    producer.close()
    assert sink.batches == [[0], [1], [2]]


def test_a_full_queue_waits_for_ever_at_minus_one():
    sink = Sink()
    producer = full(sink, -1)
    waiting = threading.Thread(target=producer.send, args=(item(3),))
    waiting.start()
    assert waiting.is_alive()
    sink.gate.set()
    waiting.join(DEADLINE_S)
    producer.close()
    assert sink.batches == [[0], [1], [2], [3]]


def test_a_waiting_send_ends_when_the_producer_is_closed():
    queue = BoundedQueue(1, lambda: 0.0)
    assert queue.put(item(0), -1)
    failures = []

    def put():
        try:
            queue.put(item(1), -1)
        except ProducerClosed as failure:
            failures.append(failure)

    waiting = threading.Thread(target=put)
    waiting.start()
    queue.close()
    waiting.join(DEADLINE_S)
    assert len(failures) == 1
    with pytest.raises(ProducerClosed):
        queue.put(item(2), 0)
    assert queue.get(0).data == 0
    assert queue.get(1) is None


class Hooks(NoCallbacks):
    """Writes down each stage, and changes something at each."""

    def __init__(self):
        self.calls = []

    def init(self, props):
        self.calls.append("init")

    def before_enqueue(self, item):
        self.calls.append(f"before {item.data}")
        return QueueItem(item.topic, item.data * 2)

    def after_enqueue(self, item, added):
        self.calls.append(f"after {item.data} {added}")

    def after_dequeuing_existing_data(self, item):
        if item is None:
            return ()
        return (item, QueueItem("t", "extra")) if item.data == "aa" else (item,)

    def before_sending_data(self, batch):
        return [one for one in batch if one.data != "bb"]

    def last_batch_before_close(self):
        return [QueueItem("t", "last")]

    def close(self):
        self.calls.append("close")


def test_callbacks_are_called_at_each_stage_and_may_change_what_passes_p7():
    sink, hooks = Sink(), Hooks()
    producer = producer_of(sink, hooks)
    producer.send(item("a"))
    producer.send(item("b"))
    producer.close()
    assert sink.batches == [["aa", "extra", "last"]]
    assert hooks.calls == ["init", "before a", "after aa True", "before b", "after bb True", "close"]


def test_a_dropped_message_is_reported_to_the_callback_p7():
    sink, hooks = Sink(), Hooks()
    producer = full(sink, 0, hooks)
    with pytest.raises(QueueFull):
        producer.send(item(3))
    assert hooks.calls[-1] == "after 6 False"
    sink.gate.set()
    producer.close()


class Broken(NoCallbacks):
    def before_sending_data(self, batch):
        raise ValueError("broken hook")


def test_a_failed_batch_and_a_failed_hook_are_reported_and_the_thread_lives_on():
    sink, failures = Sink(), []
    sink.failure = OSError("no broker")
    producer = producer_of(
        sink, Broken(), lambda batch, failure: failures.append((len(batch), failure)), batch_num_messages=1
    )
    producer.send(item("a"))
    wait_until(lambda: failures)
    sink.failure = None
    producer.send(item("b"))
    assert producer.close()
    assert sink.batches == [["a"], ["b"]]
    assert failures == [(1, failures[0][1])]
    assert producer.close(), "a second close is fine"


class Requests:
    def __init__(self):
        self.sent = []

    def multi_send(self, requests):
        self.sent += requests


def test_the_default_event_handler_sends_one_set_for_each_partition_p6():
    sent = Requests()
    events = [QueueItem("t", "a", "k", 1), QueueItem("t", "b", None, 1), QueueItem("u", "c", b"k")]
    DefaultEventHandler().handle(events, sent, StringEncoder())
    assert [(one.topic, one.partition, one.messages) for one in sent.sent] == [
        ("t", 1, [(b"k", b"a"), (None, b"b")]),
        ("u", -1, [(b"k", b"c")]),
    ]
    DefaultEventHandler(StringEncoder("utf-16-le")).handle([QueueItem("t", "a", "k", 0)], sent, StringEncoder())
    assert sent.sent[-1].messages == [(b"k\0", b"a")]


def test_handlers_are_found_by_class_and_what_lacks_a_method_is_refused_p6_p7():
    assert isinstance(event_handler_of("event.handler", Sink), Sink)
    assert isinstance(callback_handler_of("callback.handler", "headrace.classic.handlers.NoCallbacks"), NoCallbacks)
    with pytest.raises(ConfigError, match=r"event\.handler: has no method handle"):
        event_handler_of("event.handler", NoCallbacks)
    with pytest.raises(ConfigError, match=r"callback\.handler: has no method before_enqueue"):
        callback_handler_of("callback.handler", Sink)

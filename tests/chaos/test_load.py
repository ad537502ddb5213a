"""A client that is told of less than there is goes on, and counts what it was told; anything else ends it."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.chaos.history import History
from tests.chaos.load import IdempotentProducer


class Refusing:
    """In the place of librdkafka's producer: it takes nothing."""

    def __init__(self, code):
        self.code = code

    def produce(self, *_arguments, **_options):
        raise KafkaException(KafkaError(self.code))


def refused(code):
    producer = IdempotentProducer("refused", "127.0.0.1:1", History(), "stable", 6)
    producer.stopping.set()  # so that it does not wait between its tries
    producer._producer = Refusing(code)
    producer._send("refused-0", 5)
    assert producer._in_flight == 0
    return producer.refused, producer.unknown_partitions


def test_a_topic_or_a_partition_that_a_broker_has_not_heard_of_ends_no_producer():
    assert refused(KafkaError._UNKNOWN_TOPIC) == (1, 0)
    assert refused(KafkaError._UNKNOWN_PARTITION) == (0, 1)


def test_what_else_is_refused_ends_it():
    with pytest.raises(KafkaException):
        refused(KafkaError._MSG_TIMED_OUT)

"""The table of errors against kafka-python's: codes, names, and what a client may retry."""

import pytest
from kafka import errors as kafka_python

from headrace.errors import ErrorCode, KafkaError, cut
from headrace.limits import MESSAGE_LENGTH_MAX

THEIRS = {
    one.errno: one
    for one in vars(kafka_python).values()
    if isinstance(one, type) and issubclass(one, kafka_python.BrokerResponseError) and one.errno is not None
}
RENAMED = {  # since kafka-python took them over, or by it
    "NO_ERROR": "NONE",
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION",
    "INVALID_REPLICATION_ASSIGNMENT": "INVALID_REPLICA_ASSIGNMENT",
}
# Kafka's CorruptRecordException is a RetriableException; kafka-python takes it for final
NOT_RETRIED_BY_KAFKA_PYTHON = {ErrorCode.CORRUPT_MESSAGE}


def test_codes_have_kafkas_names():
    theirs = {code: THEIRS[code].message for code in ErrorCode}
    assert {code: RENAMED.get(name, name) for code, name in theirs.items()} == {code: code.name for code in ErrorCode}


def test_what_may_be_retried_is_what_kafkas_clients_retry():
    differ = {code for code in ErrorCode if code.retriable != bool(THEIRS[code].retriable)}
    assert differ == NOT_RETRIED_BY_KAFKA_PYTHON
    assert ErrorCode.CORRUPT_MESSAGE.retriable


@pytest.mark.parametrize("length", [0, MESSAGE_LENGTH_MAX, MESSAGE_LENGTH_MAX + 1])
def test_a_message_fits_into_a_response(length):
    text = "x" * length
    assert len(cut(text)) == min(length, MESSAGE_LENGTH_MAX)
    assert (cut(text) == text) == (length <= MESSAGE_LENGTH_MAX)


def test_an_error_carries_its_code_and_what_was_said():
    failure = KafkaError(ErrorCode.NOT_CONTROLLER, "elsewhere")
    assert (failure.code, failure.message) == (41, "elsewhere")
    assert "NOT_CONTROLLER" in str(failure)

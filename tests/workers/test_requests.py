"""Requests to the owner of a log or a group: answered now, answered later, never answered to the dead."""

import pytest

from headrace.errors import BadFrame
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord
from headrace.shm.messages import ADMIN_HEADER
from headrace.workers.partition import requests
from headrace.workers.partition.requests import Requests

KEY = int(ApiKey.INIT_PRODUCER_ID)


class RecordedAnswers:
    def __init__(self):
        self.responses = []

    def response(self, process_id, request_id, body):
        self.responses.append((process_id, request_id, body))


def message(request_id, body=b""):
    return memoryview(ADMIN_HEADER.pack(request_id, KEY, 3) + body)


@pytest.fixture
def answers():
    return RecordedAnswers()


def test_a_handler_may_answer_at_once(answers):
    Requests(answers, {KEY: lambda version, body, reply: reply(bytes(body) + b"%d" % version)}).take(
        1, message(7, b"v")
    )
    assert answers.responses == [(1, 7, b"v3")]


def test_a_reply_that_is_kept_answers_once(answers):
    kept = []
    table = Requests(answers, {KEY: lambda version, body, reply: kept.append(reply)})
    table.take(1, message(7))
    assert answers.responses == []
    kept[0](b"later")
    kept[0](b"again")
    assert answers.responses == [(1, 7, b"later")]


def test_a_reply_to_a_network_worker_that_died_is_dropped(answers):
    kept = []
    table = Requests(answers, {KEY: lambda version, body, reply: kept.append(reply)})
    table.take(1, message(7))
    table.take(2, message(7))
    table.forget(1)
    table.take(1, message(7))  # its successor counts its requests anew
    for reply in kept:
        reply(b"x")
    assert answers.responses == [(2, 7, b"x"), (1, 7, b"x")]


@pytest.mark.parametrize("failure", [BadFrame, CorruptRecord, CompressionError])
def test_a_body_that_cannot_be_decoded_gets_the_empty_answer(answers, failure):
    def refuse(version, body, reply):
        raise failure("no such thing")

    Requests(answers, {KEY: refuse}).take(1, message(7))
    assert answers.responses == [(1, 7, b"")]


def test_open_requests_are_bounded(answers, monkeypatch):
    monkeypatch.setattr(requests, "OPEN_MAX", 2)
    table = Requests(answers, {KEY: lambda version, body, reply: None})
    for request_id in range(3):
        table.take(1, message(request_id))
    assert answers.responses == [(1, 2, b"")]


def test_a_handler_that_fails_costs_its_request_and_not_the_worker(answers, caplog):
    def fail(version, body, reply):
        raise ValueError("embedded null byte")

    Requests(answers, {KEY: fail}).take(1, message(7))
    assert answers.responses == [(1, 7, b"")]
    assert f"api_key={KEY}" in caplog.text

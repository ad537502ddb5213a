import pytest

from headrace.controller.own_connection import OwnConnection
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request

REQUEST = messages.StopReplicaRequest(controller_id=3, controller_epoch=9)


class Process:
    """Notes what it is to carry out."""

    def __init__(self):
        self.taken = []

    def take(self, *request):
        self.taken.append(request)


@pytest.fixture
def process():
    return Process()


def test_a_request_reaches_the_handler_as_from_the_wire(process):
    line, told = OwnConnection(process.take), []
    assert line.ask(ApiKey.STOP_REPLICA, 4, REQUEST, told.append)
    [(api_key, version, body, reply)] = process.taken
    assert decode_request(api_key, version, memoryview(body)).controller_epoch == 9
    assert reply.is_wanted
    reply(b"answer")
    assert told == [b"answer"]
    assert not reply.is_wanted


def test_a_refusal_is_no_answer(process):
    line, told = OwnConnection(process.take), []
    line.ask(ApiKey.STOP_REPLICA, 4, REQUEST, told.append)
    process.taken[0][3].refuse()
    assert told == [None]


def test_a_closed_line_asks_nobody_and_waits_for_nothing(process):
    line, told = OwnConnection(process.take), []
    line.ask(ApiKey.STOP_REPLICA, 4, REQUEST, told.append)
    line.close()
    assert told == [None]
    assert not process.taken[0][3].is_wanted
    assert not line.ask(ApiKey.STOP_REPLICA, 4, REQUEST, told.append)

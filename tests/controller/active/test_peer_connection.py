"""The way to a broker over a socket: one request in flight, told once, asked again by whoever wants it."""

import pytest

from headrace.controller.active.peer_connection import ANSWER_TIMEOUT_MS, PeerConnection
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, encode_response
from tests.runtime.fake_node import Desk
from tests.runtime.runtime_fakes import CycleSeat
from tests.support.waiting import wait_until

REQUEST = messages.UpdateMetadataRequest(controller_id=3, controller_epoch=9, broker_epoch=5, topic_states=[])


@pytest.fixture
def desk():
    desk = Desk(CycleSeat())
    yield desk
    desk.close()


@pytest.fixture
def node(desk):
    return desk.node()


def ask(line, told):
    return line.ask(ApiKey.UPDATE_METADATA, 8, REQUEST, told.append)


def answer(node):
    body = encode_response(ApiKey.UPDATE_METADATA, 8, messages.UpdateMetadataResponse())
    node.session.answer(len(node.requests) - 1, b"\0" + body)  # no tags in the header


def test_a_request_arrives_whole_and_its_answer_too(desk, node):
    line, told = PeerConnection(desk.peers, 3, "127.0.0.1", node.port), []
    assert ask(line, told)
    desk.turn_until(lambda: node.requests)
    [(header, body)] = node.requests
    assert (header.api_key, header.api_version, header.client_id) == (ApiKey.UPDATE_METADATA, 8, "3")
    assert decode_request(ApiKey.UPDATE_METADATA, 8, memoryview(body)).controller_epoch == 9
    answer(node)
    desk.turn_until(lambda: told)
    assert decode_response(ApiKey.UPDATE_METADATA, 8, memoryview(told[0])).error_code == 0
    assert len(told) == 1


def test_one_request_is_in_flight(desk, node):
    line, told = PeerConnection(desk.peers, 3, "127.0.0.1", node.port), []
    assert ask(line, told)
    assert not ask(line, told)
    desk.turn_until(lambda: node.requests)
    assert not ask(line, told)
    answer(node)
    desk.turn_until(lambda: told)
    assert ask(line, told)


def test_a_connection_that_breaks_is_told_and_made_again(desk, node):
    line, told = PeerConnection(desk.peers, 3, "127.0.0.1", node.port), []
    ask(line, told)
    desk.turn_until(lambda: node.requests)
    node.session.reset()
    desk.turn_until(lambda: told)
    assert told == [None]
    assert ask(line, told)
    wait_until(lambda: (desk.pass_ms(50) and False) or (len(node.sessions) == 2 and node.requests))
    answer(node)
    desk.turn_until(lambda: len(told) == 2)
    assert told[1] is not None


def test_a_broker_that_does_not_answer_is_given_up_in_time(desk, node):
    line, told = PeerConnection(desk.peers, 3, "127.0.0.1", node.port), []
    ask(line, told)
    desk.turn_until(lambda: node.requests)
    desk.pass_ms(ANSWER_TIMEOUT_MS - 1)
    assert told == []
    desk.pass_ms(2)
    assert told == [None]


def test_a_closed_line_asks_nobody(desk, node):
    line, told = PeerConnection(desk.peers, 3, "127.0.0.1", node.port), []
    ask(line, told)
    line.close()
    assert told == [None]
    assert not ask(line, told)
    assert len(desk.peers) == 0
    PeerConnection(desk.peers, 3, "127.0.0.1", node.port).close()


def test_a_knock_is_the_smallest_request_that_every_broker_answers(desk, node):
    line, heard = PeerConnection(desk.peers, 3, "127.0.0.1", node.port), []
    assert line.knock(heard.append)
    desk.turn_until(lambda: node.requests)
    [(header, body)] = node.requests
    assert (header.api_key, header.api_version, bytes(body)) == (ApiKey.API_VERSIONS, 0, b"")
    node.session.answer(0, encode_response(ApiKey.API_VERSIONS, 0, messages.ApiVersionsResponse()))
    desk.turn_until(lambda: heard)
    assert line.knock(heard.append)
    desk.turn_until(lambda: node.requests)
    node.session.reset()
    desk.turn_until(lambda: len(heard) == 2)
    assert heard == [True, False]

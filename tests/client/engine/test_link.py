"""A link as its requests see it, and which link they take: each request is answered once, whatever the bytes and the sockets do."""

import random
import struct

import pytest

from headrace.client.engine.link import Lane, LinkState
from headrace.client.engine.requests import LATE_S, Requests, bootstrap_id
from headrace.client.failures import ConnectionFailed, NotSent
from headrace.errors import ErrorCode, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from headrace.protocol.frames import parse_request_header

NODE = bootstrap_id(0)
FIND = (ApiKey.FIND_COORDINATOR, (0, 2), messages.FindCoordinatorRequest(key="g"))
PRODUCE = (ApiKey.PRODUCE, (3, 8), messages.ProduceRequest(acks=0))


class Wire:
    """One client's requests, and the bytes of its links."""

    def __init__(self, security=None):
        self.requests = Requests([("a", 1), ("b", 2)], "me", security, lambda: 0.5)
        self.answers = []
        self.now_s = 100.0

    def ask(self, request=FIND, node=NODE, timeout_s=30.0, lane=Lane.GENERAL, is_answered=True, label=None):
        label = len(self.answers) if label is None else label
        place = []
        self.answers.append(place)
        self.requests.ask(node, *request, place.append, self.now_s, timeout_s, lane, is_answered)
        return place

    def open(self):
        """The link that is wanted next, connected."""
        link = self.requests.wanted.pop(0)
        link.opening()
        self.requests.is_connected(link, self.now_s)
        return link

    def ready(self, link, rows=None):
        """Its broker says what it serves."""
        kind = messages.ApiVersionsResponse
        rows = rows or dict.fromkeys(ApiKey, (0, 20))
        served = [kind.ApiVersion(key, low, min(high, 8)) for key, (low, high) in rows.items()]
        (sent,) = self.sent(link)
        assert parse_request_header(sent).api_key == ApiKey.API_VERSIONS
        self.answer(link, sent, kind(api_keys=served))

    def sent(self, link, count=None):
        """Frames that go out now."""
        data = b"".join(bytes(part) for part in link.out.gather())[:count]
        link.out.sent(len(data))
        frames = []
        while len(data) >= 4:
            (size,) = struct.unpack_from(">i", data)
            frames.append(memoryview(data[4 : 4 + size]))
            data = data[4 + size :]
        return frames

    def answer(self, link, frame, message):
        header = parse_request_header(frame)
        body = encode_response(header.api_key, header.api_version, message)
        self.receive(link, struct.pack(">ii", 4 + len(body), header.correlation_id) + body)

    def receive(self, link, data):
        for at in range(0, len(data), 50):
            part = data[at : at + 50]
            if link.state is LinkState.CLOSED:
                return
            link.room()[: len(part)] = part
            self.requests.has_received(link, len(part), self.now_s)

    def turn(self, seconds=0.0):
        self.requests.next_s()
        self.now_s += seconds
        self.requests.turn(self.now_s)


@pytest.fixture
def wire():
    return Wire()


def failure_of(place):
    (answer,) = place
    return answer.failure


FOUND = messages.FindCoordinatorResponse(node_id=3, host="h", port=1)


def test_requests_wait_for_the_greeting_and_are_pipelined_after_it(wire):
    first, second = wire.ask(), wire.ask()
    link = wire.open()
    wire.ready(link)
    frames = wire.sent(link)
    assert len(frames) == 2
    assert link.is_ready
    wire.answer(link, frames[0], FOUND)
    assert first[0].body.node_id == 3
    assert not second
    wire.answer(link, frames[1], FOUND)
    assert second[0].version == 2


def test_a_response_of_another_correlation_id_fails_all_that_is_in_flight(wire):
    first, second = wire.ask(), wire.ask()
    link = wire.open()
    wire.ready(link)
    frames = wire.sent(link)
    wire.answer(link, frames[1], FOUND)
    assert isinstance(failure_of(first), ConnectionFailed)
    assert "correlation" in str(failure_of(first))
    assert isinstance(failure_of(second), ConnectionFailed)
    assert link.state is LinkState.CLOSED
    assert wire.requests.closed == [link]


def test_a_response_that_can_not_be_decoded_fails_its_request_too(wire):
    first = wire.ask()
    link = wire.open()
    wire.ready(link)
    header = parse_request_header(wire.sent(link)[0])
    wire.receive(link, struct.pack(">ii", 8, header.correlation_id) + b"\xff" * 4)
    assert isinstance(failure_of(first), ConnectionFailed)


@pytest.mark.parametrize("seed", range(200))
def test_whatever_bytes_come_each_request_is_answered_once(wire, seed):
    chance = random.Random(seed)
    places = [wire.ask() for _ in range(3)]
    link = wire.open()
    wire.ready(link)
    frames = wire.sent(link)
    good = b""
    for frame in frames:
        body = encode_response(ApiKey.FIND_COORDINATOR, 2, FOUND)
        good += struct.pack(">ii", 4 + len(body), parse_request_header(frame).correlation_id) + body
    bad = bytearray(good)
    for _ in range(chance.randrange(1, 6)):
        bad[chance.randrange(len(bad))] = chance.randrange(256)
    wire.receive(link, bytes(bad[: chance.randrange(len(bad) + 1)]))
    wire.requests.close()
    assert [len(place) for place in places] == [1, 1, 1]


def test_a_broker_that_does_not_serve_the_version_is_named(wire):
    place = wire.ask((ApiKey.FIND_COORDINATOR, (9, 10), FIND[2]))
    link = wire.open()
    wire.ready(link)
    assert failure_of(place).code is ErrorCode.UNSUPPORTED_VERSION
    assert "a:1 supports v0 to v8" in str(failure_of(place))
    assert link.is_ready


def test_a_request_without_a_response_is_done_once_the_socket_has_it(wire):
    place = wire.ask(PRODUCE, is_answered=False)
    link = wire.open()
    wire.ready(link)
    wire.turn()
    assert not place
    assert len(link) == 1
    wire.sent(link, 5)
    wire.turn()
    assert not place
    wire.sent(link)
    assert wire.requests.next_s() <= wire.now_s  # at once
    wire.turn()
    assert place[0].failure is None
    assert len(link) == 0


def test_a_request_without_a_response_fails_where_the_link_breaks_before(wire):
    place = wire.ask(PRODUCE, is_answered=False)
    link = wire.open()
    wire.ready(link)
    wire.requests.drop(link, ConnectionFailed("broken"), wire.now_s)
    assert isinstance(failure_of(place), ConnectionFailed)


def test_lanes_have_links_of_their_own(wire):
    wire.ask()
    wire.ask(lane=Lane.FETCH)
    assert [link.key for link in wire.requests.wanted] == [(NODE, Lane.GENERAL), (NODE, Lane.FETCH)]


def test_a_late_response_closes_the_link(wire):
    place = wire.ask(timeout_s=5.0)
    link = wire.open()
    wire.ready(link)
    wire.turn(4.9)
    assert not place
    wire.turn(0.1)
    assert "no response in time" in str(failure_of(place))
    assert link.state is LinkState.CLOSED


def test_a_request_that_waits_for_a_link_has_its_deadline_as_well(wire):
    place = wire.ask(timeout_s=5.0)
    wire.open()
    wire.turn(5.0)
    assert "no response in time" in str(failure_of(place))


def test_no_deadline_counts_before_the_sockets_were_read_after_a_long_absence(wire):
    place = wire.ask(timeout_s=5.0)
    link = wire.open()
    wire.ready(link)
    (frame,) = wire.sent(link)
    wire.turn(60.0)  # the caller computed, the response is in the socket
    assert not place
    wire.answer(link, frame, FOUND)
    assert place[0].failure is None


def test_a_caller_may_be_away_right_after_it_asked(wire):
    wire.turn()
    place = wire.ask(timeout_s=5.0)
    wire.now_s += 60.0
    wire.requests.turn(wire.now_s)
    assert not place


def test_an_absence_defers_a_deadline_once(wire):
    place = wire.ask(timeout_s=5.0)
    wire.open()
    wire.turn(60.0)
    for _ in range(3):
        at_s = wire.requests.next_s()
        wire.turn(at_s - wire.now_s + LATE_S / 2)
    assert "no response in time" in str(failure_of(place))


def test_a_broker_that_can_not_be_reached_is_left_alone_for_ever_longer(wire):
    pauses = []
    for _ in range(8):
        place = wire.ask()
        assert not wire.requests.wanted or not pauses
        while not wire.requests.wanted:
            before = wire.now_s
            wire.turn(wire.requests.next_s() - wire.now_s)
            pauses.append(wire.now_s - before)
        link = wire.requests.wanted.pop()
        link.opening()
        wire.requests.drop(link, NotSent("refused"), wire.now_s)
        assert isinstance(failure_of(place), NotSent)
    assert pauses == sorted(pauses)
    assert pauses[-1] == 1.0


def test_a_request_that_waits_for_a_broker_fails_at_its_deadline(wire):
    wire.ask()
    link = wire.requests.wanted.pop()
    link.opening()
    wire.requests.drop(link, NotSent("refused"), wire.now_s)
    place = wire.ask(timeout_s=0.01)
    wire.turn(0.01)
    assert isinstance(failure_of(place), NotSent)


def test_requests_that_waited_for_a_link_go_before_later_ones(wire):
    wire.ask(lane=Lane.FETCH)
    other = wire.open()
    wire.ask()
    link = wire.requests.wanted.pop()
    link.opening()
    wire.requests.drop(link, NotSent("refused"), wire.now_s)
    first = wire.ask()
    wire.ready(other)  # the broker is there after all: the next request need not wait
    second = wire.ask()
    wire.turn()
    link = wire.open()
    wire.ready(link)
    frames = wire.sent(link)
    wire.answer(link, frames[0], FOUND)
    assert first
    assert not second


def test_an_unknown_broker_is_no_request(wire):
    assert "broker 7 is not known" in str(failure_of(wire.ask(node=7)))


def test_any_node_prefers_one_that_is_connected(wire):
    assert {wire.requests.any_node(wire.now_s) for _ in range(4)} == {bootstrap_id(0), bootstrap_id(1)}
    wire.ask(node=bootstrap_id(1))
    wire.ready(wire.open())
    assert {wire.requests.any_node(wire.now_s) for _ in range(4)} == {bootstrap_id(1)}


def test_an_idle_link_is_closed_and_so_is_one_whose_broker_has_moved(wire):
    wire.requests.brokers = {1: ("x", 1)}
    wire.ask(node=1)
    link = wire.open()
    wire.ready(link)
    wire.answer(link, wire.sent(link)[0], FOUND)
    wire.turn()
    assert wire.requests.link(1) is link
    wire.requests.brokers = {1: ("y", 1)}
    wire.turn()
    assert wire.requests.link(1) is None
    assert wire.requests.closed == [link]


def test_closing_answers_everything_once(wire):
    places = [wire.ask(), wire.ask(lane=Lane.GROUP)]
    link = wire.open()
    wire.ready(link)
    wire.requests.close()
    places.append(wire.ask())
    assert all(isinstance(failure_of(place), ConnectionFailed) for place in places)


def test_a_refused_handshake_is_what_its_requests_fail_with():
    class Refusing:
        def handshake(self):
            yield ApiKey.SASL_HANDSHAKE, (0, 1), messages.SaslHandshakeRequest(mechanism="PLAIN")
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "no")

    wire = Wire(security=Refusing())
    place = wire.ask()
    link = wire.open()
    wire.ready(link)
    wire.answer(link, wire.sent(link)[0], messages.SaslHandshakeResponse())
    assert failure_of(place).code is ErrorCode.SASL_AUTHENTICATION_FAILED

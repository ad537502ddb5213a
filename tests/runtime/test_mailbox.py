"""Requests and replies over real rings: each pair of processes, large bodies, bounds, and hostile messages."""

import random
import struct

import pytest

from headrace.errors import BadFrame, ErrorCode, KafkaError, StorageFailed
from headrace.limits import (
    MAIL_REPLY_BYTES_MAX,
    MAIL_REQUEST_BYTES_MAX,
)
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord
from headrace.runtime import mailbox as mailbox_module
from headrace.shm.messages import (
    PART_HEADER,
    REPLY,
    REPLY_HEADER,
    REPLY_PART,
    REQUEST,
    REQUEST_HEADER,
    REQUEST_PART,
    ReplyStatus,
)
from tests.support.seats import CONTROLLER, HOUSEKEEPER, NAMES, NETWORK, OTHER_PARTITION, PAIRS, PARTITION, Asker

KIND = -99
UNKNOWN = -98
ANSWERED, REFUSED = ReplyStatus.ANSWERED, ReplyStatus.REFUSED
ROLES = range(5)


class Pair:
    """Two mailboxes; `kept` are the replies that the second one owes."""

    def __init__(self, seats, asker, asked, handler=None, **bounds):
        self.asker_id, self.asked_id = asker, asked
        self.kept = []
        self.asked = Asker(seats.seat(asked), {KIND: handler or (lambda version, body, reply: self.kept.append(reply))})
        self.asker = Asker(seats.seat(asker), **bounds)

    def ask(self, body=b"", kind=KIND, **more):
        return self.asker.ask(self.asked_id, kind, body, **more)

    def turn(self, cycles=1):
        for _ in range(cycles):
            self.asked.turn()
            self.asker.turn()
        return self.asker.replies

    def write(self, message, body):
        """A message that no mailbox would send, from the asker."""
        writer = self.asker.seat.writers[self.asked_id]
        assert writer.write(message, body)
        writer.commit()

    def write_back(self, message, body):
        """The same, from the one that is asked."""
        writer = self.asked.seat.writers[self.asker_id]
        assert writer.write(message, body)
        writer.commit()


def echo(version, body, reply):
    reply(bytes(body) + b"%d" % version)


@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_any_two_roles_ask_each_other(seats, asker, asked):
    pair = Pair(seats, asker, asked, echo)
    assert pair.ask(b"question", version=3)
    assert pair.turn() == [(ANSWERED, b"question3")]
    assert len(pair.asker.mailbox) == 0


def test_every_pair_that_has_rings_is_tested(seats):
    joined = {frozenset(pair) for pair in seats.wiring.pairs()}
    second = {NETWORK: 0, PARTITION: 1, OTHER_PARTITION: 1, CONTROLLER: 3, HOUSEKEEPER: 4}
    of_roles = {frozenset((second[a], second[b])) for a, b in map(tuple, joined)}
    assert of_roles == {frozenset((second[a], second[b])) for a, b in PAIRS}


def test_a_reply_that_is_kept_answers_once(seats):
    pair = Pair(seats, NETWORK, PARTITION)
    pair.ask()
    assert pair.turn() == []
    assert pair.kept[0].is_wanted
    pair.kept[0](b"later")
    pair.kept[0](b"again")
    pair.kept[0].refuse()
    assert not pair.kept[0].is_wanted
    assert pair.turn() == [(ANSWERED, b"later")]


def test_replies_find_their_requests_in_whatever_order_they_come(seats):
    pair = Pair(seats, CONTROLLER, PARTITION)
    told = []
    for number in range(10):
        assert pair.asker.mailbox.ask(
            PARTITION, KIND, b"", lambda status, body, number=number: told.append((number, bytes(body)))
        )
    pair.turn()
    pair.asker.mailbox.flush()
    pair.turn()
    order = list(range(10))
    random.Random(5).shuffle(order)
    for number in order:
        pair.kept[number](b"%d" % number)
    pair.turn()
    assert told == [(number, b"%d" % number) for number in order]


@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_large_bodies_go_either_way(seats, asker, asked):
    pair = Pair(seats, asker, asked, lambda version, body, reply: reply(bytes(body)[::-1]))
    bodies = [random.Random(size).randbytes(size) for size in (1_000_000, 0, 40_000, 300_000)]
    for body in bodies:
        assert pair.ask(body)
    pair.turn(400)
    assert pair.asker.replies == [(ANSWERED, body[::-1]) for body in bodies]
    assert not len(pair.asked.mailbox._requests)
    assert not len(pair.asker.mailbox._replies)


def test_sizes_at_the_edge_of_a_message(seats):
    pair = Pair(seats, PARTITION, OTHER_PARTITION, lambda version, body, reply: reply(bytes(body)))
    most = pair.asker.seat.writers[OTHER_PARTITION].message_bytes_max - mailbox_module.HEADER_BYTES
    bodies = [bytes([size % 251]) * size for count in (1, 2) for size in range(count * most - 2, count * most + 3)]
    for body in bodies:
        pair.ask(body)
        pair.turn(10)
    assert pair.asker.replies == [(ANSWERED, body) for body in bodies]


def test_a_body_above_the_largest_is_not_sent(seats):
    pair = Pair(seats, NETWORK, PARTITION)
    assert not pair.ask(bytes(MAIL_REQUEST_BYTES_MAX + 1))
    assert len(pair.asker.mailbox) == 0
    assert pair.turn() == []


def test_a_reply_above_the_largest_is_a_refusal(seats):
    pair = Pair(seats, NETWORK, PARTITION, lambda version, body, reply: reply(bytes(MAIL_REPLY_BYTES_MAX + 1)))
    pair.ask()
    assert pair.turn() == [(REFUSED, b"")]


def test_requests_in_flight_are_bounded_on_the_askers_side(seats):
    pair = Pair(seats, HOUSEKEEPER, PARTITION, in_flight_max=2)
    assert [pair.ask() for _ in range(3)] == [True, True, False]
    assert pair.asker.ask(OTHER_PARTITION, KIND), "another process has its own"
    pair.turn()
    pair.kept[0](b"")
    pair.turn()
    assert pair.ask()


def test_requests_in_flight_are_bounded_on_the_other_side_too(seats, monkeypatch, caplog):
    pair = Pair(seats, NETWORK, PARTITION)
    monkeypatch.setattr(mailbox_module, "MAIL_REQUESTS_MAX", 2)
    for _ in range(3):
        pair.ask()
    assert pair.turn() == [(REFUSED, b"")]
    assert len(pair.kept) == 2
    assert "2 requests are already waiting" in caplog.text


def test_a_peer_that_takes_no_replies_is_refused_what_it_asks_beyond_twice_the_bound(seats, monkeypatch, caplog):
    bound, size = 1 << 20, 100_000
    monkeypatch.setattr("headrace.runtime.outbox.MAIL_BACKLOG_BYTES_MAX", bound)
    pair = Pair(seats, HOUSEKEEPER, PARTITION, lambda version, body, reply: reply(bytes(size)))
    for _ in range(100):
        pair.ask()
        pair.asked.turn()
    assert pair.asked.mailbox.congested == {HOUSEKEEPER}
    assert bound < sum(pair.asked.mailbox._outbox._bytes.values()) <= 2 * bound + size
    assert "its replies are not being read" in caplog.text
    pair.turn(200)
    answered = pair.asker.replies.count((ANSWERED, bytes(size)))
    assert 20 <= answered <= 24
    assert pair.asker.replies.count((REFUSED, b"")) == 100 - answered
    assert not pair.asked.mailbox.congested


@pytest.mark.parametrize(("one", "other"), [(PARTITION, OTHER_PARTITION), (CONTROLLER, PARTITION)])
def test_two_that_ask_each_other_too_much_go_on(seats, one, other, monkeypatch):
    """Each has more to say than its ring takes, and takes what the other says all the same."""
    bound, size = 1 << 20, 100_000
    monkeypatch.setattr("headrace.runtime.outbox.MAIL_BACKLOG_BYTES_MAX", bound)
    peers = {
        process_id: Asker(seats.seat(process_id), {KIND: lambda version, body, reply: reply(bytes(size))})
        for process_id in (one, other)
    }
    for process_id, peer in peers.items():
        for _ in range(100):
            assert peer.ask(one if process_id == other else other, KIND)
    for peer in peers.values():
        peer.turn()
    for peer in peers.values():
        assert peer.mailbox.congested
        assert sum(peer.mailbox._outbox._bytes.values()) <= 2 * bound + size
    cycles = 0
    while any(len(peer.mailbox) for peer in peers.values()):
        for peer in peers.values():
            peer.turn()
        cycles += 1
        assert cycles < 1_000
    for peer in peers.values():
        assert {status for status, _body in peer.replies} == {ANSWERED, REFUSED}
        assert not peer.mailbox.congested


@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_a_kind_without_a_handler_is_refused_and_logged(seats, asker, asked, caplog):
    pair = Pair(seats, asker, asked, echo)
    pair.ask(kind=UNKNOWN)
    assert pair.turn() == [(ReplyStatus.UNKNOWN_KIND, b"")]
    assert f"process={asker} kind={UNKNOWN} reason=unknown kind" in caplog.text
    pair.ask(b"x")
    assert pair.turn()[1:] == [(ANSWERED, b"x0")]


@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_a_message_of_an_unknown_kind_is_logged_once(seats, asker, asked, caplog):
    pair = Pair(seats, asker, asked, echo)
    for _ in range(3):
        pair.write(200, b"whatever it is")
    pair.ask(b"x")
    assert pair.turn() == [(ANSWERED, b"x0")]
    assert caplog.text.count(f"process={asker} kind=200") == 1


@pytest.mark.parametrize(
    "failure",
    [BadFrame("no"), CorruptRecord("no"), CompressionError("no"), KafkaError(ErrorCode.INVALID_REQUEST, "no")],
)
def test_a_handler_may_refuse(seats, failure, caplog):
    def refuse(version, body, reply):
        raise failure

    pair = Pair(seats, NETWORK, PARTITION, refuse)
    pair.ask()
    assert pair.turn() == [(REFUSED, b"")]
    assert f"request refused kind={KIND}" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_handler_that_fails_costs_its_request_and_not_the_process(seats, caplog):
    def fail(version, body, reply):
        raise ValueError("embedded null byte")

    pair = Pair(seats, NETWORK, PARTITION, fail)
    pair.ask()
    assert pair.turn() == [(REFUSED, b"")]
    assert "embedded null byte" in caplog.text


def test_a_failure_of_the_node_goes_through(seats):
    def fail(version, body, reply):
        raise StorageFailed("it is gone")

    pair = Pair(seats, NETWORK, PARTITION, fail)
    pair.ask()
    with pytest.raises(StorageFailed):
        pair.asked.turn()


def test_a_reply_that_its_asker_can_not_take_costs_the_asker_nothing(seats, caplog):
    pair = Pair(seats, HOUSEKEEPER, PARTITION, echo)

    def fail(status, body):
        raise struct.error("unpack requires a buffer of 2 bytes")

    pair.asker.mailbox.ask(PARTITION, KIND, b"", fail)
    pair.ask(b"x")
    assert pair.turn() == [(ANSWERED, b"x0")]
    assert "reply handler failed" in caplog.text


def test_what_is_told_is_not_answered(seats):
    pair = Pair(seats, PARTITION, CONTROLLER)
    assert pair.asker.mailbox.tell(CONTROLLER, KIND, b"news")
    assert pair.asker.mailbox.tell(CONTROLLER, UNKNOWN, b"news")
    pair.asker.mailbox.flush()
    pair.turn()
    [reply] = pair.kept
    assert not reply.is_wanted
    reply(b"thanks")
    reply.refuse()
    assert pair.asker.turn() == 0


def test_what_is_told_does_not_pile_up(seats):
    pair = Pair(seats, PARTITION, CONTROLLER)
    count = 0
    while pair.asker.mailbox.tell(CONTROLLER, KIND, bytes(1000)):
        count += 1
    assert 10 < count < 100
    assert len(pair.asker.mailbox._outbox) == 1
    pair.asker.mailbox.flush()
    pair.turn()
    pair.asker.mailbox.flush()
    assert pair.asker.mailbox.tell(CONTROLLER, KIND, b"")


def test_a_withdrawn_request_is_not_answered_and_its_parts_are_let_go_of(seats):
    pair = Pair(seats, NETWORK, PARTITION)
    sent = []
    assert pair.ask(bytes(70_000), post=lambda *message: sent.append(message))
    assert [kind for _process, kind, _header, _payload in sent] == [REQUEST_PART, REQUEST_PART, REQUEST]
    pair.write(REQUEST_PART, sent[0][2] + bytes(sent[0][3]))
    pair.asked.turn()
    assert len(pair.asked.mailbox._requests) == 1
    pair.asker.mailbox.withdraw(PARTITION, sent[2][2])
    assert len(pair.asker.mailbox) == 0
    pair.asker.mailbox.flush()
    assert pair.turn() == []
    assert len(pair.asked.mailbox._requests) == 0


def test_nothing_is_kept_of_a_process_that_died(seats):
    pair = Pair(seats, NETWORK, PARTITION)
    pair.ask()
    pair.turn()
    pair.write(REQUEST_PART, PART_HEADER.pack(2, 0) + b"begun")
    pair.write_back(REPLY_PART, PART_HEADER.pack(1, 0) + b"begun")
    pair.turn()
    assert (len(pair.asked.mailbox._requests), len(pair.asker.mailbox._replies)) == (1, 1)
    while not len(pair.asker.mailbox._outbox):
        pair.ask(bytes(30_000))
    pair.asked.mailbox.forget(NETWORK)
    pair.asker.mailbox.forget(PARTITION)
    for mailbox in (pair.asked.mailbox, pair.asker.mailbox):
        assert not len(mailbox._requests) + len(mailbox._replies) + len(mailbox._outbox) + len(mailbox)
    assert {status for status, _body in pair.asker.replies} == {ReplyStatus.PEER_DIED}


# Hostile messages


def test_an_id_in_use_is_not_taken_a_second_time(seats, caplog):
    pair = Pair(seats, NETWORK, PARTITION)
    pair.ask()
    pair.turn()
    pair.write(REQUEST, REQUEST_HEADER.pack(1, KIND, 0, 0))
    pair.turn()
    assert "id 1 is in use" in caplog.text
    pair.kept[0](b"once")
    assert pair.turn() == [(ANSWERED, b"once")]
    assert len(pair.kept) == 1


def test_a_second_reply_changes_nothing(seats):
    pair = Pair(seats, NETWORK, PARTITION, echo)
    pair.ask(b"x")
    pair.turn()
    for body in (b"", b"y"):
        pair.write_back(REPLY, REPLY_HEADER.pack(1, ANSWERED, 0) + body)
        pair.write_back(REPLY_PART, PART_HEADER.pack(1, 0) + body)
    assert pair.turn() == [(ANSWERED, b"x0")]
    assert len(pair.asker.mailbox._replies) == 0


def test_a_reply_of_a_process_that_was_not_asked_is_none(seats):
    pair = Pair(seats, NETWORK, PARTITION)
    pair.ask()
    other = seats.seat(CONTROLLER).writers[NETWORK]
    assert other.write(REPLY, REPLY_HEADER.pack(1, ANSWERED, 0))
    other.commit()
    assert pair.turn() == []
    pair.kept[0](b"mine")
    assert pair.turn() == [(ANSWERED, b"mine")]


@pytest.mark.parametrize("status", [REFUSED, ReplyStatus.PEER_DIED, 77, -1])
def test_a_status_that_none_sends_is_a_refusal(seats, status):
    pair = Pair(seats, NETWORK, PARTITION)
    pair.ask()
    pair.turn()
    pair.write_back(REPLY, REPLY_HEADER.pack(1, status, 0) + b"body")
    assert pair.turn() == [(REFUSED, b"")]


@pytest.mark.parametrize("begun", [1, 10, 2**32 - 1])
def test_an_end_whose_parts_never_came_is_refused_on_either_side(seats, begun, caplog):
    pair = Pair(seats, NETWORK, PARTITION)
    pair.ask()
    pair.turn()
    pair.write_back(REPLY, REPLY_HEADER.pack(1, ANSWERED, begun) + b"body")
    assert pair.turn() == [(REFUSED, b"")]
    pair.write(REQUEST, REQUEST_HEADER.pack(2, KIND, 0, begun) + b"body")
    pair.turn()
    assert "incomplete parts" in caplog.text
    assert len(pair.kept) == 1


def test_parts_without_an_end_are_bounded(seats):
    pair = Pair(seats, NETWORK, PARTITION, echo)
    bound = mailbox_module.MAIL_BEGUN_REQUESTS_BYTES_MAX
    part = bytes(30_000)
    for number in range(bound // len(part) + 100):
        pair.write(REQUEST_PART, PART_HEADER.pack(number + 1, 0) + part)
        pair.asked.turn()
    assert bound - 2 * len(part) < pair.asked.mailbox._requests.bytes_of(NETWORK) <= bound
    pair.asker.mailbox._last_id = 10_000
    pair.ask(b"x")
    assert pair.turn() == [(ANSWERED, b"x0")]


@pytest.mark.parametrize("message", [REQUEST, REPLY, REQUEST_PART, REPLY_PART])
@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_bodies_of_any_length_end_no_process(seats, asker, asked, message, caplog):
    chance = random.Random(5)
    pair = Pair(seats, asker, asked, echo)
    for size in range(mailbox_module.HEADER_BYTES):
        pair.write(message, bytes(size))
        pair.write(message, chance.randbytes(size))
    assert pair.turn() == []
    assert caplog.text.count(f"message refused process={asker} kind={message}") == 2 * mailbox_module.HEADER_BYTES
    for size in range(mailbox_module.HEADER_BYTES, 40):
        pair.write(message, bytes(size))
        pair.write(message, chance.randbytes(size))
    pair.turn()
    pair.ask(b"x")
    assert pair.turn(2)[-1] == (ANSWERED, b"x0")

"""Each pair of roles, and the other end is killed with requests in flight: the asked one, then the asker."""

import os
import signal
import time

import pytest

from headrace.shm.messages import ReplyStatus
from tests.support.seats import CONTROLLER, NAMES, NETWORK, PAIRS, PARTITION, Asker

pytestmark = pytest.mark.process

KIND = -99
REQUESTS = 5
LARGE = bytes(range(256)) * 2_000


def keep_asking(mailbox):
    """Turn for ever."""
    while True:
        mailbox.turn()
        time.sleep(0.001)


def serve_with(seats, process_id, handler):
    """A child that serves KIND."""

    def act():
        keep_asking(Asker(seats.seat(process_id), {KIND: handler}))

    return seats.fork(act)


@pytest.mark.parametrize("body", [b"small", LARGE], ids=["small", "in parts"])
@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_the_asked_one_is_killed(seats, asker, asked, body):
    here, there = os.pipe()
    pid = serve_with(seats, asked, lambda version, body, reply: os.write(there, b"."))  # and never replies
    own = Asker(seats.seat(asker))
    for _ in range(REQUESTS):
        assert own.ask(asked, KIND, body)
    taken = 0
    while taken < REQUESTS:
        own.turn()
        os.set_blocking(here, False)
        try:
            taken += len(os.read(here, 100))
        except BlockingIOError:
            time.sleep(0.001)
    assert own.ask(asked, KIND, LARGE)  # of which a part may be in the ring
    assert own.replies == []
    seats.kill(pid, asked)
    own.turn()
    assert own.replies == [(ReplyStatus.PEER_DIED, b"")] * (REQUESTS + 1)
    pid = serve_with(seats, asked, lambda version, body, reply: reply(bytes(body)))
    own.replies.clear()
    assert own.ask(asked, KIND, body)
    own.turn_until(lambda: own.replies)
    assert own.replies == [(ReplyStatus.ANSWERED, body)]
    assert len(own.mailbox) == 0


@pytest.mark.parametrize("body", [b"small", LARGE], ids=["small", "in parts"])
@pytest.mark.parametrize(("asker", "asked"), PAIRS, ids=lambda one: NAMES[one])
def test_the_asker_is_killed(seats, asker, asked, body):
    kept = []
    own = Asker(seats.seat(asked), {KIND: lambda version, body, reply: kept.append((reply, bytes(body)))})

    def ask_for_ever():
        other = Asker(seats.seat(asker))
        for _ in range(REQUESTS):
            other.ask(asked, KIND, body)
        keep_asking(other)

    pid = seats.fork(ask_for_ever)
    own.turn_until(lambda: len(kept) == REQUESTS)
    kept[0][0](b"one was answered")
    seats.kill(pid, asker)

    def ask_once():
        other = Asker(seats.seat(asker))
        other.ask(asked, KIND, b"successor")  # with the id that its predecessor began with
        other.turn_until(lambda: other.replies)
        assert other.replies == [(ReplyStatus.ANSWERED, b"for the successor")]

    own.turn()
    assert not any(reply.is_wanted for reply, _body in kept)
    pid = seats.fork(ask_once)
    own.turn_until(lambda: len(kept) == REQUESTS + 1)
    for reply, _body in kept[:REQUESTS]:
        reply(b"for the dead")
        reply.refuse()
    own.mailbox.flush()
    reply, asked_for = kept[-1]
    assert asked_for == b"successor"
    reply(b"for the successor")
    own.mailbox.flush()
    assert seats.reap(pid) == 0
    assert len(own.mailbox._requests) == 0


def test_a_request_to_a_dead_process_is_lost_with_it_though_its_rings_are_not_there_yet(seats):
    """Between a death and the successor's rings the ends lead nowhere; `changed` names the process once more then."""
    pid = serve_with(seats, PARTITION, lambda version, body, reply: None)
    own = Asker(seats.seat(NETWORK))
    own.ask(PARTITION, KIND)
    os.kill(pid, signal.SIGKILL)
    seats.reap(pid)
    make_rings = seats.fabric._make_rings
    seats.fabric._make_rings = lambda *_renewed: False  # /dev/shm is full
    seats.fabric.renew(PARTITION)
    own.turn()
    assert own.replies == [(ReplyStatus.PEER_DIED, b"")]
    assert own.ask(PARTITION, KIND)
    seats.fabric._make_rings = make_rings
    assert seats.fabric.settle(PARTITION)
    own.turn()
    assert own.replies == [(ReplyStatus.PEER_DIED, b"")] * 2


def test_who_asks_again_in_the_reply_that_tells_of_a_death_is_answered_by_the_successor(seats):
    pid = serve_with(seats, PARTITION, lambda version, body, reply: None)
    own = Asker(seats.seat(CONTROLLER))
    told = []

    def on_reply(status, body):
        told.append(status)
        if status is ReplyStatus.PEER_DIED:
            own.mailbox.ask(PARTITION, KIND, b"", on_reply)

    own.mailbox.ask(PARTITION, KIND, b"", on_reply)
    own.mailbox.flush()
    seats.kill(pid, PARTITION)
    serve_with(seats, PARTITION, lambda version, body, reply: reply(b""))
    own.turn_until(lambda: told and told[-1] is ReplyStatus.ANSWERED)
    assert set(told[:-1]) == {ReplyStatus.PEER_DIED}

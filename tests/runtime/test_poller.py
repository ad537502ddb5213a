"""The doorbell and sockets in one epoll."""

import os
import socket

import pytest

from headrace.runtime.poller import BROKEN, READ, WRITE, Poller

LONG_MS = 100_000  # a test that sleeps so long has failed


@pytest.fixture
def poller(seat):
    poller = Poller(seat.doorbell)
    yield poller
    poller.close()


@pytest.fixture
def pair():
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def test_the_doorbell_ends_a_sleep_and_has_no_handler(poller, seat):
    assert not poller.has_sockets
    seat.doorbell.force()
    assert poller.wait(LONG_MS)
    assert poller.dispatch() == 0
    seat.doorbell.unpark(False)
    assert poller.wait(LONG_MS), "it still rings"
    seat.doorbell.unpark()
    assert not poller.wait(0)


def test_among_sockets_the_doorbell_is_told_apart(poller, seat, pair):
    ours, theirs = pair
    poller.register(ours.fileno(), READ, lambda _events: ours.recv(9) and 1)
    theirs.send(b"x")
    assert not poller.wait(LONG_MS)
    poller.dispatch()
    seat.doorbell.force()
    assert poller.wait(LONG_MS)
    assert poller.dispatch() == 0
    theirs.send(b"x")
    assert poller.wait(LONG_MS)
    assert poller.dispatch() == 1
    poller.unregister(ours.fileno())
    assert poller.wait(LONG_MS), "alone again"


def test_a_socket_ends_a_sleep_and_its_handler_hears_what_came(poller, pair):
    ours, theirs = pair
    heard = []
    poller.register(ours.fileno(), READ, lambda events: heard.append(events) or 3)
    assert poller.has_sockets
    theirs.send(b"x")
    poller.wait(LONG_MS)
    assert not heard, "the role dispatches, in its own cycle"
    assert poller.dispatch() == 3
    assert heard == [READ]
    assert poller.dispatch() == 0, "once each"
    poller.wait(LONG_MS)  # level-triggered: the byte still lies there
    assert poller.dispatch() == 3


def test_what_is_waited_for_may_change(poller, pair):
    ours, theirs = pair
    heard = []
    poller.register(ours.fileno(), 0, lambda events: heard.append(events) or 1)
    theirs.send(b"x")
    poller.wait(0)
    assert poller.dispatch() == 0
    poller.modify(ours.fileno(), READ | WRITE)
    poller.wait(LONG_MS)
    assert poller.dispatch() == 1
    assert heard == [READ | WRITE]


def test_a_peer_that_leaves_is_told_unasked(poller, pair):
    ours, theirs = pair
    heard = []
    poller.register(ours.fileno(), 0, lambda events: heard.append(events) or 1)
    theirs.close()
    poller.wait(LONG_MS)
    poller.dispatch()
    assert heard[0] & BROKEN


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_handler_may_end_another_one_that_is_ready_too(poller, is_closed):
    pairs = [socket.socketpair() for _ in range(2)]
    heard = []

    def handler(events):
        heard.append(events)
        for ours, _theirs in pairs:
            if is_closed:
                poller.forget(ours.fileno())
                ours.close()
            else:
                poller.unregister(ours.fileno())
        return 1

    for ours, theirs in pairs:
        poller.register(ours.fileno(), READ, handler)
        theirs.send(b"x")
    poller.wait(LONG_MS)
    assert poller.dispatch() == 1
    assert heard == [READ]
    assert not poller.has_sockets
    poller.wait(0)
    assert poller.dispatch() == 0
    for ends in pairs:
        for end in ends:
            end.close()


def test_a_role_that_forgets_to_dispatch_is_told(poller, pair):
    ours, theirs = pair
    poller.register(ours.fileno(), READ, lambda _events: 0)
    theirs.send(b"x")
    poller.wait(LONG_MS)
    with pytest.raises(AssertionError, match="not dispatched"):
        poller.wait(0)


def test_a_descriptor_has_one_handler(poller, pair):
    poller.register(pair[0].fileno(), READ, lambda _events: 0)
    with pytest.raises(AssertionError):
        poller.register(pair[0].fileno(), READ, lambda _events: 0)


def test_its_descriptor_is_closed(seat):
    before = len(os.listdir("/proc/self/fd"))
    Poller(seat.doorbell).close()
    assert len(os.listdir("/proc/self/fd")) == before

"""Messages that find no room keep their order, and say when there are too many of them."""

from types import SimpleNamespace

import pytest

from headrace.limits import MAIL_BACKLOG_BYTES_MAX, MAIL_BACKLOG_MESSAGES_MAX
from headrace.runtime.outbox import MailOutbox

PEER, OTHER = 1, 2


class Ring:
    """Has room for `room` messages."""

    message_bytes_max = 1000

    def __init__(self):
        self.room = 10**9
        self.written = []
        self.commits = 0

    def write(self, kind, header, payload):
        if not self.room:
            return False
        self.room -= 1
        self.written.append((kind, header, bytes(payload)))
        return True

    def commit(self):
        self.commits += 1


@pytest.fixture
def rings():
    return {PEER: Ring(), OTHER: Ring()}


@pytest.fixture
def rung():
    return []


@pytest.fixture
def outbox(rings, rung):
    return MailOutbox(SimpleNamespace(writers=rings, ring=rung.append))


def test_one_commit_and_one_doorbell_for_all_messages_of_a_cycle(outbox, rings, rung):
    for number in range(5):
        outbox.send(PEER, number + 1, b"h", b"p")
    assert (rings[PEER].commits, rung) == (0, [])
    assert outbox.flush() == 1
    assert (rings[PEER].commits, rung) == (1, [PEER])
    assert outbox.flush() == 0


def test_messages_keep_their_order_where_there_is_no_room(outbox, rings):
    rings[PEER].room = 1
    for number in range(4):
        outbox.send(PEER, number + 1, b"h", b"p")
    outbox.send(OTHER, 9, b"h", b"p")
    rings[PEER].room = 1
    outbox.flush()
    outbox.send(PEER, 5, b"h", b"p")  # room or not: after the others
    rings[PEER].room = 10
    outbox.flush()
    assert [kind for kind, _header, _payload in rings[PEER].written] == [1, 2, 3, 4, 5]
    assert [kind for kind, _header, _payload in rings[OTHER].written] == [9]
    assert len(outbox) == 0


def test_bytes_that_may_change_are_copied_while_they_wait_and_others_are_not(outbox, rings):
    rings[PEER].room = 0
    buffer, kept = bytearray(b"before"), b"x" * 100
    outbox.send(PEER, 1, b"h", memoryview(buffer))
    outbox.send(PEER, 2, b"h", memoryview(kept)[10:])
    buffer[:] = b"after!"
    assert outbox._queues[PEER][1][2].obj is kept
    rings[PEER].room = 2
    outbox.flush()
    assert rings[PEER].written == [(1, b"h", b"before"), (2, b"h", kept[10:])]


@pytest.mark.parametrize(
    ("payload", "count"), [(b"", MAIL_BACKLOG_MESSAGES_MAX), (bytes(1 << 20), MAIL_BACKLOG_BYTES_MAX >> 20)]
)
def test_a_peer_that_takes_nothing_is_congested_at_a_bound_and_no_longer_below_it(outbox, rings, payload, count):
    rings[PEER].room = 0
    for _ in range(count):
        outbox.send(PEER, 1, b"h", payload)
    assert not outbox.congested
    outbox.send(PEER, 1, b"h", payload)
    assert outbox.congested == {PEER}
    rings[PEER].room = 1
    outbox.flush()
    assert not outbox.congested


def test_what_waits_for_a_process_that_died_is_not_sent_to_its_successor(outbox, rings):
    rings[PEER].room = 0
    for _ in range(MAIL_BACKLOG_MESSAGES_MAX + 1):
        outbox.send(PEER, 1, b"h", b"p")
    outbox.forget(PEER)
    assert not outbox.congested
    rings[PEER].room = 10
    outbox.flush()
    assert rings[PEER].written == []

"""Fetches that wait: woken by their slot, by their deadline, forgotten with their connection; nothing of them stays."""

import pytest

from headrace.limits import CANCELLED_DEADLINES_MAX
from headrace.runtime.deadlines import NEVER
from headrace.workers.network.fetch import fetch_purgatory
from headrace.workers.network.fetch.fetch_purgatory import FetchPurgatory


class FakeTable:
    def __init__(self):
        self.waiting = set()

    def set_wait(self, slot, network_worker, is_set):
        (self.waiting.add if is_set else self.waiting.discard)(slot)


class Peer(str):
    """A connection; two of the same name are the same."""

    parked_partitions = 0

    def park(self, partitions):
        self.parked_partitions += partitions


class Attempts:
    """An attempt that succeeds once there is something."""

    def __init__(self):
        self.is_there = False
        self.answered = 0

    def __call__(self, is_last):
        self.answered += self.is_there or is_last
        return self.is_there or is_last


@pytest.fixture
def table():
    return FakeTable()


@pytest.fixture
def purgatory(table):
    return FetchPurgatory(table, 0)


def test_a_slot_that_moved_wakes_its_fetches_and_no_others(purgatory, table):
    first, second = Attempts(), Attempts()
    purgatory.park(Peer("a"), [1, 2], 1_000, first)
    purgatory.park(Peer("a"), [3], 1_000, second)
    assert table.waiting == {1, 2, 3}
    first.is_there = second.is_there = True
    assert purgatory.advance([2]) == 1
    assert (first.answered, second.answered, len(purgatory)) == (1, 0, 1)
    assert table.waiting == {3}


def test_a_deadline_answers_with_what_there_is(purgatory, table):
    attempt = Attempts()
    purgatory.park(Peer("a"), [1], 1_000, attempt)
    assert purgatory.next_deadline_ms() == 1_000
    assert purgatory.expire(999) == 0
    assert purgatory.expire(1_000) == 1
    assert (attempt.answered, len(purgatory), table.waiting) == (1, 0, set())


def test_a_fetch_that_finds_enough_at_its_second_look_is_not_parked(purgatory, table):
    attempt = Attempts()
    attempt.is_there = True
    purgatory.park(Peer("a"), [1], 1_000, attempt)
    assert (attempt.answered, len(purgatory), purgatory.next_deadline_ms(), table.waiting) == (1, 0, NEVER, set())


def test_a_closed_connection_takes_its_fetches_along(purgatory, table):
    kept, dropped = Attempts(), Attempts()
    purgatory.park(Peer("a"), [1], 1_000, dropped)
    purgatory.park(Peer("a"), [2], 1_000, dropped)
    purgatory.park(Peer("b"), [1], 1_000, kept)
    purgatory.drop(Peer("a"))
    dropped.is_there = kept.is_there = True
    assert purgatory.advance([1, 2]) == 1
    assert (dropped.answered, kept.answered, table.waiting) == (0, 1, set())
    purgatory.drop(Peer("a"))


def test_answered_fetches_do_not_fill_the_memory_until_their_deadline(purgatory):
    for _ in range(3 * CANCELLED_DEADLINES_MAX):
        attempt = Attempts()
        purgatory.park(Peer("a"), [1], 2**40, attempt)
        attempt.is_there = True
        assert purgatory.advance([1]) == 1
    assert len(purgatory._deadlines) <= CANCELLED_DEADLINES_MAX + 1
    assert not purgatory._by_connection


def test_fetches_that_are_too_many_do_not_wait(table, monkeypatch):
    monkeypatch.setattr(fetch_purgatory, "DEADLINES_MAX", 1)
    purgatory, attempts = FetchPurgatory(table, 0), [Attempts(), Attempts()]
    for attempt in attempts:
        purgatory.park(Peer("a"), [1], 1_000, attempt)
    assert [attempt.answered for attempt in attempts] == [0, 1]
    assert len(purgatory) == 1


def test_a_fetch_of_many_slots_that_moved_is_tried_once(purgatory):
    attempt, peer = Attempts(), Peer("a")
    tried = []
    purgatory.park(peer, list(range(100)), 1_000, lambda is_last: tried.append(is_last) or attempt(is_last))
    assert peer.parked_partitions == 100
    tried.clear()
    assert purgatory.advance(range(100)) == 0
    assert tried == [False]
    attempt.is_there = True
    assert purgatory.advance(range(100)) == 1
    assert (tried, peer.parked_partitions) == ([False, False], 0)

"""Transactional ids that were not used for long."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.workers.coordinators.coordinator import Unloaded, Upkeep
from headrace.workers.coordinators.transaction import expiry
from headrace.workers.coordinators.transaction.events import Identity
from tests.workers.coordinators.transaction.transaction_desk import ID, A, Desk


@pytest.fixture
def ids(monkeypatch):
    """A coordinator with five ids that are due, of which three may go at once."""
    monkeypatch.setattr(expiry, "EXPIRED_IDS_PER_STEP_MAX", 3)
    desk = Desk(expiration_ms=1_000)
    for number in range(5):
        desk.init(name=f"id{number}")
    desk.wait(2_000)
    return desk


def test_all_that_are_due_go_and_an_open_transaction_stays(ids):
    """A thousand an hour went, and who made more of them filled the partition."""
    ids.init()
    ids.add(A)
    ids.wait(1_500)
    ids.step(Upkeep(ids.date_ms))
    assert list(ids.coordinator.transactions) == [ID]
    assert ids.lines == ["transactional ids expired partition=state-3 ids=5"]


def test_the_next_ones_go_when_those_before_are_committed(ids):
    ids.holds = True
    ids.step(Upkeep(ids.date_ms))
    assert len(ids.held) == 3
    ids.step(Upkeep(ids.date_ms))
    assert len(ids.held) == 3
    ids.finish_held()
    assert len(ids.held) == 2
    ids.finish_held()
    assert not ids.coordinator.transactions


def test_after_a_failure_the_others_wait_for_the_next_upkeep(ids):
    ids.error = E.NOT_ENOUGH_REPLICAS
    ids.step(Upkeep(ids.date_ms))
    assert len(ids.coordinator.transactions) == 5
    assert len(ids.lines) == 3
    ids.error = E.NONE
    ids.step(Upkeep(ids.date_ms))
    assert not ids.coordinator.transactions


def test_an_id_that_is_used_meanwhile_stays(ids):
    ids.holds = True
    ids.step(Upkeep(ids.date_ms))
    ids.holds = False
    ids.init(name="id4")
    ids.finish_held()
    assert list(ids.coordinator.transactions) == ["id4"]


def test_an_unloaded_coordinator_removes_no_more(ids):
    ids.holds = True
    ids.step(Upkeep(ids.date_ms))
    ids.step(Unloaded())
    ids.finish_held()
    assert not ids.held


def test_a_wall_clock_that_is_ahead_takes_no_ids(ids):
    """The host says by which date retention is over: decision 008."""
    guarded_ms = ids.date_ms - 1_500
    ids.date_ms += 8 * 86_400_000
    ids.step(Upkeep(guarded_ms))
    assert len(ids.coordinator.transactions) == 5


def test_an_id_that_could_not_be_removed_stays_and_is_usable():
    desk = Desk(expiration_ms=1_000)
    desk.init()
    desk.wait(2_000)
    desk.error = E.NOT_ENOUGH_REPLICAS
    desk.step(Upkeep(desk.date_ms))
    desk.error = E.NONE
    assert desk.answer(desk.init()) == Identity(1000, 1)


def test_a_request_that_meets_an_expiry_waits_and_finds_a_new_id():
    desk = Desk(expiration_ms=1_000)
    desk.init()
    desk.wait(2_000)
    desk.holds = True
    desk.step(Upkeep(desk.date_ms))
    ticket = desk.init()
    desk.holds = False
    desk.finish_held()
    assert desk.answer(ticket) == Identity(1001, 0)

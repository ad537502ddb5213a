"""Topics that are deleted leave transactions, in memory and in the log, before their deletion is through."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.workers.coordinators.coordinator import TopicsDeleted, Unloaded
from headrace.workers.coordinators.transaction import gone_topics
from headrace.workers.coordinators.transaction.events import Identity, MarkersRefused, Outcome, Verified
from headrace.workers.coordinators.transaction.gone_topics import LOOK_MAX_MS
from headrace.workers.coordinators.transaction.records import entry_of
from tests.workers.coordinators.transaction.transaction_desk import ID, A, Desk

DONE = Outcome(E.NONE)
U = ("u", 0)
DELETED = TopicsDeleted(frozenset({"u"}))


@pytest.fixture
def desk():
    desk = Desk()
    desk.init()
    desk.add(A, U)
    desk.answers_markers = False
    return desk


def partitions_in_log(desk):
    return entry_of(desk.log[-1][1]).partitions


def has_followed(desk):
    desk.wait(2 * LOOK_MAX_MS)
    return desk.coordinator.has_followed


def test_an_open_transaction_loses_its_partitions_by_a_record(desk):
    """It kept them, and waited in Prepare for ever after its end."""
    start_ms, producer = desk.transaction.start_ms, desk.producer
    desk.wait(500)
    desk.step(DELETED)
    assert partitions_in_log(desk) == {A}
    assert (desk.state, desk.transaction.start_ms, desk.producer) == ("Ongoing", start_ms, producer)
    assert desk.answer(desk.verify(A, U)) == Verified(frozenset({A}))
    assert desk.answer(desk.end()) == DONE
    assert desk.sent[-1].partitions == {A}


def test_a_transaction_that_has_no_other_partition_stays_open_and_ends_without_markers(desk):
    desk.step(TopicsDeleted(frozenset({"t", "u"})))
    assert desk.state == "Ongoing"
    assert desk.answer(desk.end()) == DONE
    assert desk.state == "CompleteCommit"


def test_the_deletion_waits_until_the_record_is_committed(desk):
    desk.holds = True
    desk.step(DELETED)
    assert not has_followed(desk)
    desk.holds = False
    desk.finish_held(E.NOT_ENOUGH_REPLICAS)
    assert not desk.coordinator.has_followed
    assert has_followed(desk), "it is tried again"
    assert partitions_in_log(desk) == {A}


def test_a_record_that_is_appended_meanwhile_has_them_and_is_followed_by_one_without(desk):
    desk.holds = True
    ended = desk.end()
    desk.step(DELETED)
    desk.holds = False
    desk.finish_held()
    assert desk.answer(ended) == DONE
    assert has_followed(desk)
    assert partitions_in_log(desk) == {A}
    assert desk.state == "PrepareCommit"
    desk.fail_over()
    assert desk.sent[-1].partitions == {A}


def test_a_request_that_waits_adds_them_first(desk):
    desk.end()
    desk.add(U)
    desk.step(DELETED)
    desk.write_markers(desk.sent[-1].serial)
    assert desk.transaction.partitions == {U}
    assert has_followed(desk)
    assert not partitions_in_log(desk)


def test_a_decision_that_is_in_the_log_is_written_again_without_them(desk):
    desk.end()
    desk.step(DELETED)
    assert partitions_in_log(desk) == {A}
    assert has_followed(desk)
    desk.write_markers(desk.sent[-1].serial, A)
    assert desk.state == "CompleteCommit"


def test_markers_are_written_while_that_record_is_appended(desk):
    desk.end()
    desk.holds = True
    desk.step(DELETED)
    desk.write_markers(desk.sent[-1].serial, A)
    assert desk.state == "CompleteCommit"
    added = desk.add(A)
    assert desk.answer(added) is None
    desk.finish_held()
    assert not has_followed(desk), "the log may say Prepare with them"
    desk.holds = False
    desk.finish_held()
    assert desk.answer(added) == DONE
    assert has_followed(desk)


def test_leaders_get_no_verification_in_prepare_while_that_record_is_appended(desk):
    desk.end()
    desk.holds = True
    desk.step(DELETED)
    assert desk.error_of(desk.verify(A)) is E.CONCURRENT_TRANSACTIONS
    desk.step(MarkersRefused(ID, desk.sent[-1].serial, E.TRANSACTION_COORDINATOR_FENCED))
    desk.finish_held()
    assert desk.state == "PrepareCommit"


def test_complete_that_is_not_in_the_log_is_waited_for(desk):
    desk.end()
    desk.write_markers(desk.sent[-1].serial)
    desk.step(DELETED)
    assert not desk.coordinator.has_followed
    assert has_followed(desk)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_decision_that_is_loaded_while_a_topic_is_deleted_waits_for_no_leader_of_it(desk, is_commit):
    desk.end(is_commit)
    desk.step(Unloaded())
    desk.start(loading=True)
    desk.step(DELETED)
    assert not desk.coordinator.has_followed
    desk.load()
    desk.write_markers(desk.sent[-1].serial, A)
    assert has_followed(desk)
    assert desk.state == ("CompleteCommit" if is_commit else "CompleteAbort")
    assert desk.answer(desk.init()) == Identity(1000, 1)


def test_a_partition_of_another_topic_of_the_name_gets_its_marker(desk):
    """Records of the transaction may be in it."""
    desk.known.add(U)
    desk.step(DELETED)
    assert desk.coordinator.has_followed
    desk.end()
    assert desk.sent[-1].partitions == {A, U}


def test_what_was_left_to_another_coordinator_is_not_completed_here(desk):
    desk.end()
    desk.step(MarkersRefused(ID, desk.sent[-1].serial, E.TRANSACTION_COORDINATOR_FENCED))
    desk.step(TopicsDeleted(frozenset({"t", "u"})))
    assert desk.state == "PrepareCommit"
    assert desk.coordinator.has_followed


def test_only_so_many_records_are_appended_at_once(monkeypatch):
    monkeypatch.setattr(gone_topics, "GONE_IDS_PER_STEP_MAX", 2)
    desk = Desk()
    for name in "abc":
        desk.init(name=name)
        desk.add(U, name=name, producer=desk.answers[max(desk.answers)][:2])
    before = len(desk.log)
    desk.step(DELETED)
    assert len(desk.log) - before == 2
    assert has_followed(desk)


def test_an_unloaded_coordinator_has_nothing_to_follow(desk):
    desk.holds = True
    desk.step(DELETED)
    desk.step(Unloaded())
    assert desk.coordinator.has_followed

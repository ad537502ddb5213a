"""What clients get of a transaction coordinator, and what its log has then."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.workers.coordinators.coordinator import TopicsDeleted
from headrace.workers.coordinators.transaction.events import Identity, MarkersRefused, Outcome, Verified
from headrace.workers.coordinators.transaction.records import entry_of
from headrace.workers.coordinators.transaction.state import TransactionState as S
from tests.workers.coordinators.transaction.transaction_desk import ID, NOBODY, TIMEOUT_MS, A, B, Desk

DONE = Outcome(E.NONE)


@pytest.fixture
def desk():
    return Desk()


def begun(desk, *partitions):
    desk.init()
    desk.add(*(partitions or (A,)))
    return desk


def states_of(desk):
    return [entry_of(value).state for _key, value in desk.log if value is not None]


def test_a_transaction_is_begun_committed_and_complete(desk):
    assert desk.answer(desk.init()) == Identity(1000, 0)
    assert desk.answer(desk.add(A, B)) == DONE
    assert desk.answer(desk.end()) == DONE
    assert desk.sent[-1].partitions == {A, B}
    assert desk.sent[-1].is_commit
    assert desk.state == "CompleteCommit"
    assert states_of(desk) == [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT]
    desk.wait(60)
    assert states_of(desk)[3:] == [S.COMPLETE_COMMIT]


def test_complete_is_not_written_where_the_next_transaction_says_as_much(desk):
    begun(desk)
    desk.end()
    desk.add(A)
    desk.wait(200)
    assert states_of(desk) == [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.ONGOING]


def test_an_end_is_answered_once_its_decision_is_committed(desk):
    begun(desk)
    desk.holds = True
    ticket = desk.end()
    assert desk.answer(ticket) is None
    assert not desk.sent
    desk.finish_held()
    assert desk.answer(ticket) == DONE
    assert desk.sent


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_that_comes_again_is_answered_at_once_and_the_other_one_is_refused(desk, is_commit):
    begun(desk)
    desk.answers_markers = False
    desk.end(is_commit)
    assert desk.answer(desk.end(is_commit)) == DONE
    assert desk.error_of(desk.end(not is_commit)) is E.INVALID_TXN_STATE
    desk.write_markers(desk.sent[-1].serial)
    assert desk.answer(desk.end(is_commit)) == DONE
    assert desk.error_of(desk.end(not is_commit)) is E.INVALID_TXN_STATE


def test_an_end_without_a_transaction_is_refused(desk):
    desk.init()
    assert desk.error_of(desk.end()) is E.INVALID_TXN_STATE


def test_requests_wait_for_markers(desk):
    begun(desk)
    desk.answers_markers = False
    desk.end()
    added, init = desk.add(B), desk.init()
    assert desk.answer(added) is desk.answer(init) is None
    desk.write_markers(desk.sent[-1].serial)
    assert desk.answer(added) == DONE
    assert desk.answer(init) is None, "it aborts the transaction that was begun before it came to its turn"
    desk.write_markers(desk.sent[-1].serial)
    assert desk.answer(init) == Identity(1000, 2)


def test_what_waits_for_a_second_is_refused_and_others_wait_on(desk):
    begun(desk)
    desk.answers_markers = False
    desk.end()
    first = desk.add(B)
    desk.wait(600)
    second = desk.add(B)
    desk.wait(500)
    assert desk.error_of(first) is E.CONCURRENT_TRANSACTIONS
    assert desk.answer(second) is None
    desk.wait(600)
    assert desk.error_of(second) is E.CONCURRENT_TRANSACTIONS


def test_what_waits_again_does_so_no_longer_than_a_second_in_all(desk):
    begun(desk)
    desk.holds, desk.answers_markers = True, False
    desk.end()
    added = desk.add(B)
    desk.wait(900)
    desk.finish_held()  # the decision; markers are still out
    assert desk.answer(added) is None
    desk.wait(150)
    assert desk.error_of(added) is E.CONCURRENT_TRANSACTIONS


def test_sixteen_requests_wait_and_no_more(desk):
    begun(desk)
    desk.answers_markers = False
    desk.end()
    tickets = [desk.add(B) for _ in range(17)]
    assert [desk.answer(ticket) for ticket in tickets[:16]] == [None] * 16
    assert desk.error_of(tickets[16]) is E.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("producer", "error"), [((999, 0), E.INVALID_PRODUCER_ID_MAPPING), ((1000, 1), E.PRODUCER_FENCED)]
)
def test_another_producer_is_refused(desk, producer, error):
    begun(desk)
    assert desk.error_of(desk.add(B, producer=producer)) is error
    assert desk.error_of(desk.end(producer=producer)) is error
    assert desk.error_of(desk.verify(A, producer=producer)) is error


def test_an_unknown_id_has_no_transaction(desk):
    assert desk.error_of(desk.add(A, producer=(1, 1))) is E.INVALID_PRODUCER_ID_MAPPING
    assert desk.error_of(desk.add(A, producer=(1, 1), name="")) is E.INVALID_REQUEST


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_that_can_not_be_is_refused(desk, timeout_ms):
    assert desk.error_of(desk.init(timeout_ms)) is E.INVALID_TRANSACTION_TIMEOUT


@pytest.mark.parametrize("expected", [(5, -1), (-1, 5)])
def test_half_a_producer_is_no_request(desk, expected):
    assert desk.error_of(desk.init(expected=expected)) is E.INVALID_REQUEST


def test_the_next_producer_fences_the_one_before(desk):
    desk.init()
    assert desk.answer(desk.init()) == Identity(1000, 1)
    assert desk.error_of(desk.add(A, producer=(1000, 0))) is E.PRODUCER_FENCED


def test_without_a_producer_id_the_client_tries_again(desk):
    desk.producer_ids = iter(())
    assert desk.error_of(desk.init()) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert desk.transaction is None


def test_a_producer_goes_on_after_an_error_and_its_repeated_request_gets_the_same_epoch(desk):
    desk.init()
    assert desk.answer(desk.init(expected=(1000, 0))) == Identity(1000, 1)
    assert desk.answer(desk.init(expected=(1000, 0))) == Identity(1000, 1)
    assert desk.answer(desk.init(expected=(1000, 1))) == Identity(1000, 2)
    assert desk.error_of(desk.init(expected=(1000, 0))) is E.PRODUCER_FENCED
    assert desk.error_of(desk.init(expected=(7, 0))) is E.PRODUCER_FENCED


def test_after_a_failover_the_repeated_request_is_fenced(desk):
    desk.init()
    desk.init(expected=(1000, 0))
    desk.fail_over()
    assert desk.error_of(desk.init(expected=(1000, 0))) is E.PRODUCER_FENCED
    assert desk.answer(desk.init(expected=(1000, 1))) == Identity(1000, 2)


def with_epoch(desk, epoch):
    desk.init()
    desk.transaction.epoch = epoch
    return desk


@pytest.mark.parametrize("expected", [NOBODY, (1000, 32766)])
def test_the_last_epoch_is_followed_by_another_producer_id(desk, expected):
    with_epoch(desk, 32766)
    assert desk.answer(desk.init(expected=expected)) == Identity(1001, 0)
    if expected != NOBODY:
        assert desk.answer(desk.init(expected=expected)) == Identity(1001, 0), "asked again"
    assert desk.answer(desk.init(expected=(1001, 0))) == Identity(1001, 1)


def test_a_new_producer_aborts_the_open_transaction_with_an_epoch_that_nobody_gets(desk):
    begun(desk)
    assert desk.answer(desk.init()) == Identity(1000, 2)
    assert (desk.sent[-1].is_commit, desk.sent[-1].epoch) == (False, 1)
    assert desk.state == "Empty"


def test_at_its_last_epoch_a_transaction_is_fenced_with_32767(desk):
    with_epoch(desk, 32766).add(A)
    assert desk.answer(desk.init()) == Identity(1001, 0)
    assert desk.sent[-1].epoch == 32767


def test_a_producer_with_an_older_epoch_aborts_nothing(desk):
    desk.init()
    desk.init()
    desk.init()
    desk.add(A)
    assert desk.error_of(desk.init(expected=(1000, 0))) is E.PRODUCER_FENCED
    assert desk.state == "Ongoing"


@pytest.mark.parametrize(
    ("error", "heard"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_LOAD_IN_PROGRESS),
        (E.MESSAGE_TOO_LARGE, E.CONCURRENT_TRANSACTIONS),
    ],
)
def test_an_abort_that_could_not_be_written_raises_the_epoch_once(desk, error, heard):
    begun(desk)
    desk.error = error
    assert desk.error_of(desk.init()) is heard
    assert desk.error_of(desk.init()) is heard
    assert desk.producer == (1000, 1)
    assert desk.state == "Ongoing"
    desk.error = E.NONE
    assert desk.answer(desk.init()) == Identity(1000, 2)
    assert desk.sent[-1].epoch == 1


def test_an_abort_that_could_not_be_written_is_tried_again_without_its_client(desk):
    begun(desk)
    desk.error = E.NOT_ENOUGH_REPLICAS
    desk.init()
    desk.error = E.NONE
    desk.wait(600)
    assert desk.state == "CompleteAbort"


def test_a_transaction_times_out_from_its_start_and_its_producer_is_fenced(desk):
    begun(desk)
    producer = desk.producer
    desk.wait(TIMEOUT_MS - 10)
    desk.add(B)
    assert desk.state == "Ongoing"
    desk.wait(20)
    assert desk.state == "CompleteAbort"
    assert desk.sent[-1].epoch == 1
    assert desk.error_of(desk.end(producer=producer)) is E.PRODUCER_FENCED


def test_a_later_transaction_has_its_own_time(desk):
    begun(desk)
    desk.wait(TIMEOUT_MS - 10)
    desk.end()
    desk.add(A)
    desk.wait(100)
    assert desk.state == "Ongoing"
    desk.wait(TIMEOUT_MS)
    assert desk.state == "CompleteAbort"


def test_a_loaded_transaction_times_out_by_what_is_left(desk):
    begun(desk)
    desk.wait(TIMEOUT_MS // 2)
    desk.fail_over()
    desk.wait(TIMEOUT_MS // 2 - 10)
    assert desk.state == "Ongoing"
    desk.wait(20)
    assert desk.state == "CompleteAbort"


def test_an_abort_by_time_that_could_not_be_written_is_tried_again(desk):
    begun(desk)
    desk.error = E.NOT_ENOUGH_REPLICAS
    desk.wait(TIMEOUT_MS + 10)
    assert desk.state == "Ongoing"
    desk.error = E.NONE
    desk.wait(600)
    assert desk.state == "CompleteAbort"
    assert desk.sent[-1].epoch == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.REQUEST_TIMED_OUT, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.KAFKA_STORAGE_ERROR, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
        (E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_what_could_not_be_written_is_as_it_was_and_the_client_hears_why(desk, error, told):
    desk.error = error
    assert desk.error_of(desk.init()) is told
    assert desk.transaction is None
    desk.error = E.NONE
    desk.init()
    desk.error = error
    assert desk.error_of(desk.add(A)) is told
    assert desk.state == "Empty"
    desk.error = E.NONE
    desk.add(A)
    desk.error = error
    assert desk.error_of(desk.end()) is told
    assert desk.state == "Ongoing"
    desk.error = E.NONE
    assert desk.answer(desk.end()) == DONE


def test_a_late_append_is_answered_retriably_and_nothing_else_is_written_until_it_is_known(desk):
    begun(desk)
    desk.holds = True
    ended = desk.end()
    desk.be_late()
    assert desk.error_of(ended) is E.COORDINATOR_NOT_AVAILABLE
    again = desk.end()
    assert desk.answer(again) is None
    assert len(desk.held) == 1
    desk.finish_held()
    assert desk.answer(again) == DONE
    assert desk.state == "CompleteCommit"


def test_a_complete_that_could_not_be_written_is_tried_again(desk):
    begun(desk)
    desk.end()
    desk.error = E.NOT_ENOUGH_REPLICAS
    desk.wait(60)
    assert states_of(desk)[-1] is S.PREPARE_COMMIT
    desk.error = E.NONE
    desk.wait(600)
    assert states_of(desk)[-1] is S.COMPLETE_COMMIT


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_decision_outlives_its_coordinator_and_its_markers_are_all_sent_again(desk, is_commit):
    begun(desk, A, B)
    desk.answers_markers = False
    desk.end(is_commit)
    desk.write_markers(desk.sent[-1].serial, A)
    desk.answers_markers = True
    desk.fail_over()
    assert desk.sent[-1].partitions == {A, B}
    assert desk.sent[-1].is_commit is is_commit
    assert desk.state == ("CompleteCommit" if is_commit else "CompleteAbort")


def test_markers_of_a_former_decision_complete_nothing(desk):
    begun(desk)
    desk.answers_markers = False
    desk.end()
    former = desk.sent[-1].serial
    desk.write_markers(former)
    desk.add(A)
    desk.end(is_commit=False)
    desk.write_markers(former)
    assert desk.state == "PrepareAbort"


def test_a_later_coordinator_ends_what_a_partition_refuses(desk):
    begun(desk)
    desk.answers_markers = False
    desk.end()
    serial = desk.sent[-1].serial
    desk.step(MarkersRefused(ID, serial, E.TRANSACTION_COORDINATOR_FENCED))
    assert desk.state == "PrepareCommit"
    assert not desk.markers
    assert "transaction left to another coordinator" in desk.lines[-1]


def test_partitions_of_a_deleted_topic_need_no_marker(desk):
    begun(desk, A, ("u", 0))
    desk.answers_markers = False
    desk.end()
    serial = desk.sent[-1].serial
    desk.write_markers(serial, ("u", 0))
    desk.step(TopicsDeleted(frozenset({"t"})))
    assert desk.state == "CompleteCommit"
    assert not desk.markers


def test_leaders_learn_which_partitions_are_in_a_transaction(desk):
    begun(desk)
    assert desk.answer(desk.verify(A, B)) == Verified(frozenset({A}))
    desk.answers_markers = False
    desk.end()
    assert desk.error_of(desk.verify(A)) is E.CONCURRENT_TRANSACTIONS
    desk.write_markers(desk.sent[-1].serial)
    assert desk.answer(desk.verify(A)) == Verified(frozenset())


def test_a_verification_does_not_wait_for_what_is_being_appended(desk):
    begun(desk)
    desk.holds = True
    desk.add(B)
    assert desk.answer(desk.verify(A, B)) == Verified(frozenset({A}))


def test_while_it_loads_requests_are_told_so():
    desk = Desk(loading=True)
    assert desk.error_of(desk.init()) is E.COORDINATOR_LOAD_IN_PROGRESS
    assert desk.error_of(desk.add(A, producer=(1, 0))) is E.COORDINATOR_LOAD_IN_PROGRESS


def test_a_coordinator_that_is_unloaded_answers_all_that_waits(desk):
    begun(desk)
    desk.holds = True
    ended = desk.end()
    waiting = desk.add(B)
    desk.fail_over()
    assert desk.error_of(waiting) is E.NOT_COORDINATOR
    assert desk.answer(ended) is None


def test_the_outcome_of_an_append_comes_to_an_unloaded_coordinator(desk):
    from headrace.workers.coordinators.coordinator import Appended, Unloaded

    begun(desk)
    desk.holds = True
    ended = desk.end()
    desk.step(Unloaded())
    desk.step(Appended(desk.held[0].what, 9))
    assert desk.error_of(ended) is E.NOT_COORDINATOR


def test_without_room_for_a_timer_no_transaction_begins(desk):
    desk.init()
    desk.has_timers = False
    assert desk.error_of(desk.add(A)) is E.CONCURRENT_TRANSACTIONS


# Order of connections


def test_a_request_of_an_older_connection_is_refused_and_its_connection_closed(desk):
    desk.init(order=10)
    assert desk.answer(desk.add(A, order=12)) == DONE
    assert desk.answer(desk.end(order=11)) == Outcome(E.COORDINATOR_NOT_AVAILABLE, True)
    assert desk.answer(desk.end(order=12)) == DONE


def test_a_late_end_does_not_end_the_next_transaction(desk):
    desk.init(order=10)
    desk.add(A, order=10)
    desk.end(order=11)  # the retry; the first copy is still on connection 10
    desk.add(B, order=11)
    assert desk.answer(desk.end(order=10)).closes_connection
    assert desk.state == "Ongoing"


def test_a_new_producer_begins_with_the_order_of_its_connection(desk):
    desk.init(order=10)
    desk.add(A, order=40)
    desk.end(order=40)
    desk.init(order=20)
    assert desk.answer(desk.add(A, order=20)) == DONE


def test_a_transaction_that_is_open_when_it_is_loaded_refuses_older_connections(desk):
    desk.init(order=10)
    desk.add(A, order=10)
    desk.order = 70
    desk.fail_over()
    assert desk.answer(desk.end(order=69)) == Outcome(E.COORDINATOR_NOT_AVAILABLE, True)
    assert desk.answer(desk.end(order=71)) == DONE


def test_a_transaction_that_was_complete_when_it_was_loaded_takes_any_connection(desk):
    desk.init(order=10)
    desk.add(A, order=10)
    desk.end(order=10)
    desk.wait(60)
    desk.fail_over()
    assert desk.answer(desk.add(A, order=3)) == DONE


def test_a_request_without_an_order_leaves_those_of_connections_as_they_are(desk):
    """A broker's AddPartitionsToTxn has none. After it each connection of the producer was too old."""
    desk.init(order=10)
    desk.add(A, order=10)
    assert desk.answer(desk.add(B)) == DONE
    assert desk.answer(desk.end(order=11)) == DONE


def test_a_producer_of_before_orders_were_judged_is_judged_from_then_on(desk):
    desk.init()
    assert desk.answer(desk.add(A, order=10)) == DONE
    assert desk.answer(desk.end(order=9)).closes_connection


def test_a_decided_transaction_tells_when_it_was_begun(desk):
    """Kafka gives the start in each state that has one."""
    begun(desk)
    start_ms = desk.date_ms
    desk.answers_markers = False
    desk.wait(100)
    desk.end()
    row = desk.coordinator.describe(ID)
    assert (row.transaction_state, row.transaction_start_time_ms) == ("PrepareCommit", start_ms)

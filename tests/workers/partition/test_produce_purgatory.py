"""acks=all requests that wait: answered by the high watermark, by their deadline, or not at all once their worker is gone."""

import pytest

from headrace.errors import ErrorCode
from headrace.limits import CANCELLED_DEADLINES_MAX
from headrace.shm.partition_table import RowState
from headrace.workers.partition import produce_purgatory
from headrace.workers.partition.produce_purgatory import ProducePurgatory


class FakeAnswers:
    def __init__(self):
        self.given = []

    def result(self, process_id, request_id, index, error, base_offset, append_time_ms, log_start_offset):
        self.given.append((process_id, request_id, index, int(error), base_offset))

    def refuse(self, process_id, request_id, index, error):
        self.given.append((process_id, request_id, index, int(error), -1))


class FakeReplica:
    slot = 4
    is_leader = True
    state = RowState.LEADER
    high_watermark = 0
    isr = (0,)
    min_insync_replicas = 1

    class log:
        log_start_offset = 0


@pytest.fixture
def parked():
    answers = FakeAnswers()
    purgatory = ProducePurgatory(answers)
    replica = FakeReplica()
    for request_id, required in ((1, 10), (2, 20)):
        purgatory.park(
            replica, (request_id % 2, request_id, 0, -1, 100), required - 5, -1, required, 1_000 + request_id
        )
    return purgatory, replica, answers


def test_the_high_watermark_answers_what_it_reached(parked):
    purgatory, replica, answers = parked
    replica.high_watermark = 10
    assert purgatory.complete(replica) == 1
    assert answers.given == [(1, 1, 0, 0, 5)]
    assert len(purgatory) == 1


def test_a_deadline_times_a_request_out_once(parked):
    purgatory, replica, answers = parked
    assert purgatory.expire(1_001) == 1
    assert answers.given == [(1, 1, 0, int(ErrorCode.REQUEST_TIMED_OUT), -1)]
    replica.high_watermark = 100
    purgatory.complete(replica)
    assert [request_id for _process, request_id, *_ in answers.given] == [1, 2]


def test_a_lost_leadership_answers_all(parked):
    purgatory, replica, answers = parked
    replica.is_leader = False
    assert purgatory.complete(replica) == 2
    assert {error for _p, _r, _i, error, _b in answers.given} == {int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}


def test_a_failed_directory_answers_all_as_that(parked):
    purgatory, replica, answers = parked
    replica.is_leader, replica.state = False, RowState.OFFLINE
    assert purgatory.complete(replica) == 2
    assert {error for _p, _r, _i, error, _b in answers.given} == {int(ErrorCode.KAFKA_STORAGE_ERROR)}


def test_requests_of_a_dead_network_worker_are_never_answered(parked):
    purgatory, replica, answers = parked
    purgatory.forget(1)
    replica.high_watermark = 100
    purgatory.complete(replica)
    purgatory.expire(9_999)
    assert [process_id for process_id, *_ in answers.given] == [0]


def test_answered_requests_do_not_fill_the_memory_until_their_deadline():
    answers, replica = FakeAnswers(), FakeReplica()
    purgatory = ProducePurgatory(answers)
    for request_id in range(2 * CANCELLED_DEADLINES_MAX):
        replica.high_watermark = request_id
        purgatory.park(replica, (0, request_id, 0, -1, 2**31 - 1), request_id, -1, request_id + 1, 2**40)
        replica.high_watermark = request_id + 1
        assert purgatory.complete(replica) == 1
    assert len(answers.given) == 2 * CANCELLED_DEADLINES_MAX
    assert len(purgatory) == 0
    assert len(purgatory._deadlines) <= CANCELLED_DEADLINES_MAX + 1


def test_what_waits_for_an_earlier_replica_of_the_slot_is_refused(parked):
    purgatory, replica, answers = parked
    successor = FakeReplica()  # of a topic that got the slot of a deleted one
    successor.high_watermark = 100
    assert purgatory.complete(successor) == 0
    replica.is_leader = False  # `Replica.retire`
    assert purgatory.complete(replica) == 2
    assert {error for *_, error, _offset in answers.given} == {int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
    assert {offset for *_, offset in answers.given} == {-1}


def test_requests_that_are_too_many_time_out_at_once(monkeypatch):
    monkeypatch.setattr(produce_purgatory, "PARKED_PRODUCES_MAX", 2)
    answers, replica = FakeAnswers(), FakeReplica()
    purgatory = ProducePurgatory(answers)
    for request_id in range(3):
        purgatory.park(replica, (0, request_id, 0, -1, 100), request_id, -1, request_id + 1, 1_000)
    assert answers.given == [(0, 2, 0, int(ErrorCode.REQUEST_TIMED_OUT), -1)]
    replica.high_watermark = 1
    assert purgatory.complete(replica) == 1
    purgatory.park(replica, (0, 3, 0, -1, 100), 3, -1, 4, 1_000)
    assert len(purgatory) == 2, "what was answered makes room, whatever its deadline"

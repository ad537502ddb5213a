"""Where markers go, what each answer means, and that none is given up before it is decided."""

import pytest

from headrace.errors import ErrorCode as E
from headrace.runtime.peer_request import Outcome
from headrace.shm.messages import MARKER_RESULT, ReplyStatus
from headrace.workers.coordinators.transaction.effects import DropMarkers
from headrace.workers.coordinators.transaction.events import MarkersRefused, MarkersWritten
from headrace.workers.partition.coordination.marker_sender import RETRY_MS
from tests.workers.partition.coordination.marker_rig import (
    EPOCH,
    OTHER,
    OURS,
    OWN,
    STATE,
    THERE,
    Rig,
    own_and_others,
    response,
)


@pytest.fixture
def rig():
    return Rig()


def test_partitions_of_this_node_are_written_by_their_owners(rig):
    own, others = own_and_others(rig)
    assert own
    assert others
    (process_id, rows, on_reply), = rig.asked  # fmt: skip
    assert process_id == THERE
    assert {row[0] for row in rows} == {index for _topic, index in others}
    assert {row[2:] for row in rows} == {(7, EPOCH, 2, 0)}
    assert {marker for _slot, marker, _done in rig.written} == {(7, 2, EPOCH, False)}
    rig.finish_own()
    assert rig.written_places() == set(own)
    on_reply(ReplyStatus.ANSWERED, memoryview(MARKER_RESULT.pack(0) * len(rows)))
    rig.work()
    assert rig.written_places() == set(OURS)
    assert {state for state, _event in rig.events} == {STATE}


def test_a_node_is_not_taken_for_the_worker_whose_process_has_its_number(rig):
    """Node 1 and process 1: both had part of the markers, and one of them all."""
    own, others = own_and_others(rig)
    rig.written.clear()
    rig.follow([OWN if ("t", index) in own else OTHER for index in range(len(OURS))])
    rig.send(*OURS)
    assert {slot for slot, _marker, _done in rig.written} == {index for _topic, index in own}
    (request, _on_reply), = rig.sent  # fmt: skip
    (marker,) = request.markers
    assert sorted(marker.topics[0].partition_indexes) == sorted(index for _topic, index in others)


def test_partitions_of_another_node_are_one_request_and_what_comes_meanwhile_the_next_one(rig):
    rig.follow([OTHER] * 8)
    first = rig.send(*OURS[:2])
    second = rig.send(OURS[2], is_commit=False)
    (request, on_reply), = rig.sent  # fmt: skip
    (marker,) = request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 2, EPOCH)
    assert marker.transaction_result
    assert [(topic.name, sorted(topic.partition_indexes)) for topic in marker.topics] == [("t", [0, 1])]
    on_reply(Outcome.ANSWERED, response(first, {0: E.NONE, 1: E.NOT_LEADER_OR_FOLLOWER}))
    rig.work()
    assert rig.events == [(STATE, MarkersWritten("id", first.serial, frozenset({("t", 0)})))]
    assert len(rig.sent) == 2
    assert not rig.sent[1][0].markers[0].transaction_result
    rig.sent[1][1](Outcome.ANSWERED, response(second, {2: E.NONE}))
    rig.work(RETRY_MS)
    assert list(rig.sent[2][0].markers[0].topics[0].partition_indexes) == [1]


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.NOT_SENT, Outcome.TIMED_OUT])
def test_an_answer_that_is_lost_has_all_sent_again(rig, outcome):
    rig.follow([OTHER] * 8)
    rig.send(*OURS[:2])
    rig.sent[0][1](outcome, memoryview(b""))
    rig.work()
    assert not rig.events
    rig.work(RETRY_MS)
    assert len(rig.sent) == 2


DONE = {E.NONE, E.UNSUPPORTED_FOR_MESSAGE_FORMAT, E.UNSUPPORTED_VERSION}
LEFT = {E.INVALID_PRODUCER_EPOCH, E.TRANSACTION_COORDINATOR_FENCED}


@pytest.mark.parametrize("error", list(E))
def test_every_error_is_decided(rig, error):
    own, _others = own_and_others(rig)
    rig.written.clear()
    effect = rig.send(own[0])
    rig.finish_own(error)
    if error in DONE:
        assert rig.events[-1][1] == MarkersWritten("id", effect.serial, frozenset({own[0]}))
    elif error in LEFT:
        assert rig.events[-1][1] == MarkersRefused("id", effect.serial, error)
    else:
        assert not rig.events
        rig.work(RETRY_MS)
        assert len(rig.written) >= 1, "it is tried again"


def test_a_partition_without_a_leader_is_waited_for(rig):
    rig.follow([-1] * 8)
    rig.send(OURS[0])
    rig.work(10 * RETRY_MS)
    assert [rig.written, rig.asked, rig.sent, rig.events] == [[], [], [], []]
    rig.follow([OTHER] * 8)
    rig.work()
    assert len(rig.sent) == 1


def test_absence_of_a_topic_is_no_reason_to_drop_a_marker_and_its_deletion_is(rig):
    rig.follow(topics=())
    effect = rig.send(OURS[0])
    rig.work(RETRY_MS)
    assert not rig.events
    rig.follow(topics=(), deleted=("t",))
    rig.work()
    assert rig.events == [(STATE, MarkersWritten("id", effect.serial, frozenset({OURS[0]})))]


def test_a_partition_that_its_topic_lacks_is_waited_for(rig):
    """A ZooKeeper that was restored to before the topic grew shows fewer as well."""
    rig.follow([OTHER] * 2)
    rig.send(OURS[5])
    rig.work(3_600_000)
    assert not rig.events
    rig.follow()
    rig.work(3_600_000)
    assert rig.written or rig.asked


def test_what_was_dropped_hears_of_nothing(rig):
    rig.follow([OTHER] * 8)
    effect = rig.send(OURS[0])
    rig.sender.drop(DropMarkers(STATE, effect.serial))
    rig.sent[0][1](Outcome.ANSWERED, response(effect, {0: E.NONE}))
    rig.work(RETRY_MS)
    assert not rig.events
    assert len(rig.sent) == 1


def test_a_mailbox_without_room_is_tried_again(rig):
    _own, others = own_and_others(rig)
    rig.answer_worker()
    rig.takes = False
    rig.send(others[0])
    rig.takes = True
    rig.work(RETRY_MS)
    assert len(rig.asked) == 1


def test_a_job_that_is_done_is_forgotten(rig):
    own, _others = own_and_others(rig)
    rig.send(own[0])
    rig.finish_own()
    for _process, rows, on_reply in rig.asked:
        on_reply(ReplyStatus.ANSWERED, memoryview(MARKER_RESULT.pack(0) * len(rows)))
    rig.work()
    assert not rig.sender._jobs
    assert not rig.sender._left

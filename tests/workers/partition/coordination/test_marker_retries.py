"""What is tried again comes back after a while, waits without work, and holds no others."""

import logging

import pytest

from headrace.errors import ErrorCode as E
from headrace.runtime.peer_request import Outcome
from headrace.workers.partition.coordination.marker_lanes import SOON_MS
from headrace.workers.partition.coordination.marker_sender import RETRY_MAX_MS, RETRY_MS, TOLD_MS
from tests.workers.partition.coordination.marker_rig import OTHER, OURS, Rig, own_and_others, response


@pytest.fixture
def rig():
    return Rig()


def elsewhere():
    """A sender whose partitions are all led by the other node."""
    rig = Rig()
    rig.follow([OTHER] * 8)
    return rig


def answer(rig, effect, errors, number=-1):
    rig.sent[number][1](Outcome.ANSWERED, response(effect, errors))


@pytest.mark.parametrize("error", [E.NOT_ENOUGH_REPLICAS, E.NOT_LEADER_OR_FOLLOWER, E.UNKNOWN_SERVER_ERROR])
def test_what_its_own_log_refuses_is_tried_again_after_a_while_and_is_no_work_until_then(rig, error):
    """It was tried in each cycle, and no cycle slept."""
    (place, *_rest), _others = own_and_others(rig)
    rig.answer_worker()
    rig.finish_own()
    tries = []
    rig.sender._writes.write = lambda _slot, _key, _marker, done: (tries.append(rig.now_ms), done(error))
    rig.send(place)
    assert [rig.work() for _ in range(100)] == [0] * 100
    rig.work(RETRY_MS - 1)
    assert len(tries) == 1
    rig.work(1)
    assert len(tries) == 2
    rig.work(RETRY_MS)
    assert len(tries) == 2, "the pause grows"
    for _ in range(60):
        rig.work(RETRY_MAX_MS)
    assert 60 <= len(tries) <= 63
    rig.follow()
    rig.work()
    assert tries[-1] == rig.now_ms, "a view may show another leader"


def test_what_another_node_refuses_is_tried_again_after_a_while():
    rig = elsewhere()
    effect = rig.send(OURS[0])
    answer(rig, effect, {0: E.NOT_ENOUGH_REPLICAS})
    assert [rig.work() for _ in range(10)] == [0] * 10
    assert len(rig.sent) == 1
    rig.work(RETRY_MS)
    assert len(rig.sent) == 2


def test_what_waits_behind_a_request_is_no_work():
    """It kept the worker awake, and was gone over in each cycle."""
    rig = elsewhere()
    first = rig.send(OURS[0])
    for _ in range(5):
        rig.send(OURS[1])
    assert [rig.work() for _ in range(10)] == [0] * 10
    assert rig.sender.is_waiting
    assert not rig.sender._due
    answer(rig, first, {0: E.NONE})
    assert rig.work() == 6, "one is reported, five are sent"
    assert len(rig.sent) == 2


def test_an_error_that_is_not_decided_is_told_once_a_minute(rig, caplog):
    caplog.set_level(logging.ERROR)
    (place, *_rest), _others = own_and_others(rig)
    rig.answer_worker()
    rig.finish_own()
    rig.sender._writes.write = lambda _slot, _key, _marker, done: done(E.UNKNOWN_SERVER_ERROR)
    rig.send(place)
    for _ in range(10):
        rig.work(RETRY_MAX_MS)
    assert len(caplog.records) == 1
    assert "reason=UNKNOWN_SERVER_ERROR" in caplog.text
    rig.work(TOLD_MS)
    assert len(caplog.records) == 2


# Partitions that are slow


def test_a_partition_that_does_not_replicate_holds_others_for_no_longer_than_soon():
    """All transactions with partitions at the same leader waited until its marker was given up, again and again."""
    rig = elsewhere()
    slow = rig.send(OURS[0])
    well = rig.send(OURS[1])
    rig.work(SOON_MS - 1)
    assert len(rig.sent) == 1
    rig.work(1)
    assert len(rig.sent) == 2
    answer(rig, well, {1: E.NONE})
    rig.work()
    assert rig.written_places() == {OURS[1]}
    answer(rig, slow, {0: E.REQUEST_TIMED_OUT}, number=0)
    rig.work(RETRY_MS)
    assert len(rig.sent) == 3, "the slow one again"
    well = rig.send(OURS[1])
    assert len(rig.sent) == 4, "which holds nothing"
    answer(rig, well, {1: E.NONE})
    rig.work()


def test_a_slow_partition_has_one_request_at_a_time_with_all_its_markers():
    rig = elsewhere()
    rig.sender._lanes.note_slow(OURS[0])
    first = rig.send(OURS[0])
    rig.send(OURS[0])
    rig.send(OURS[0])
    assert len(rig.sent) == 1
    rig.now_ms += SOON_MS
    rig.work()
    assert len(rig.sent) == 1
    answer(rig, first, {0: E.NONE})
    rig.work()
    assert len(rig.sent) == 2
    (request, _on_reply) = rig.sent[1]
    assert len(request.markers) == 2


def test_a_slow_partition_that_is_answered_in_time_goes_with_the_others_again():
    rig = elsewhere()
    rig.sender._lanes.note_slow(OURS[0])
    effect = rig.send(OURS[0])
    answer(rig, effect, {0: E.NONE})
    rig.work()
    rig.send(OURS[0], OURS[1])
    assert len(rig.sent) == 2
    rig.send(OURS[0])
    assert len(rig.sent) == 2, "behind the one on its way"


def test_requests_to_slow_partitions_are_bounded(monkeypatch):
    from headrace.workers.partition.coordination import marker_lanes

    monkeypatch.setattr(marker_lanes, "SLOW_REQUESTS_MAX", 2)
    rig = elsewhere()
    for place in OURS[:4]:
        rig.sender._lanes.note_slow(place)
    effect = rig.send(*OURS[:4])
    assert len(rig.sent) == 2
    for number, (request, _on_reply) in enumerate(list(rig.sent)):
        (index,) = request.markers[0].topics[0].partition_indexes
        answer(rig, effect, {index: E.NONE}, number)
    rig.work()
    assert len(rig.sent) == 4


def test_no_more_slow_partitions_are_known_than_there_is_room_for(monkeypatch):
    from headrace.workers.partition.coordination import marker_lanes

    monkeypatch.setattr(marker_lanes, "SLOW_PARTITIONS_MAX", 2)
    lanes = elsewhere().sender._lanes
    for place in OURS:
        lanes.note_slow(place)
    assert list(lanes._slow) == OURS[-2:]


def test_what_was_put_by_is_looked_at_again_with_the_next_view():
    rig = elsewhere()
    rig.send(OURS[0])
    rig.sender._lanes.note_slow(OURS[1])
    rig.send(OURS[1])
    rig.send(OURS[1], OURS[2])
    rig.follow()
    rig.work()
    assert not rig.sender.is_waiting

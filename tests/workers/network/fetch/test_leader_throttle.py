"""A leader's throttle: who is out of sync gets nothing once the rate is used up, and everybody else what there is."""

import pytest

from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.shm.counters import REPLICATION_BYTES_THROTTLED, Counters
from headrace.workers.network.fetch.leader_throttle import LeaderThrottle
from tests.workers.network.follower_rig import FOLLOWER, NODE, FollowerRig, replicated, wanted

RATE_KEY = "leader.replication.throttled.rate"
REPLICAS_KEY = "leader.replication.throttled.replicas"


@pytest.fixture
def rig(tmp_path):
    rig = FollowerRig(tmp_path)
    yield rig
    rig.close()


def throttle(rig, replicas="*", rate=1, isr=(NODE,)):
    """The cluster as kafka-reassign-partitions leaves it while a replica is on its way; None: no rate any more."""
    view = replicated(rig.seat.view.view, isr=isr)
    topics = {name: topic._replace(configs={REPLICAS_KEY: replicas}) for name, topic in view.topics.items()}
    settings = {} if rate is None else {RATE_KEY: str(rate)}
    rig.set_view(view._replace(topics=topics, node_settings=settings))
    rig.replicas.follow(rig.seat.view.view)
    rig.turn()


def records(rows):
    return {index: len(row.records) for index, row in rows.items() if len(row.records)}


def test_who_is_out_of_sync_waits_once_the_rate_is_used_up(rig):
    size = rig.put().log.size_bytes
    throttle(rig, rate=size)  # a second for each batch
    follower = rig.follower
    assert records(follower.fetch(wanted(0), wanted(1))[1]) == {0: size}
    rig.put()
    answer, rows = follower.fetch(wanted(0, 1))
    assert (answer.error_code, records(rows)) == (0, {})
    rig.clock.ms += 999
    assert records(follower.fetch()[1]) == {}
    rig.clock.ms += 1
    assert records(follower.fetch()[1]) == {0: size}, "it is news still"


def test_who_is_in_sync_is_never_held_back(rig):
    rig.put(count=3)
    throttle(rig, isr=(NODE, FOLLOWER))
    for _ in range(3):
        assert len(rig.follower.one(0, 1).records)
    assert rig.seat.counters.get(REPLICATION_BYTES_THROTTLED) > 0, "it is paid for by the others"


@pytest.mark.parametrize(
    ("replicas", "is_held"), [("*", True), ("0:0", True), ("1:0, 0:0", True), ("1:0", False), ("0:7", False)]
)
def test_it_holds_for_the_replicas_of_this_node_that_the_topic_names(rig, replicas, is_held):
    for slot in (0, 1):
        rig.put(slot)
    throttle(rig, replicas)
    rig.seat.counters.add(REPLICATION_BYTES_THROTTLED, 1_000)
    assert bool(len(rig.follower.one().records)) is not is_held


def test_what_is_not_throttled_goes_on_in_the_same_session(rig):
    throttle(rig, "0:0")
    follower = rig.follower
    follower.fetch(wanted(0), wanted(1))
    rig.seat.counters.add(REPLICATION_BYTES_THROTTLED, 1 << 30)
    for _ in range(3):
        for slot in (0, 1):
            rig.put(slot)
    _answer, rows = follower.fetch(wanted(0, 0), wanted(1, 0))
    assert list(records(rows)) == [1]


def test_a_fetch_that_is_held_back_is_answered_when_the_rate_is_paid(rig):
    """Not after all of its own wait: a slow rate would be a slower one."""
    size = rig.put(count=1).log.size_bytes
    throttle(rig, rate=10 * size)
    assert len(rig.follower.one().records)
    rig.put()
    rig.follower.send(wanted(0, 1), max_wait_ms=500, session=(0, -1))
    assert rig.follower.receive(20) is None
    rig.clock.ms += 99
    assert rig.follower.receive(20) is None
    rig.clock.ms += 1
    [row] = rig.follower.receive().responses[0].partitions
    assert len(row.records) == size


def test_another_rate_forgives_what_is_owed_and_none_counts_nothing(rig):
    rig.put(count=2)
    throttle(rig, rate=1)
    assert len(rig.follower.one(0, 0).records)
    assert not len(rig.follower.one(0, 1).records)
    throttle(rig, rate=2)
    assert len(rig.follower.one(0, 1).records)
    assert not len(rig.follower.one(0, 1).records)
    throttle(rig, rate=None)
    before = rig.seat.counters.get(REPLICATION_BYTES_THROTTLED)
    for _ in range(2):
        assert len(rig.follower.one(0, 1).records)
    assert rig.seat.counters.get(REPLICATION_BYTES_THROTTLED) == before


def test_without_a_rate_nothing_is_asked_about_replicas(rig, monkeypatch):
    rig.put()
    monkeypatch.setattr(LeaderThrottle, "holds", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(LeaderThrottle, "tick", lambda *_: pytest.fail("asked"))
    throttle(rig, rate=None)
    assert len(rig.follower.one().records)


def test_the_node_as_a_whole_keeps_the_rate():
    """Whichever network workers its followers are connected to."""
    counters = [Counters(memoryview(bytearray(8 * 48)).cast("Q"), 0) for _ in range(3)]
    view = EMPTY_VIEW._replace(cluster_settings={RATE_KEY: "1000"})
    workers = [LeaderThrottle(NODE, 1 << 60, one, counters) for one in counters]
    for worker in workers:
        worker.follow(view)
    sent = 0
    for now_ms in range(0, 60_000, 50):
        for worker in workers:
            worker.tick(now_ms)
        for worker in workers[:2]:
            if not worker.owed_ms(now_ms):
                worker.sent(500)
                sent += 500
    assert 57_000 <= sent <= 63_000
    assert workers[2].owed_ms(60_000) <= 1_000
    counters[1].add(REPLICATION_BYTES_THROTTLED, -counters[1].get(REPLICATION_BYTES_THROTTLED))  # it began anew
    assert workers[0].owed_ms(60_000) <= 1_000

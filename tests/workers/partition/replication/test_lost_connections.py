"""A proof counts for one connection: what was proven by another one is compared again, whether or not a request was in flight.

The leader comes back with less, and with other records at the same offsets, under the same leader epoch: as a broker of another kind after
a power loss does.
"""

import pytest

from headrace.limits import THROTTLE_PAUSE_MS_MAX
from headrace.runtime.peer_states import PeerState
from headrace.shm.cluster_view import TopicView
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.log_fixtures import all_bytes
from tests.workers.partition.replication.test_compared_batches import ibp, reported, stage, until
from tests.workers.partition.replication.test_throttle import RATE_KEY, REPLICAS_KEY
from tests.workers.partition.replication.test_truncation import Stage

__all__ = ["ibp", "stage"]

COMES_BACK = pytest.mark.parametrize("has_less", [True, False], ids=["with less", "as it was"])


def peer_of(rig):
    return rig.fetchers._fetchers[1]._connection._peer


def come_back(leader, led, *, has_less):
    """Its process restarts, and appends: over what it has lost, or after what it had."""
    led.restart(lost_from=3 if has_less else None)
    led.append(4, size=50)
    leader.forget_sessions()
    for session in leader.node.sessions:
        if not session.is_over:
            session.reset()


def judge(rig, led, *, has_less):
    """Reported and kept, or the same."""
    before = all_bytes(rig.log)
    if has_less:
        until(rig, lambda: rig.state is FollowerState.FAILED)
        assert [epoch for _at, epoch in reported(rig)] == [1]
        assert all_bytes(rig.log) == before
    else:
        until(rig, lambda: rig.log.log_end_offset == led.log.log_end_offset)
        assert all_bytes(rig.log) == all_bytes(led.log)
        assert not reported(rig)


def let_wait(rig, led):
    """Its only partition is refused, and backs off: nothing is in flight."""
    led.leads = False
    until(rig, lambda: rig.state is FollowerState.WAITING and not rig.fetchers._fetchers[1].is_asking)


@COMES_BACK
def test_it_is_compared_again_where_nothing_was_in_flight(stage, has_less):
    rig = stage.rig
    led, leader = stage.broker()
    led.lead(1).append(5)
    stage.follow(1, 1, led)
    let_wait(rig, led)
    come_back(leader, led, has_less=has_less)
    rig.turn_until(lambda: peer_of(rig).state is not PeerState.READY)
    led.leads = True
    judge(rig, led, has_less=has_less)


@COMES_BACK
def test_nor_was_anything_of_a_throttled_one(make_rig, tmp_path, ibp, has_less):
    """It waits for what it took, for most of the time."""
    slow = {RATE_KEY: "1000", "replica.fetch.max.bytes": "2000", "replica.fetch.response.max.bytes": "2000"}
    stage = Stage(lambda **settings: make_rig(**settings, **slow), tmp_path, ibp)
    rig = stage.rig
    led, leader = stage.broker()
    led.lead(1).append(20, size=1_000)
    rig.follow(leader=1, epoch=1, configs={REPLICAS_KEY: "*"})
    rig.turn_until(lambda: rig.state is FollowerState.WAITING)
    own = rig.log.log_end_offset
    led.restart(lost_from=own - 1 if has_less else None)
    led.append(4, size=50)
    leader.forget_sessions()
    for session in leader.node.sessions:
        session.reset()
    rig.turn_until(lambda: peer_of(rig).state is not PeerState.READY)

    def is_judged():
        rig.pass_ms(THROTTLE_PAUSE_MS_MAX)
        return rig.state is FollowerState.FAILED or rig.log.log_end_offset == led.log.log_end_offset

    rig.turn_until(is_judged)
    assert [epoch for _at, epoch in reported(rig)] == ([1] if has_less else [])
    assert all_bytes(rig.log)[: len(all_bytes(led.log))] == all_bytes(led.log) or has_less
    assert rig.log.log_end_offset == (own if has_less else led.log.log_end_offset)
    stage.close()


def show(rig, index, *, is_halted):
    """One partition of the topic is stopped, or goes on, under the same leader and epoch."""
    topic = rig.view.topics["t"]
    parts = [one._replace(is_halted=is_halted) if one.index == index else one for one in topic.partitions]
    rig.show({"t": TopicView("t", topic.topic_id, False, {}, tuple(parts))})


@COMES_BACK
@pytest.mark.parametrize("count", [1, 2], ids=["alone", "beside another one"])
def test_nor_was_anything_of_one_that_was_stopped_meanwhile(stage, has_less, count):
    """It follows again under the same leader and epoch. Another partition may have kept the leader's connections busy."""
    rig = stage.rig
    led, leader = stage.broker()
    other = type(led)(led._directory.parent, index=1, epoch=1)
    leader.lead(other)
    for epoch, records in ((0, 2), (1, 3)):
        led.lead(epoch).append(records)
        rig.follow(leader=1, epoch=epoch, count=count)
        rig.follow_until(led)
        rig.settle()
    assert not rig.replica.is_unproven
    show(rig, 0, is_halted=True)
    rig.settle()
    come_back(leader, led, has_less=has_less)
    if count > 1:
        other.append(1)
        two = rig.node.replicas.by_slot[1]
        until(rig, lambda: two.log.log_end_offset == 1)
    show(rig, 0, is_halted=False)
    if count > 1:
        other.append(1)  # answers the fetch that waits
    judge(rig, led, has_less=has_less)


def test_while_a_connection_lasts_nothing_is_compared_twice(stage):
    rig = stage.rig
    led, leader = stage.broker()
    led.append(1)
    stage.follow(1, 1, led)
    rig.settle()
    leader.asked.clear()
    for _ in range(5):
        led.append(1)
        rig.follow_until(led)
        rig.settle()
    assert not [
        part for one in leader.fetches for topic in one.topics for part in topic.partitions if part.log_start_offset < 0
    ]

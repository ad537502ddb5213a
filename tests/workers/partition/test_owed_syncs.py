"""Logs that owe a sync under a new setting: some in each cycle, while the worker serves."""

import pytest

from tests.support.fake_seat import view_of
from tests.workers.partition.replica_fixtures import PassingClock

COUNT = 20
SYNCED, EACH = {"headrace.flush.before.ack": "true"}, {"flush.messages": "1"}


@pytest.fixture
def slow(node):
    """Each look at the clock is a slice later: one log takes all of it."""
    node.clock = PassingClock()
    node.start()
    return node


def unsynced(node):
    return sum(one.log.recovery_point < one.log.log_end_offset for one in node.replicas.by_slot.values())


def written(node, view):
    node.replicas.follow(view)
    while node.replicas.has_unopened:
        node.replicas.open_some()
    for slot in range(COUNT):
        assert node.append(slot)


@pytest.mark.parametrize("setting", [SYNCED, {"log.flush.interval.messages": "1"}], ids=["before ack", "messages"])
def test_a_default_that_is_turned_on_syncs_a_few_logs_a_cycle(slow, setting):
    view = view_of(("t", COUNT))
    written(slow, view)
    slow.replicas.follow(view._replace(version=2, cluster_settings=setting))
    assert COUNT - unsynced(slow) == 1
    left = [unsynced(slow) for _ in range(COUNT) if slow.replicas.sync_some()]
    assert left == list(range(COUNT - 2, -1, -1))
    assert not slow.replicas.sync_some()
    assert all(slow.row(slot).recovery_point == 1 for slot in range(COUNT))


@pytest.mark.parametrize("configs", [SYNCED, EACH], ids=["before ack", "messages"])
def test_so_does_a_topics_setting_and_what_is_gone_by_then_owes_nothing(slow, configs):
    written(slow, view_of(("t", COUNT)))
    slow.replicas.follow(view_of(("t", COUNT, configs))._replace(version=2))
    assert unsynced(slow) == COUNT - 1
    slow.replicas.follow(view_of(("t", 5, configs))._replace(version=3))
    for _ in range(COUNT):
        slow.replicas.sync_some()
    assert sorted(slow.replicas.by_slot) == list(range(5))
    assert not unsynced(slow)


def test_logs_that_are_due_by_time_are_flushed_a_few_a_tick(slow):
    written(slow, view_of(("t", COUNT, {"flush.ms": "1"})))
    left = []
    for _ in range(COUNT):
        slow.replicas.tick(slow.clock.ms + 1_000)
        left.append(unsynced(slow))
    assert left == list(range(COUNT - 1, -1, -1))

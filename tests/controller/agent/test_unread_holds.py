"""Znodes of holds that can't be read, and holds of partitions that are no more: kept, reported, and no end of anything else."""

import pytest

from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_reader import read_held_by
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.leader_eras import ERA
from tests.controller.holding_node import ID, NODE, SECOND, THIRD, Rig

LATER_VERSION = b'{"version":2,"topic_id":"x","partitions":[]}'
PATH = held_znodes.held_path(NODE, "t")
AHEAD = HeldReplica(
    ID, is_proven=True, end_offset=10, end_epoch=3, log_epoch=3, parted_at=5, parted_from=SECOND, parted_in=2,
    is_conflict=True,
)  # fmt: skip


@pytest.fixture
def unread(new_node, ensemble):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(NODE, SECOND), leader=SECOND, epoch=5)
    ensemble.put(PATH, LATER_VERSION)
    rig.join(after_power_loss=False)
    return rig


def test_what_can_not_be_read_outlasts_sessions_and_processes(unread, caplog):
    for _session in range(2):
        unread.join(after_power_loss=False)
        if unread.holds.next_ms is not None:
            unread.check()
        assert unread.ensemble.data(PATH) == LATER_VERSION
        assert unread.known.unread_holds == {"t"}
    unread.known.unread_holds = set()
    unread.begin()
    unread.join(after_power_loss=False)
    assert unread.known.unread_holds == {"t"}
    assert caplog.text.count("held replicas of a topic are unknown") == 1, "once for each process"


def test_what_is_held_since_is_stored_beside_it_and_read_again(unread):
    unread.state((NODE,), -1)
    unread.join(after_power_loss=False)
    response = unread.opened(end=88, mark=90)
    unread.check()
    assert response.poll(unread.node.now_ms) is not None, "its owner need not wait"
    assert unread.ensemble.data(PATH) == LATER_VERSION
    assert unread.stored == {"t", "t:0:1"}
    unread.begin()
    unread.join(after_power_loss=False)
    assert unread.known.held["t", 0].end_offset == 88
    unread.state((SECOND,), SECOND, epoch=6)
    unread.check()
    assert unread.stored == {"t"}
    assert unread.ensemble.data(PATH) == LATER_VERSION


def test_of_two_that_can_be_read_again_the_one_that_waits_for_an_operator_counts(new_node, ensemble):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(SECOND,), leader=SECOND, epoch=5)
    ensemble.put(PATH, held_znodes.encode_held({0: AHEAD}))
    ensemble.put(f"{PATH}:0:1", held_znodes.encode_held({0: HeldReplica(ID, end_offset=88)}))
    rig.join(after_power_loss=False)
    assert rig.known.held["t", 0] == AHEAD
    rig.check()
    assert rig.stored == {"t"}


def test_of_two_that_have_parted_the_one_that_waits_for_an_operator_counts_then_the_later_one(ensemble):
    parted = AHEAD._replace(is_conflict=False)
    later = parted._replace(end_offset=20)
    cases = [((AHEAD, later), AHEAD), ((later, AHEAD), AHEAD), ((parted, later), later), ((later, parted), parted)]
    for (first, second), expected in cases:
        ensemble.put(f"{PATH}:1", held_znodes.encode_held({2: first}))
        ensemble.put(f"{PATH}:1:10", held_znodes.encode_held({2: second}))
        ensemble.put(f"{PATH}:1:9", held_znodes.encode_held({2: first}))
        assert ensemble.run(read_held_by(ensemble.session(), NODE)) == {("t", 2): expected}


@pytest.mark.parametrize("data", [held_znodes.encode_held({0: AHEAD}), b"{"])
def test_an_accepted_loss_stays_for_a_hold_that_is_stored_beside_another_znode(rig, data):
    rig.put()
    rig.join()
    rig.opened()
    rig.ensemble.put(f"{held_znodes.held_path(SECOND, 't')}:0:1", data)
    path = held_znodes.accept_loss_path(("t", 0))
    rig.ensemble.put(path, held_znodes.encode_accept_loss({NODE: 88, SECOND: 10}))
    rig.state((SECOND,), SECOND, epoch=6)
    rig.check()
    assert not rig.known.held
    assert held_znodes.accepted_ends(rig.ensemble.data(path)) == {SECOND: 10}


def test_a_znode_that_somebody_else_wrote_meanwhile_is_looked_at_first(new_node, ensemble):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(NODE,), leader=-1)
    rig.join(after_power_loss=False)
    ensemble.put(PATH, LATER_VERSION)
    rig.opened(end=88, mark=90)
    rig.check()
    assert ensemble.data(PATH) == LATER_VERSION
    assert rig.stored == {"t", "t:0:1"}


@pytest.mark.parametrize("is_away", [False, True])
def test_a_log_of_which_it_can_not_be_read_what_its_broker_holds_is_for_an_operator(new_node, ensemble, is_away):
    """It may be missing there, with an empty one in its place, or wait for an operator itself."""
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "1000"})
    if is_away:
        rig.unregister(SECOND)
    rig.put(isr=(NODE, SECOND))
    ensemble.put(held_znodes.held_path(SECOND, "t"), b"{")
    rig.join()
    rig.opened(end=88)
    rig.ends = {SECOND: {} if is_away else {("t", 0): LogEnd(-1, 0)}, THIRD: {("t", 0): LogEnd(4, 60)}}
    for _ in range(3):
        rig.check(60_000)
    assert rig.known.held["t", 0].waits_for == (SECOND,)
    ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 88}))
    rig.check()
    assert not rig.known.held
    assert rig.stored_state()[:3] == (-1, ERA, (NODE, SECOND))


def test_an_accepted_loss_that_can_not_be_read_is_left_as_it_is(rig, caplog):
    rig.put()
    rig.join()
    rig.opened()
    path = held_znodes.accept_loss_path(("t", 0))
    rig.ensemble.put(path, b"{")
    rig.check()
    assert rig.known.held, "it is not meant"
    rig.state((SECOND,), SECOND, epoch=6)
    rig.check()
    assert not rig.known.held
    assert rig.ensemble.data(path) == b"{"
    assert f"it can't be read path={path}" in caplog.text


# Partitions that are no more: ZooKeeper was put back to before they were added


def test_a_hold_of_a_partition_that_the_topic_does_not_have_is_kept_and_reported(new_node, ensemble, caplog):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(NODE,), leader=-1)
    ensemble.put(PATH, held_znodes.encode_held({3: AHEAD}))
    rig.join()
    rig.opened(end=88)
    rig.ends = {broker: {("t", 0): LogEnd(4, 88)} for broker in (SECOND, THIRD)}
    for _ in range(2):
        rig.check()
    assert list(rig.known.held) == [("t", 3)], "the other one was compared"
    assert rig.stored == {"t"}
    assert caplog.text.count("its topic has no such partition now") == 1
    ensemble.put(held_znodes.accept_loss_path(("t", 3)), held_znodes.encode_accept_loss({NODE: 10}))
    rig.check()
    assert not rig.known.held
    assert not rig.stored


def test_what_goes_wrong_with_one_partition_does_not_end_the_check_of_others(rig, caplog):
    rig.put()
    rig.put(name="u")
    rig.join()
    rig.opened()
    rig.opened(name="u")
    rig.ends = {broker: {("t", 0): LogEnd(4, 88), ("u", 0): LogEnd(4, 88)} for broker in (SECOND, THIRD)}
    real = rig.known.topics["t"].configs
    rig.known.topics["t"].configs = None  # whatever it is
    for _ in range(3):
        rig.check()
    assert list(rig.known.held) == [("t", 0)]
    assert caplog.text.count("comparing it failed") == 1
    assert "partition=t-0 reason=TypeError" in caplog.text
    rig.known.topics["t"].configs = real
    rig.check()
    assert not rig.known.held

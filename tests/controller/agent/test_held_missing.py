"""Replicas that are held as their log is missing, or can't be opened: what they are compared with, and when they give way."""

import pytest

from headrace.controller.agent.hold_decision import OUT_OF_SERVICE, LogEnd
from headrace.controller.zookeeper import held_znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.leader_eras import ERA
from headrace.shm.messages import (
    LOG_IS_MISSING,
    LOG_WAS_ANOTHER,
    OPENED_RESULT,
)
from tests.controller.holding_node import ID, NODE, REPLICAS, SECOND, THIRD, Rig, lost_lines


@pytest.mark.parametrize("flags", [0, LOG_IS_MISSING])
def test_whoever_is_registered_is_waited_for_though_unclean_elections_are_allowed(rig, flags):
    """It recovers its log, and answers soon where that ends: it is not away."""
    rig.put(isr=REPLICAS, **{"unclean.leader.election.enable": "true"})
    rig.join()
    rig.opened(end=-1 if flags else 88, mark=120, flags=flags)
    rig.check()
    rig.check(10_000_000)
    assert rig.known.held["t", 0].waits_for == (SECOND, THIRD)


def test_a_log_that_its_broker_has_out_of_service_is_not_waited_for_beyond_the_time(new_node, ensemble):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "5000"})
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened()
    rig.ends = {SECOND: {("t", 0): OUT_OF_SERVICE}, THIRD: {("t", 0): LogEnd(4, 10)}}
    rig.check()
    assert rig.known.held
    rig.check(5_000)
    assert not rig.known.held


def missing(rig, flags=LOG_IS_MISSING, **changes):
    rig.put(**changes)
    rig.join(after_power_loss=False)
    return rig.opened(end=0, epoch=-1, flags=flags)


def test_a_replica_in_sync_without_a_log_is_held_until_others_are_known(rig, caplog):
    response = missing(rig, leader=NODE)
    assert response.poll(rig.node.now_ms) is None
    rig.ends[SECOND] = {("t", 0): LogEnd(-1, 0)}
    rig.check()
    assert response.poll(rig.node.now_ms) == OPENED_RESULT.pack(0)
    assert rig.view() == (-1, (NODE,))
    [held] = held_znodes.decode_held("t", rig.ensemble.data(held_znodes.held_path(NODE, "t"))).values()
    assert held.is_missing
    assert held.is_proven
    assert "its log is not found in any log directory partition=t-0" in caplog.text
    rig.opened(end=0, epoch=-1)  # the empty one that was made in its place
    rig.state((NODE,), -1, epoch=6)
    rig.ends[THIRD] = {("t", 0): LogEnd(4, 95)}
    rig.check()
    assert rig.stored_state().isr == (NODE,), "the third one lacks some of what may be on a disk that comes back"
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 0}))
    rig.check()
    assert rig.stored_state().isr == (THIRD,)
    assert "first_offset=0 " in lost_lines(caplog)[0]


def test_a_log_that_is_back_is_held_for_its_absence_no_more(rig):
    missing(rig, leader=NODE)
    rig.check()
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(end=88)
    held = rig.known.held["t", 0]
    assert (held.is_missing, held.is_proven, held.end_offset) == (False, False, 88)


def test_a_partition_that_was_made_in_this_life_never_had_a_log(rig):
    rig.put(name="other", isr=(SECOND,), leader=SECOND)
    rig.join(after_power_loss=False)
    rig.put(leader=NODE)
    rig.node.turn()
    response = rig.opened(end=0, epoch=-1, flags=LOG_IS_MISSING)
    rig.check()
    assert response.poll(rig.node.now_ms) == OPENED_RESULT.pack(0)
    assert not rig.known.held
    assert rig.view() == (NODE, (NODE,))


@pytest.mark.parametrize(("is_new", "epoch"), [(False, 0), (False, 5), (True, 0), (True, 5)])
def test_a_sole_replica_without_a_log_is_held_where_a_disk_may_not_be_mounted(rig, caplog, is_new, epoch):
    rig.begin(has_new_directory=is_new)
    missing(rig, replicas=(NODE,), leader=NODE, epoch=epoch)
    rig.check()
    assert rig.view() == (-1 if is_new else NODE, (NODE,))
    assert bool(lost_lines(caplog)) is not is_new
    assert rig.stored_state().leader_epoch == epoch + (not is_new), "readers notice that offsets begin again"
    if is_new:
        rig.check(1_000_000)
        assert rig.known.held
        rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 0}))
        rig.check()
        assert rig.known.held, "offsets begin again: not in the leader epoch that readers know"
        rig.state((NODE,), -1, epoch=epoch + 1)
        for _ in range(2):
            rig.check()
        assert not rig.known.held
        assert "first_offset=0 " in lost_lines(caplog)[0]


def test_where_another_topic_s_log_had_its_place_its_owner_has_said_so(rig, caplog):
    missing(rig, LOG_IS_MISSING | LOG_WAS_ANOTHER, replicas=(NODE,), leader=NODE)
    rig.check()
    assert rig.view() == (NODE, (NODE,))
    assert not lost_lines(caplog)


@pytest.mark.parametrize("is_missing", [True, False])
def test_an_empty_log_in_the_place_of_one_that_is_missing_is_not_compared_with(rig, is_missing):
    """The other replica in sync waits for its disk. What it has of the end that is lost here is not known."""
    rig.put(isr=(NODE, SECOND))
    rig.join()
    rig.opened(end=80, mark=90)
    missing = HeldReplica(ID, is_proven=True, end_offset=0, is_missing=is_missing)
    rig.ensemble.put(held_znodes.held_path(SECOND, "t"), held_znodes.encode_held({0: missing}))
    rig.ends = {SECOND: {("t", 0): LogEnd(-1, 0)}, THIRD: {("t", 0): LogEnd(4, 60)}}
    rig.check()
    assert (("t", 0) in rig.known.held) is is_missing
    if is_missing:
        assert rig.known.held["t", 0].waits_for == (SECOND,)


@pytest.mark.parametrize("keep", [-1, SECOND])
def test_a_log_that_can_not_be_opened_gives_way_once_its_loss_is_accepted(new_node, ensemble, caplog, keep):
    """The last of the ISR lost power, and its disk: its owner says nowhere that it was opened."""
    rig = Rig(new_node, ensemble)
    rig.put()
    rig.join()
    rig.out.add(("t", 0))
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 70)}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, 5, (NODE,))
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: -1}, keep))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND,))
    assert not rig.known.held
    assert "first_offset=0 " in lost_lines(caplog)[0]


def test_one_that_is_being_recovered_has_its_time(new_node, ensemble):
    rig = Rig(new_node, ensemble, **{"unclean.recovery.timeout.ms": "60000"})
    rig.put()
    rig.join()
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {("t", 0): LogEnd(4, 70)}}
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: -1}))
    for _ in range(5):
        rig.check(10_000)
    assert rig.known.held
    rig.opened(end=88)  # it is whole, and what was accepted is meant all the same
    rig.ends[THIRD] = {}
    rig.check()
    assert not rig.known.held
    assert rig.stored_state()[2] == (NODE,)


def test_where_nobody_else_is_known_a_log_that_can_not_be_opened_is_held_on(rig):
    rig.put()
    rig.join()
    rig.out.add(("t", 0))
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: -1}))
    for _ in range(3):
        rig.check(200_000)
    assert rig.known.held


def test_a_missing_log_that_a_controller_left_alone_in_the_isr_gives_way_to_those_that_were_in_it(
    new_node, ensemble, caplog
):
    """Apache's controller reads no holds: it elects whoever registers first."""
    rig = Rig(new_node, ensemble)
    rig.put(isr=REPLICAS, leader=THIRD)
    rig.join()
    assert rig.known.held["t", 0].isr == REPLICAS
    rig.opened(end=0, epoch=-1, flags=LOG_IS_MISSING)
    rig.state((NODE,), -1, epoch=6)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 80)}, THIRD: {}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, 6, (NODE,)), "one of them may have more"
    rig.ends[THIRD] = {("t", 0): LogEnd(4, 90)}
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert "first_offset=80 " in lost_lines(caplog)[-1], "each of them had what was acknowledged"


def test_one_whose_row_says_nothing_yet_is_compared_with_the_next_check(rig):
    """Its mark is not known before, and a log that lacks what is committed here may lead."""
    rig.put()
    rig.join()
    rig.loading.add(("t", 0))
    rig.opened(end=88)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 90)}, THIRD: {("t", 0): LogEnd(4, 70)}}
    rig.check()
    assert not rig.asked
    rig.loading.clear()
    rig.check()
    assert rig.stored_state()[2] == (SECOND,)

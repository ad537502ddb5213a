"""The phases of one partition, pure."""

import itertools

import pytest

from headrace.controller.active.reassignment.reassignment import (
    NOTHING,
    BrokersChanged,
    Elected,
    IsrChanged,
    Moving,
    Phase,
    Plan,
    Requested,
    check_target,
    plan,
)
from headrace.controller.cluster.partition_assignment import PartitionAssignment, told_assignment
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import NO_LEADER

EPOCH = 9
ALL = frozenset(range(1, 10))


def state(leader, *isr, epoch=5):
    return PartitionState(leader, epoch, isr, 3, version=17)


def raised(leader, *isr, epoch=6):
    return PartitionState(leader, epoch, isr, EPOCH, version=17)


def moving(replicas, adding, removing, known, live=ALL, ready=None):
    return Moving(PartitionAssignment(replicas, adding, removing), known, live, EPOCH, live if ready is None else ready)


def still(*replicas, known=None, live=ALL):
    return moving(replicas, (), (), known or state(replicas[0], *replicas), live)


SYNCING = moving((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3), state(1, 1, 2, 3))
SYNCED = SYNCING._replace(state=state(1, 1, 2, 3, 4, 5, 6))


def test_an_assignment_on_its_way_knows_origin_and_target():
    wanted = PartitionAssignment((1, 2, 3)).to((4, 5, 6))
    assert wanted == SYNCING.assignment
    assert (wanted.origin, wanted.target) == ((1, 2, 3), (4, 5, 6))
    assert wanted.to((4, 2)) == PartitionAssignment((4, 2, 1, 3), (4,), (1, 3))
    assert wanted.to(wanted.origin) == PartitionAssignment((1, 2, 3))


def test_the_order_of_an_origin_that_overlaps_is_lost():
    """So it is in Kafka: the target's replicas stand first, in its order."""
    wanted = PartitionAssignment((1, 2, 3)).to((3, 4, 2))
    assert wanted.replicas == (3, 4, 2, 1)
    assert wanted.to(wanted.origin).replicas == (3, 2, 1)


def test_a_request_is_written_and_told():
    assert plan(still(1, 2, 3), Requested((4, 5, 6))) == Plan(
        assignment=SYNCING.assignment, state=raised(1, 1, 2, 3), told=(1, 2, 3), told_new=(4, 5, 6)
    )


def test_in_sync_means_a_leader_of_the_target_and_the_others_go():
    assert plan(SYNCED, IsrChanged()) == Plan(
        state=raised(4, 4, 5, 6),
        told=(4, 5, 6),
        stopped=(1, 2, 3),
        settled=PartitionAssignment((4, 5, 6)),
    )


def test_a_leader_that_stays_keeps_leading():
    known = moving((3, 4, 2, 1), (4,), (1,), state(2, 1, 2, 3, 4))
    assert plan(known, IsrChanged()).state == raised(2, 2, 3, 4)


def test_a_dead_leader_of_the_target_is_replaced_by_one_that_lives():
    known = moving((3, 4, 2, 1), (4,), (1,), state(2, 1, 2, 3, 4), ALL - {2, 3})
    assert plan(known, IsrChanged()).state == raised(4, 2, 3, 4)


def test_nothing_is_finished_while_none_of_the_target_is_alive():
    away = ALL - {4, 5, 6}
    assert plan(SYNCED._replace(live=away, ready=away), IsrChanged()) is NOTHING


def test_the_same_one_again_changes_nothing():
    for known in (SYNCING, SYNCED):
        assert plan(known, Requested((4, 5, 6))) is NOTHING
    assert plan(still(1, 2, 3), Requested((1, 2, 3))) is NOTHING


def test_another_order_of_the_same_replicas_is_written_and_told():
    assert plan(still(1, 2, 3), Requested((3, 2, 1))) == Plan(
        assignment=PartitionAssignment((3, 2, 1)), state=raised(1, 1, 2, 3), told=(3, 2, 1)
    )


def test_fewer_replicas_that_are_in_sync_are_done_at_once():
    assert plan(still(1, 2, 3), Requested((3, 1))) == Plan(
        assignment=PartitionAssignment((3, 1, 2), (), (2,)),
        state=raised(1, 1, 3),
        told=(3, 1),
        stopped=(2,),
        settled=PartitionAssignment((3, 1)),
    )


def test_a_request_takes_another_ones_place():
    known = SYNCING._replace(state=state(1, 1, 2, 3, 5))
    assert plan(known, Requested((4, 7))) == Plan(
        assignment=PartitionAssignment((4, 7, 1, 2, 3), (4, 7), (1, 2, 3)),
        state=raised(1, 1, 2, 3),
        told=(1, 2, 3),
        told_new=(4, 7),
        stopped=(5, 6),
    )


def test_a_cancelled_one_goes_back_to_the_origin():
    known = SYNCING._replace(state=state(1, 1, 2, 3, 5))
    assert plan(known, Requested(None)) == Plan(
        assignment=PartitionAssignment((1, 2, 3)), state=raised(1, 1, 2, 3), told=(1, 2, 3), stopped=(4, 5, 6)
    )


def test_a_leader_among_the_cancelled_ones_gives_way():
    known = SYNCED._replace(state=state(5, 5, 2, 4), live=ALL - {1})
    assert plan(known, Requested(None)).state == raised(2, 2)


def test_the_last_replica_in_sync_is_never_deleted():
    """Kafka deletes it: its ISR is left with a replica that is gone."""
    for only in ((4,), (4, 5)):
        known = SYNCING._replace(state=state(4, *only), live=ALL - {1, 2, 3})
        for target in (None, (6, 7)):
            with pytest.raises(KafkaError, match="only ones in sync") as failure:
                plan(known, Requested(target))
            assert failure.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_there_is_nothing_to_cancel():
    with pytest.raises(KafkaError) as failure:
        plan(still(1, 2), Requested(None))
    assert failure.value.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_new_controller_begins_each_phase_again():
    assert plan(SYNCING, Elected()) == Plan(state=raised(1, 1, 2, 3), told=(1, 2, 3), told_new=(4, 5, 6))
    assert plan(SYNCED, Elected()) == plan(SYNCED, IsrChanged())
    assert plan(still(1, 2), Elected()) is NOTHING


def test_a_new_replicas_broker_that_comes_back_is_told():
    assert plan(SYNCING, BrokersChanged(frozenset({5}))) == plan(SYNCING, Elected())
    assert plan(SYNCING, BrokersChanged(frozenset({1}))) is NOTHING
    assert plan(SYNCING._replace(live=ALL - {5}), BrokersChanged(frozenset({5}))) is NOTHING, "it went"
    assert plan(SYNCED, BrokersChanged(frozenset({4}))) == plan(SYNCED, IsrChanged())
    assert plan(still(1, 2), BrokersChanged(frozenset({1}))) is NOTHING


def test_strangers_in_an_isr_leave_it():
    """KAFKA-9672: another controller may have left them there."""
    known = SYNCING._replace(state=state(1, 1, 8, 2))
    assert plan(known, Elected()).state == raised(1, 1, 2)
    assert plan(known, Requested((4, 5))).state == raised(1, 1, 2)


def test_brokers_are_told_of_the_target_alone_once_the_isr_is_the_target():
    done = plan(SYNCED, IsrChanged())
    assert told_assignment(SYNCED.assignment, done.state) == PartitionAssignment((4, 5, 6))
    for known in (SYNCED.state, SYNCING.state, state(NO_LEADER, 4, 5, 6)):
        assert told_assignment(SYNCED.assignment, known) == SYNCED.assignment
    assert told_assignment(PartitionAssignment((1, 2)), state(1, 1, 2)) == PartitionAssignment((1, 2))


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ((), "Empty replica list"),
        ((1, 2, 1), "Duplicate replica ids"),
        ((1, -1), "Invalid broker id"),
        ((1, 9), "not alive"),
    ],
)
def test_targets_that_can_not_be(target, says):
    with pytest.raises(KafkaError, match=says) as failure:
        check_target(PartitionAssignment((1, 2)), target, {1, 2, 3})
    assert failure.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_only_added_replicas_have_to_be_alive():
    check_target(PartitionAssignment((1, 2, 5)), (5, 3), {1, 2, 3})


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("event", [Requested((4, 5, 6)), Requested(None), IsrChanged(), BrokersChanged(ALL), Elected()])
def test_every_cell_keeps_what_must_hold(phase, event):
    """Over all states of three brokers and three others: what a plan writes is whole, and loses no replica in sync."""
    seen = 0
    for assignment in (
        PartitionAssignment((1, 2, 3)),
        SYNCING.assignment,
        PartitionAssignment((3, 4, 1, 2), (4,), (2,)),
    ):
        replicas = assignment.replicas
        for size in range(1, len(replicas) + 1):
            for isr in itertools.combinations(replicas, size):
                for leader in (*isr, NO_LEADER):
                    for live in (ALL, ALL - {1}, ALL - {4, 5, 6}, frozenset({4})):
                        known = Moving(assignment, state(leader, *isr), live, EPOCH, live)
                        if known.phase is phase:
                            seen += 1
                            _check_plan(known, event)
    assert seen


def _check_plan(known, event):
    try:
        made = plan(known, event)
    except KafkaError:
        assert isinstance(event, Requested)
        return
    if made is NOTHING:
        return
    written, where = made.state, (known, event)
    after = made.assignment or known.assignment
    assert written.leader_epoch == known.state.leader_epoch + 1, where
    assert written.controller_epoch == EPOCH, where
    assert written.version == known.state.version, where
    assert written.isr, where
    assert set(written.isr) <= set(known.state.isr) & set(after.replicas), where
    assert not set(written.isr) & set(made.stopped), where
    assert written.leader == NO_LEADER or written.leader in written.isr, where
    assert set(known.assignment.replicas) - set(after.replicas) <= set(made.stopped), where
    assert not set(made.told + made.told_new) & set(made.stopped), where
    if made.settled is not None:
        assert set(made.settled.replicas) <= set(written.isr), where
        assert written.leader in known.live, where
        everyone = {*known.assignment.replicas, *after.replicas}
        assert set(made.stopped) == everyone - set(made.settled.replicas), where
    else:
        assert {*made.told, *made.told_new} == set(after.replicas), where

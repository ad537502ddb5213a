"""Replicas whose logs are ahead of their states: held, compared, and led again in an epoch above all. Over a fake ZooKeeper."""

import pytest

from headrace.controller.active.heard_epochs import disputes
from headrace.controller.agent.hold_decision import LogEnd
from headrace.controller.zookeeper import held_znodes, znodes
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.errors import ErrorCode
from headrace.ids import partition_key
from headrace.leader_eras import ERA
from headrace.shm.messages import AHEAD_LOG, LOG_HAS_NO_ID, OPENED_RESULT
from tests.controller.holding_node import ID, NODE, REPLICAS, SECOND, THIRD, Rig, lost_lines

DONE = OPENED_RESULT.pack(ErrorCode.NONE)


@pytest.fixture
def rig(new_node, ensemble):
    rig = Rig(new_node, ensemble)
    rig.put(isr=REPLICAS, leader=THIRD, epoch=1)
    rig.join(after_power_loss=False)
    return rig


def ahead(rig, parted_at=50, leader=THIRD, epoch=1, end=550, log_epoch=4, flags=0):
    """What its owner tells."""
    slot = rig.known.slots.get("t", 0)
    body = AHEAD_LOG.pack(slot, partition_key("t", 0, ID), end, parted_at, log_epoch, log_epoch, leader, epoch, flags)
    return rig.holds.take_ahead(memoryview(body))


def test_it_is_held_and_its_owner_answered_once_that_is_stored_and_in_the_view(rig, caplog):
    pending = ahead(rig)
    topic = rig.known.topics["t"]
    assert rig.node.agent.rows.outcome(topic, 0, 1) is None  # the controller is not told before ZooKeeper has why
    assert rig.node.answer(pending) is None
    rig.ends = {SECOND: {}, THIRD: {}}
    rig.check()
    assert rig.node.answer(pending) == DONE
    assert rig.is_held
    assert rig.view()[0] == THIRD, "clients go there"
    assert rig.stored == {"t"}
    assert rig.node.agent.rows.outcome(topic, 0, 1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert "ZooKeeper has a state of the past partition=t-0" in caplog.text
    assert rig.known.held["t", 0].waits_for == (SECOND, THIRD)
    rig.state((SECOND, THIRD), THIRD, epoch=2)  # without us, and led by the same one: it is held on
    rig.check()
    assert rig.is_held


def test_as_the_best_it_becomes_the_isr_in_an_epoch_of_the_next_era(rig, caplog):
    ahead(rig)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 550)}, THIRD: {("t", 0): LogEnd(1, 50)}}
    events = rig.events
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (NODE,))
    assert not rig.known.held
    assert not rig.stored
    assert rig.events == events + 1
    assert any(path.startswith(znodes.ISR_CHANGE_PREFIX) for path in rig.ensemble.nodes)
    assert not rig.registrations
    assert "first_offset=50" in lost_lines(caplog)[0]  # the leader of the past may have written on


def test_a_better_one_becomes_it_and_who_lost_follows(rig):
    ahead(rig)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 551)}, THIRD: {("t", 0): LogEnd(1, 50)}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND,))
    assert not rig.known.held


def test_whose_state_was_raised_by_another_is_held_no_more_and_says_so(rig):
    ahead(rig)
    rig.ends = {SECOND: {}, THIRD: {}}
    rig.check()
    events = rig.events
    rig.state((SECOND,), -1, epoch=ERA)
    rig.check()
    assert not rig.known.held
    assert rig.events == events + 1  # the controller took it for one that can't serve
    assert not rig.stored


def test_it_is_held_on_whoever_is_elected_until_an_operator_has_decided(rig):
    """A controller counts leader epochs on, above that of its log: that says nothing of its records."""
    ahead(rig)
    rig.ends = {SECOND: {("t", 0): LogEnd(1, 550)}, THIRD: {("t", 0): LogEnd(1, 60)}}
    rig.check()
    rig.ends = {SECOND: {("t", 0): LogEnd(5, 550)}, THIRD: {("t", 0): LogEnd(1, 60)}}
    rig.state((SECOND, THIRD), SECOND, epoch=5)
    rig.check()
    assert rig.stored == {"t"}
    assert rig.is_held
    assert rig.known.held["t", 0].waits_for == (SECOND, THIRD)


def test_one_without_a_topic_id_is_for_an_operator_and_stays_so(rig, caplog):
    """Its directory may be of an earlier topic of the name: later epochs in it say nothing of the records that are acknowledged now."""
    ahead(rig, flags=LOG_HAS_NO_ID, parted_at=400)
    rig.ends = {SECOND: {("t", 0): LogEnd(0, 300)}, THIRD: {("t", 0): LogEnd(0, 300)}}
    rig.check()
    assert rig.stored_state()[:3] == (THIRD, 1, REPLICAS)
    assert "its directory had no topic id" in caplog.text
    rig.begin()
    rig.join(after_power_loss=False)
    ahead(rig)  # its directory has the id by now
    rig.check()
    assert rig.stored_state()[:3] == (THIRD, 1, REPLICAS)
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert "first_offset=0" in lost_lines(caplog)[0]


@pytest.mark.parametrize(("keep", "is_over"), [(-1, True), (SECOND, True), (NODE, False)])
def test_a_replica_that_is_moved_off_the_node_is_held_until_an_operator_lets_it_go(rig, caplog, keep, is_over):
    """A reassignment that knows no holds (Apache's controller) took it away: it would be deleted, and nobody has compared it."""
    ahead(rig)
    rig.ends = {SECOND: {("t", 0): LogEnd(1, 50)}, THIRD: {("t", 0): LogEnd(1, 50)}}
    rig.partings = {SECOND: 40, THIRD: 40}
    rig.check()
    rig.known.topics["t"].replicas = ((SECOND, THIRD),)
    for _ in range(3):
        rig.check()
    assert rig.stored == {"t"}
    assert rig.stored_state()[:3] == (THIRD, 1, REPLICAS), "nobody raises what has no replica here"
    assert caplog.text.count("replica held on, its partition was reassigned") == 1
    accept = held_znodes.encode_accept_loss({NODE: 550}, keep)
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), accept)
    rig.check()
    assert bool(rig.stored) is not is_over
    assert len(lost_lines(caplog)) == is_over
    if is_over:
        assert held_znodes.accept_loss_path(("t", 0)) not in rig.ensemble.nodes


def test_what_can_not_be_read_is_no_proof_that_nothing_is_held(new_node, ensemble, caplog):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(SECOND,), leader=SECOND, epoch=1)
    ensemble.put(held_znodes.held_path(NODE, "t"), b"{")
    rig.join(after_power_loss=False)
    assert rig.known.unread_holds == {"t"}
    assert "held replicas of a topic are unknown" in caplog.text


def test_with_a_leader_that_has_written_since_it_waits_for_an_operator(rig, caplog):
    ahead(rig, log_epoch=1)
    rig.ends = {SECOND: {("t", 0): LogEnd(1, 550)}, THIRD: {("t", 0): LogEnd(1, 60)}}
    rig.check()
    rig.check()
    held = held_znodes.decode_held("t", rig.ensemble.data(held_znodes.held_path(NODE, "t")))
    assert held[0].waits_for == (THIRD, SECOND), "the state's leader first"
    assert held[0].is_conflict
    assert caplog.text.count("these brokers have records of another history") == 1
    assert rig.stored_state()[:3] == (THIRD, 1, REPLICAS)
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert held_znodes.accept_loss_path(("t", 0)) not in rig.ensemble.nodes
    assert "first_offset=50" in lost_lines(caplog)[0]


def test_a_state_that_somebody_else_writes_at_the_same_time_is_read_again(rig):
    ahead(rig)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 550)}, THIRD: {("t", 0): LogEnd(1, 50)}}
    writes = iter([True])

    def write_first(_ordinal):
        if next(writes, False):
            rig.state((SECOND, THIRD), THIRD, epoch=2)

    rig.asking = lambda wanted: ask(rig, wanted, write_first)
    rig.check()
    assert rig.known.held
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (NODE,))


async def ask(rig, wanted, then):
    found = await rig.ask(wanted)
    then(0)
    return found


def test_what_a_process_before_found_is_held_on_and_told_again_it_is_the_same(rig):
    ahead(rig)
    rig.ends = {SECOND: {}, THIRD: {}}
    rig.check()
    rig.begin()
    rig.join(after_power_loss=False)
    assert rig.is_held
    rig.opened(end=550, epoch=4)
    ahead(rig, parted_at=70, leader=-1, epoch=3)
    held = rig.known.held["t", 0]
    assert (held.parted_at, held.parted_from, held.parted_in) == (50, THIRD, 1)


def test_without_other_replicas_its_epoch_is_raised_at_once(new_node, ensemble, caplog):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(NODE,), leader=NODE, epoch=1, replicas=(NODE,))
    rig.join(after_power_loss=False)
    ahead(rig, leader=NODE)
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (NODE,))
    assert not lost_lines(caplog)


# Two histories: ours has 80..99 of epoch 5, THIRD's went on from 80 in epoch 6, which a restored state gave


def conflict(rig):
    rig.state((THIRD,), THIRD, epoch=6)
    ahead(rig, parted_at=80, epoch=6, end=100, log_epoch=5)
    rig.ends = {SECOND: {("t", 0): LogEnd(6, 90)}, THIRD: {("t", 0): LogEnd(6, 90)}}
    rig.check()
    assert rig.is_held


def stored_hold(rig):
    return held_znodes.decode_held("t", rig.ensemble.data(held_znodes.held_path(NODE, "t")))[0]


def test_a_leader_that_ends_below_the_parting_that_was_thought_is_asked_where_it_was(rig, caplog):
    rig.state((SECOND, THIRD), THIRD, epoch=6)
    rig.ends = {SECOND: {("t", 0): LogEnd(6, 60)}, THIRD: {("t", 0): LogEnd(6, 60)}}
    rig.partings = {SECOND: 50, THIRD: 50}
    ahead(rig, parted_at=70, epoch=6, end=100, log_epoch=7)
    rig.check()
    assert rig.stored_state()[:3] == (THIRD, 6, (SECOND, THIRD))
    assert (stored_hold(rig).parted_at, stored_hold(rig).is_conflict) == (50, True)
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)))
    rig.check()
    assert "first_offset=50" in lost_lines(caplog)[0]


@pytest.mark.parametrize("leader", [-1, NODE])
def test_a_conflict_outlasts_what_the_state_says_and_this_process(rig, leader):
    conflict(rig)
    assert stored_hold(rig).is_conflict
    rig.state((THIRD,), leader, epoch=7)
    rig.check()
    assert rig.stored_state()[:3] == (leader, 7, (THIRD,))
    rig.ends[THIRD] = {}  # it is away
    rig.begin()
    rig.join(after_power_loss=False)
    rig.opened(end=100, epoch=5)
    rig.check()
    assert stored_hold(rig).is_conflict
    assert rig.stored_state()[:3] == (leader, 7, (THIRD,))


@pytest.mark.parametrize("leader", [-1, SECOND])
@pytest.mark.parametrize("keep", [None, NODE])
def test_an_operator_says_which_history_is_kept_though_a_third_replica_has_the_other_one(rig, caplog, leader, keep):
    conflict(rig)
    rig.unregister(THIRD)
    rig.state((SECOND,), leader, epoch=7)
    rig.ends = {SECOND: {("t", 0): LogEnd(6, 90)}, THIRD: {}}
    rig.check()
    assert rig.is_held
    data = held_znodes.encode_accept_loss({NODE: 100}, *([] if keep is None else [keep]))
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), data)
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND if keep is None else NODE,))
    assert "first_offset=80" in lost_lines(caplog)[0]


def test_a_conflict_keeps_its_end_through_a_power_loss_and_disputes_no_election(new_node, ensemble):
    """Its directory may never come back. It parted within an epoch, so its leader's followers may lead meanwhile."""
    rig = Rig(new_node, ensemble)
    rig.put(isr=(SECOND,), leader=SECOND, epoch=1)
    rig.join(after_power_loss=False)
    conflict(rig)
    rig.check()
    before = rig.known.held["t", 0]
    assert before.is_conflict
    rig.begin()
    rig.join(after_power_loss=True)
    held = held_znodes.decode_held("t", ensemble.data(held_znodes.held_path(NODE, "t")))[0]
    assert (held.end_offset, held.is_unopened) == (before.end_offset, True)
    assert not disputes(held, rig.known.topics["t"].states[0])
    asked = len(rig.asked)
    rig.check()
    assert len(rig.asked) == asked, "where it ends now is not known"
    rig.out.add(("t", 0))
    rig.ends = {SECOND: {("t", 0): LogEnd(1, 60)}, THIRD: {("t", 0): LogEnd(1, 60)}}
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: before.end_offset}))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (SECOND,))
    assert not rig.known.held


def test_one_that_is_opened_again_is_compared_again(new_node, ensemble):
    rig = Rig(new_node, ensemble)
    rig.put(isr=(SECOND,), leader=SECOND, epoch=1)
    rig.join(after_power_loss=False)
    conflict(rig)
    rig.check()
    rig.begin()
    rig.join(after_power_loss=True)
    rig.opened(end=500, epoch=1)
    held = rig.known.held["t", 0]
    assert (held.end_offset, held.is_unopened, held.is_conflict) == (500, False, True)


@pytest.mark.parametrize("how", ["accepted here", "raised by another"])
def test_a_worker_that_was_restarted_before_it_truncated_is_not_held_again(rig, caplog, how):
    """It has forgotten from which leader its log has parted, and reports it as it did before."""
    conflict(rig)
    if how == "accepted here":
        rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 100}))
        rig.check()
    else:
        rig.state((THIRD,), -1, epoch=ERA)
        rig.check()
    assert not rig.known.held
    rig.state((THIRD,), THIRD, epoch=ERA + 1)
    rig.node.turn()
    again = {"parted_at": 80, "epoch": ERA + 1, "log_epoch": 5}
    assert rig.node.answer(ahead(rig, end=100, **again)) == DONE
    assert not rig.known.held
    assert "it was decided that another history counts" in caplog.text
    ahead(rig, end=101, **again)
    assert rig.known.held, "another log"


def test_a_log_that_was_raised_itself_is_held_where_it_parts_later_in_that_era(rig):
    ahead(rig)
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 550)}, THIRD: {("t", 0): LogEnd(1, 50)}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (NODE,))
    rig.state((SECOND,), SECOND, epoch=ERA + 2)
    rig.node.turn()
    ahead(rig, leader=SECOND, epoch=ERA + 2)
    assert rig.known.held


def test_what_parted_in_a_later_era_is_held(rig):
    conflict(rig)
    rig.state((THIRD,), -1, epoch=ERA)
    rig.check()
    rig.state((SECOND,), SECOND, epoch=2 * ERA)
    rig.node.turn()
    ahead(rig, parted_at=80, epoch=2 * ERA, end=100, log_epoch=5)
    assert rig.known.held


# What was decided is remembered until the log has joined, for that leader and that parting alone


def decided(rig, leader=THIRD, **changes):
    """Ours has 80..99, which were decided to go: THIRD's history counts. Whether its owner is answered without a hold."""
    rig.state((leader,), leader, epoch=ERA + 1)
    rig.node.turn()
    again = {"parted_at": 80, "leader": leader, "epoch": ERA + 1, "end": 100, "log_epoch": 5}
    ahead(rig, **(again | changes))
    return not rig.known.held


def end_by_operator(rig):
    rig.ensemble.put(held_znodes.accept_loss_path(("t", 0)), held_znodes.encode_accept_loss({NODE: 100}))
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))


def end_by_another(rig):
    rig.state((THIRD,), -1, epoch=ERA)
    rig.check()


def end_once_another_leads(rig):
    rig.state((SECOND, THIRD), THIRD, epoch=ERA + 1)
    rig.check()


ENDS = {"operator": end_by_operator, "another": end_by_another, "elected": end_once_another_leads}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize(
    ("changes", "is_decided"),
    [
        ({}, True),
        ({"parted_at": 90}, True),
        ({"parted_at": 79}, False),
        ({"epoch": ERA + 2}, False),
        ({"leader": SECOND}, False),
        ({"end": 99}, False),
    ],
    ids=str,
)
def test_a_decision_counts_for_its_leader_its_leader_epoch_and_no_lower_parting(rig, end, changes, is_decided):
    conflict(rig)
    end(rig)
    assert not rig.known.held
    assert decided(rig, **changes) is is_decided
    if not is_decided:
        rig.known.held.clear()
        assert not decided(rig), "nothing is remembered any more"


def test_a_decision_ends_once_the_log_has_joined_the_isr_however_idle_it_is(rig):
    """Another log contained it, so nothing of it was truncated, and the partition is idle: it ends as it did."""
    ahead(rig, parted_at=100, end=100, log_epoch=5)
    end_by_another(rig)
    assert not rig.known.held
    for isr in ((THIRD, NODE), (THIRD,)):  # and away for a moment
        state = PartitionState(THIRD, ERA + 1, isr, 1, version=rig.known.topics["t"].states[0].version + 1)
        rig.known.set_states(rig.known.topics["t"], {0: state})
        rig.holds.follow()
        rig.node.publish()
    assert not decided(rig, parted_at=100)


def test_a_leader_of_later_in_the_era_that_lacks_some_of_it_is_no_decision(rig):
    ahead(rig, parted_at=100, end=100, log_epoch=5)
    end_by_another(rig)
    rig.state((SECOND, NODE), SECOND, epoch=ERA + 2)
    rig.node.turn()
    ahead(rig, parted_at=60, leader=SECOND, epoch=ERA + 2, end=100, log_epoch=5)
    assert rig.known.held


def test_a_log_that_a_restore_has_held_and_another_contains_may_not_be_truncated_by_that(new_node, ensemble):
    """Its hold says nothing of where it has parted: it may have parted nowhere, and counts up to its end."""
    rig = Rig(new_node, ensemble)
    rig.put(isr=REPLICAS, leader=-1, epoch=4)
    restored = HeldReplica(ID, is_proven=True, parted_at=0, parted_in=4)
    ensemble.put(held_znodes.held_path(NODE, "t"), held_znodes.encode_held({0: restored}))
    rig.join(after_power_loss=False)
    rig.opened(end=100, epoch=5)
    assert rig.known.held["t", 0].is_of_restore
    end_by_another(rig)
    assert not rig.known.held
    assert not decided(rig)


@pytest.mark.parametrize(("parted_at", "is_decided"), [(100, True), (99, False)])
def test_where_the_best_log_contains_ours_the_decision_is_that_nothing_of_it_goes(rig, parted_at, is_decided):
    ahead(rig, parted_at=50, end=100, log_epoch=4)  # from a log of the past
    rig.ends = {SECOND: {("t", 0): LogEnd(4, 60)}, THIRD: {("t", 0): LogEnd(4, 120)}}
    rig.check()
    assert rig.stored_state()[:3] == (-1, ERA, (THIRD,))
    assert not rig.known.held
    assert decided(rig, parted_at=parted_at, log_epoch=4) is is_decided

"""What becomes of a replica whose log is ahead of its state: the rows of `old_state_decision.py`."""

import pytest

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, LogEnd
from headrace.controller.agent.old_state_decision import OldAct, OldVerdict, decide_old, is_over, raised
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.leader_eras import ERA

US, SECOND, THIRD = 1, 2, 3
NOBODY = -1
# Ours has 0..49 of epoch 0, and up to 549 of epoch 1
HELD = HeldReplica("", end_offset=550, end_epoch=1, parted_at=50, parted_from=THIRD, parted_in=0)
BEHIND, EQUAL = LogEnd(0, 50), LogEnd(1, 550)


def state(leader=NOBODY, epoch=0):
    return PartitionState(leader, epoch, (US, SECOND, THIRD), 1)


def decided(second, third, leader=NOBODY, epoch=0, is_accepted=False):
    others = {SECOND: second, THIRD: third}
    return decide_old(US, HELD, others, (US, SECOND, THIRD), state(leader, epoch), is_accepted=is_accepted)


def test_the_best_log_is_to_lead():
    assert decided(EQUAL, BEHIND) == OldVerdict(OldAct.RAISE, US)
    assert decided(LogEnd(1, 551), BEHIND) == OldVerdict(OldAct.RAISE, SECOND)
    assert decided(LogEnd(2, 400), BEHIND) == OldVerdict(OldAct.RAISE, SECOND)
    assert decided(LogEnd(EPOCH_UNKNOWN, 550), BEHIND) == OldVerdict(OldAct.RAISE, US)


def test_a_longer_log_whose_epoch_is_not_told_is_for_an_operator():
    """It may end with what a leader of before wrote, and nobody acknowledged."""
    longer = LogEnd(EPOCH_UNKNOWN, 560)
    assert decided(longer, BEHIND) == OldVerdict(OldAct.WAIT, US, (SECOND,))
    assert decided(longer, BEHIND, is_accepted=True) == OldVerdict(OldAct.RAISE, SECOND, first_offset=50)


def test_a_later_epoch_without_a_record_that_we_lack_is_not_better():
    assert decided(LogEnd(7, 50), BEHIND) == OldVerdict(OldAct.RAISE, US)


def test_logs_that_are_not_known_are_waited_for_until_somebody_accepts_the_loss():
    assert decided(None, BEHIND) == OldVerdict(OldAct.WAIT, US, (SECOND,))
    assert decided(None, None) == OldVerdict(OldAct.WAIT, US, (SECOND, THIRD))
    assert decided(None, BEHIND, is_accepted=True) == OldVerdict(OldAct.RAISE, US, first_offset=50)


def test_a_leader_of_the_past_that_has_written_nothing_gives_way_and_what_it_may_write_is_said():
    assert decided(EQUAL, BEHIND, THIRD, 0) == OldVerdict(OldAct.RAISE, US, first_offset=50)
    assert decided(EQUAL, LogEnd(1, 50), THIRD, 1) == OldVerdict(OldAct.RAISE, US, first_offset=50)


def test_a_leader_that_has_written_since_is_for_an_operator():
    for end in (LogEnd(1, 51), LogEnd(1, 650), LogEnd(EPOCH_UNKNOWN, 51)):
        assert decided(EQUAL, end, THIRD, 1) == OldVerdict(OldAct.WAIT, THIRD, (THIRD,), is_conflict=True)
        assert decided(EQUAL, end, THIRD, 1, is_accepted=True) == OldVerdict(OldAct.RAISE, THIRD, first_offset=50)


def test_a_leader_that_is_ahead_itself_is_none():
    assert decided(LogEnd(1, 560), BEHIND, SECOND, 0) == OldVerdict(OldAct.RAISE, SECOND)
    assert decided(EQUAL, BEHIND, US, 0) == OldVerdict(OldAct.RAISE, US)


@pytest.mark.parametrize(("leader", "epoch", "is_it"), [
    (NOBODY, 0, False), (NOBODY, 1, False), (NOBODY, 9, False),
    (SECOND, 0, False), (SECOND, 1, False), (SECOND, 9, False), (THIRD, 1, False), (THIRD, 9, False),
    (NOBODY, ERA, True), (THIRD, ERA + 1, True), (US, ERA + 1, True),
])  # fmt: skip
def test_it_is_over_once_somebody_has_raised_it_whoever_was_elected_meanwhile(leader, epoch, is_it):
    assert is_over(HELD, state(leader, epoch)) is is_it


def test_one_that_was_held_before_its_log_was_opened_counts_from_the_era_of_the_state():
    """`cluster restored` was run for the second time."""
    restored = HeldReplica("", parted_at=0, parted_in=ERA + 3)
    assert not is_over(restored, state(NOBODY, ERA + 4))
    assert not is_over(restored._replace(end_offset=9, end_epoch=5), state(NOBODY, ERA + 4))  # it was away in that era
    assert is_over(restored, state(NOBODY, 2 * ERA))


def test_a_log_that_is_missing_is_waited_for_as_one_that_is_not_known():
    missing = HELD._replace(is_missing=True, end_offset=0, end_epoch=-1)
    others = {SECOND: EQUAL, THIRD: BEHIND}
    replicas = (US, SECOND, THIRD)
    assert decide_old(US, missing, others, replicas, state(), is_accepted=False).act is OldAct.WAIT
    assert decide_old(US, missing, others, replicas, state(), is_accepted=True).best == SECOND


@pytest.mark.parametrize("leader", [NOBODY, SECOND])
def test_a_log_that_may_be_of_an_earlier_topic_leads_by_itself_where_no_other_has_records(leader):
    stray = HELD._replace(is_nameless=True, parted_at=400)
    replicas, empty, ended = (US, SECOND, THIRD), LogEnd(-1, 0), LogEnd(0, 300)

    def settled(second, **more):
        return decide_old(US, stray, {SECOND: second, THIRD: empty}, replicas, state(leader), **more)

    assert settled(empty, is_accepted=False).best == US
    assert settled(ended, is_accepted=False) == OldVerdict(OldAct.WAIT, SECOND, (SECOND,), is_conflict=True)
    assert settled(ended, is_accepted=True) == OldVerdict(OldAct.RAISE, SECOND, first_offset=0)


def test_a_raised_state_is_above_all_that_anybody_has():
    assert raised(state(THIRD, 5), SECOND, [1, 3]) == PartitionState(NOBODY, ERA, (SECOND,), 1)
    assert raised(state(THIRD, 5), US, [ERA + 3]).leader_epoch == 2 * ERA

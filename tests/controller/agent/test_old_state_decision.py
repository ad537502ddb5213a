"""What becomes of a replica whose log is ahead of its state: the rows of `old_state_decision.py`."""

import pytest

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, LogEnd
from headrace.controller.agent.old_state_decision import OldAct, OldVerdict, Others, decide_old, raised
from headrace.controller.zookeeper.held_znodes import HeldReplica
from headrace.controller.zookeeper.znodes import PartitionState
from headrace.leader_eras import ERA

US, SECOND, THIRD = 1, 2, 3
NOBODY = -1
REPLICAS = (US, SECOND, THIRD)
# Ours has 0..49 of epoch 0, and up to 549 of epoch 1
HELD = HeldReplica("", end_offset=550, end_epoch=1, parted_at=50, parted_from=THIRD, parted_in=0)
RESTORED = HeldReplica("", end_offset=550, end_epoch=1, parted_at=0, parted_in=0)  # by the command
BEHIND, EQUAL = LogEnd(0, 50), LogEnd(1, 550)


def state(leader=NOBODY, epoch=0):
    return PartitionState(leader, epoch, (US, SECOND, THIRD), 1)


def decided(second, third, leader=NOBODY, epoch=0, held=HELD, partings=None, ahead=(SECOND,), conflicts=(), **more):
    """Logs are the same up to where ours was found to have parted, unless it is said."""
    ends = {SECOND: second, THIRD: third}
    asked = {broker: 50 for broker, end in ends.items() if end is not None and end.epoch not in (1, EPOCH_UNKNOWN)}
    others = Others(ends, asked if partings is None else partings, conflicts, ahead)
    verdict = decide_old(US, held, others, REPLICAS, state(leader, epoch), **{"is_accepted": False, **more})
    return verdict._replace(parted_at=-1)


def test_the_best_log_is_to_lead():
    assert decided(EQUAL, BEHIND) == OldVerdict(OldAct.RAISE, US)
    assert decided(LogEnd(1, 551), BEHIND) == OldVerdict(OldAct.RAISE, SECOND)
    assert decided(LogEnd(2, 600), BEHIND, partings={SECOND: 550, THIRD: 50}) == OldVerdict(OldAct.RAISE, SECOND)


def test_where_a_log_parted_of_which_only_its_leader_would_tell_is_not_known():
    """Apache's broker, which leads nothing: it may have what another one acknowledged in the state's epoch."""
    apache = LogEnd(EPOCH_UNKNOWN, 550)
    assert decided(apache, BEHIND) == OldVerdict(OldAct.WAIT, US, (SECOND,))
    assert decided(apache, BEHIND, held=RESTORED) == OldVerdict(OldAct.RAISE, US)
    assert not decided(apache, BEHIND, THIRD, 0, ahead=()).is_conflict
    assert decided(apache._replace(offset=50), BEHIND, THIRD, 0, ahead=()).act is OldAct.RAISE, "it follows that one"


def test_a_longer_log_whose_epoch_is_not_told_is_for_an_operator():
    """It may end with what a leader of before wrote, and nobody acknowledged."""
    longer = LogEnd(EPOCH_UNKNOWN, 560)
    assert decided(longer, BEHIND) == OldVerdict(OldAct.WAIT, US, (SECOND,))
    accepted = decided(longer, BEHIND, is_accepted=True)
    assert accepted == OldVerdict(OldAct.RAISE, SECOND, first_offset=0), "nobody says where it parted"


def test_a_later_epoch_without_a_record_that_we_lack_is_not_better():
    assert decided(LogEnd(7, 50), BEHIND) == OldVerdict(OldAct.RAISE, US)


def test_logs_that_are_not_known_are_waited_for_until_somebody_accepts_the_loss():
    assert decided(None, BEHIND) == OldVerdict(OldAct.WAIT, US, (SECOND,))
    assert decided(None, None) == OldVerdict(OldAct.WAIT, US, (SECOND, THIRD))
    assert decided(None, BEHIND, is_accepted=True) == OldVerdict(OldAct.RAISE, US, first_offset=50)


def test_a_leader_of_the_past_that_has_written_nothing_gives_way_and_what_it_may_write_is_said():
    assert decided(EQUAL, BEHIND, THIRD, 0) == OldVerdict(OldAct.RAISE, US, first_offset=50)
    assert decided(EQUAL, BEHIND, THIRD, 1) == OldVerdict(OldAct.RAISE, US, first_offset=50)


def test_a_leader_that_ends_where_ours_went_on_in_another_epoch_may_have_written_below():
    """It has 0..39 of epoch 0, and 40..49 of epoch 1, which was given again: acknowledged records, which end where our epoch 0 did."""
    leader = LogEnd(1, 50)
    assert decided(EQUAL, leader, THIRD, 1, partings={}) == OldVerdict(OldAct.WAIT, US, (THIRD,)), "it is asked first"
    conflict = decided(EQUAL, leader, THIRD, 1, partings={THIRD: 40})
    assert conflict == OldVerdict(OldAct.WAIT, THIRD, (THIRD,), is_conflict=True)


def test_one_history_ranks_by_its_records():
    """We led epoch 2 and wrote nothing. The other, of the restored state, has a tail of epoch 1 that we lack."""
    held = HeldReplica("", end_offset=10, end_epoch=1, parted_at=10, parted_from=SECOND, parted_in=1, log_epoch=2)
    others = Others({SECOND: LogEnd(1, 13, 13)}, {SECOND: 10})
    verdict = decide_old(
        US, held, others, (US, SECOND), PartitionState(SECOND, 1, (SECOND,), 3), is_accepted=False, high_watermark=10
    )
    assert (verdict.act, verdict.best) == (OldAct.RAISE, SECOND)
    assert raised(state(epoch=1), SECOND, [held.known_epoch, ERA + 7]).leader_epoch == 2 * ERA


@pytest.mark.parametrize(("mark", "is_conflict"), [(550, True), (401, True), (400, False), (-1, False)])
def test_of_a_compacted_topic_one_that_ends_below_our_own_mark_leads_only_after_a_decision(mark, is_conflict):
    """Where such logs have parted is not certain: its node compares it with ours, and raises it."""
    other = LogEnd(2, 400)
    facts = {"partings": {SECOND: 390, THIRD: 50}, "high_watermark": mark, "is_compacted": True}
    verdict = decided(other, BEHIND, **facts)
    assert verdict == OldVerdict(OldAct.WAIT, SECOND, (SECOND,), is_conflict=is_conflict)
    accepted = decided(other, BEHIND, **facts, is_accepted=True)
    assert (accepted.act, accepted.best, accepted.first_offset) == (OldAct.RAISE, SECOND, 50 if is_conflict else 390)


# Raft's figure 8 (5.4.2): C and A committed 90..99 of epoch 3 in epoch 5, which has no record. B has 90..119 of epoch 4, and alone.
C, A, B = US, SECOND, THIRD
TAIL = LogEnd(4, 120, 90)


def figure_8(us, is_of_restore, mark, tail=TAIL, state_leader=A, **more):
    """As one of the three sees it, after ZooKeeper was put back to a state of epoch 2."""
    in_sync = LogEnd(3, 100, mark)
    ends = {C: in_sync, A: in_sync, B: tail}
    own = ends.pop(us)
    parted = {"parted_at": 0} if is_of_restore else {"parted_at": 80, "parted_from": A}
    held = HeldReplica("", end_offset=own.offset, end_epoch=own.epoch, log_epoch=5, parted_in=2, **parted)
    others = Others(ends, {A: 90, C: 90} if us == B else {B: 90}, (), frozenset(ends))
    past = PartitionState(state_leader, 2, (A, B, C), 1)
    facts = {"is_accepted": False, "high_watermark": own.high_watermark, **more}
    return decide_old(us, held, others, REPLICAS, past, **facts)


@pytest.mark.parametrize("mark", [100, 90])
@pytest.mark.parametrize("is_of_restore", [False, True])
@pytest.mark.parametrize("us", [C, B])
def test_a_later_record_that_nobody_may_have_acknowledged_is_no_ground(us, is_of_restore, mark):
    """Whoever is asked, and though the marks are one checkpoint behind."""
    verdict = figure_8(us, is_of_restore, mark)
    assert (verdict.act, verdict.is_conflict, verdict.parted_at) == (OldAct.WAIT, True, 90)
    assert set(verdict.waits_for) == ({B} if us == C else {C, A})
    accepted = figure_8(us, is_of_restore, mark, is_accepted=True, keep=C)
    assert (accepted.act, accepted.best) == (OldAct.RAISE, C)
    assert accepted.first_offset <= 90
    assert figure_8(us, is_of_restore, mark, is_accepted=True).first_offset <= 90


@pytest.mark.parametrize("is_of_restore", [False, True])
def test_one_that_is_shown_to_be_committed_raises_itself_and_says_where_they_parted(is_of_restore):
    committed = LogEnd(4, 120, 110)
    verdict = figure_8(B, is_of_restore, 90, committed, NOBODY)
    assert verdict == OldVerdict(OldAct.RAISE, B, first_offset=90, parted_at=90)
    waiting = figure_8(C, is_of_restore, 90, committed, NOBODY)
    assert waiting == OldVerdict(OldAct.WAIT, B, (B,), parted_at=90), "by the one that lacks something it is not raised"


def test_of_a_compacted_topic_the_better_log_raises_itself_and_says_what_it_may_lose():
    assert figure_8(B, True, 90, state_leader=NOBODY, is_compacted=True) == OldVerdict(
        OldAct.RAISE, B, first_offset=90, parted_at=90
    )
    assert figure_8(C, True, 90, state_leader=NOBODY, is_compacted=True).waits_for == (B,)


def test_of_two_that_have_more_than_ours_the_better_one_compares_them_itself():
    """Each goes on from where ours ends. Whether one has all of the other is not seen from here."""
    partings = {SECOND: 550, THIRD: 550}
    verdict = decided(LogEnd(2, 600), LogEnd(3, 580), partings=partings)
    assert verdict == OldVerdict(OldAct.WAIT, THIRD, (THIRD,))
    assert decided(LogEnd(2, 600), LogEnd(3, 580), partings=partings, is_accepted=True).best == THIRD
    assert decided(LogEnd(3, 600), LogEnd(3, 580), partings=partings) == OldVerdict(OldAct.RAISE, SECOND)


def test_a_leader_that_has_written_since_is_for_an_operator():
    asked = {THIRD: 50}
    for end in (LogEnd(1, 51), LogEnd(1, 650), LogEnd(EPOCH_UNKNOWN, 51)):
        assert decided(EQUAL, end, THIRD, 1, partings=asked) == OldVerdict(
            OldAct.WAIT, THIRD, (THIRD,), is_conflict=True
        )
        assert decided(EQUAL, end, THIRD, 1, partings=asked, is_accepted=True) == OldVerdict(
            OldAct.RAISE, THIRD, first_offset=50
        )


def test_a_leader_that_is_ahead_itself_is_none():
    assert decided(LogEnd(1, 560), BEHIND, SECOND, 0) == OldVerdict(OldAct.RAISE, SECOND)
    assert decided(EQUAL, BEHIND, US, 0) == OldVerdict(OldAct.RAISE, US)


@pytest.mark.parametrize(("leader", "epoch", "is_it"), [
    (NOBODY, 0, False), (NOBODY, 1, False), (NOBODY, 9, False),
    (SECOND, 0, False), (SECOND, 1, False), (SECOND, 9, False), (THIRD, 1, False), (THIRD, 9, False),
    (NOBODY, ERA, True), (THIRD, ERA + 1, True), (US, ERA + 1, True),
])  # fmt: skip
def test_it_is_over_once_somebody_has_raised_it_whoever_was_elected_meanwhile(leader, epoch, is_it):
    assert HELD.is_over(state(leader, epoch).leader_epoch) is is_it


def test_one_that_was_held_before_its_log_was_opened_counts_from_the_era_of_the_state():
    """`cluster restored` was run for the second time."""
    restored = HeldReplica("", parted_at=0, parted_in=ERA + 3)
    assert not restored.is_over(ERA + 4)
    assert not restored._replace(end_offset=9, end_epoch=5).is_over(ERA + 4)  # it was away in that era
    assert restored.is_over(2 * ERA)


def test_a_log_that_is_missing_is_waited_for_as_one_that_is_not_known():
    missing = HELD._replace(is_missing=True, end_offset=0, end_epoch=-1)
    assert decided(EQUAL, BEHIND, held=missing).act is OldAct.WAIT
    assert decided(EQUAL, BEHIND, held=missing, is_accepted=True).best == SECOND


@pytest.mark.parametrize("leader", [NOBODY, SECOND])
def test_a_log_that_may_be_of_an_earlier_topic_leads_by_itself_where_no_other_has_records(leader):
    stray = HELD._replace(is_nameless=True, parted_at=400)
    empty, ended = LogEnd(-1, 0), LogEnd(0, 300)

    def settled(second, **more):
        return decided(second, empty, leader, held=stray, **more)

    assert settled(empty, is_accepted=False).best == US
    assert settled(ended, is_accepted=False) == OldVerdict(OldAct.WAIT, SECOND, (SECOND,), is_conflict=True)
    assert settled(ended, is_accepted=True) == OldVerdict(OldAct.RAISE, SECOND, first_offset=0)


def test_a_raised_state_is_above_all_that_anybody_has():
    assert raised(state(THIRD, 5), SECOND, [1, 3]) == PartitionState(NOBODY, ERA, (SECOND,), 1)
    assert raised(state(THIRD, 5), US, [ERA + 3]).leader_epoch == 2 * ERA


# Two histories: F (us) had 0..69 of epoch 5 and 70..99 of 7; M and K went on from 50 in epoch 6, on the restored state
OURS = HeldReplica("", end_offset=100, end_epoch=7, parted_at=70, parted_from=THIRD, parted_in=6)
THEIRS = LogEnd(6, 60)


def conflicting(leader=THIRD, epoch=6, second=THEIRS, third=THEIRS, held=OURS, partings=None, **more):
    ends = {SECOND: second, THIRD: third}
    at = {SECOND: 50, THIRD: 50} if partings is None else partings
    return decide_old(
        US, held, Others(ends, at), REPLICAS, state(leader, epoch), **{"is_accepted": False, **more}
    )  # fmt: skip


def test_a_leader_that_ends_below_what_was_thought_to_be_the_parting_has_written_all_the_same():
    """Its epoch 6 lies between two of ours: that it ends at 60 says nothing of where the logs parted."""
    verdict = conflicting()
    assert verdict == OldVerdict(OldAct.WAIT, THIRD, (THIRD, SECOND), is_conflict=True, parted_at=50)
    assert conflicting(is_accepted=True) == OldVerdict(OldAct.RAISE, THIRD, first_offset=50, parted_at=50)


@pytest.mark.parametrize("more", [{}, {"is_accepted": True}])
def test_where_it_is_not_known_where_a_leader_parted_it_counts_as_one_that_has_written(more):
    verdict = conflicting(partings={SECOND: 50}, second=LogEnd(6, 50), **more)
    assert verdict.waits_for == (() if more else (THIRD,))
    assert verdict.best == (THIRD if more else US)


@pytest.mark.parametrize(("leader", "epoch"), [(NOBODY, 7), (US, 7), (SECOND, 9)])
def test_whoever_leads_two_histories_are_a_conflict(leader, epoch):
    verdict = conflicting(leader, epoch)
    assert verdict.is_conflict
    assert verdict.act is OldAct.WAIT


def test_a_conflict_that_was_seen_lasts_while_the_other_one_is_away_and_until_no_log_differs():
    held = OURS._replace(is_conflict=True)
    assert conflicting(held=held, third=None, second=LogEnd(5, 40)).is_conflict
    equal = LogEnd(7, 100)
    assert conflicting(held=held, second=equal, third=equal, partings={}).act is OldAct.RAISE


def test_a_conflict_of_another_broker_is_waited_for():
    others = Others({SECOND: LogEnd(7, 100), THIRD: LogEnd(7, 100)}, {}, (SECOND,), (SECOND,))
    verdict = decide_old(US, OURS, others, REPLICAS, state(), is_accepted=False)
    assert (verdict.act, verdict.waits_for, verdict.is_conflict) == (OldAct.WAIT, (SECOND,), False)


@pytest.mark.parametrize(("keep", "lost"), [(US, 50), (SECOND, 50), (THIRD, 50)])
def test_whom_an_operator_names_is_to_lead(keep, lost):
    verdict = conflicting(is_accepted=True, keep=keep)
    assert (verdict.act, verdict.best, verdict.first_offset) == (OldAct.RAISE, keep, lost)


def test_whom_an_operator_names_is_waited_for():
    assert conflicting(is_accepted=True, keep=THIRD, third=None)[:3] == (OldAct.WAIT, THIRD, (THIRD,))


@pytest.mark.parametrize(("own_mark", "their_mark", "is_conflict"), [(50, 50, True), (50, 60, False), (51, 60, True)])
def test_after_a_restore_the_log_that_would_be_cut_must_not_have_acknowledged_what_the_other_lacks(
    own_mark, their_mark, is_conflict
):
    """By the command alone, nothing says that the state's history was written: an earlier epoch is a deposed leader's, as a rule."""
    held = HeldReplica("", end_offset=100, end_epoch=5, parted_at=0, parted_in=6)
    theirs = LogEnd(6, 90, their_mark)
    at = {SECOND: 50, THIRD: 50}
    verdict = conflicting(NOBODY, 6, theirs, theirs, held, at, high_watermark=own_mark)
    assert verdict.is_conflict is is_conflict
    assert verdict.act is OldAct.WAIT, "the other one raises itself, where it is shown to be committed"
    assert conflicting(NOBODY, 6, theirs, theirs, held, at, high_watermark=50, is_compacted=True).best == SECOND

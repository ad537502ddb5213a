"""Who of the replicas of a partition leads when the last ones in sync may have lost something: each row of the table."""

import itertools

import pytest

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, Act, LogEnd, decide, first_lost, known_partings

NODE, SECOND, THIRD = 1, 2, 3
REPLICAS = (NODE, SECOND, THIRD)
OWN = LogEnd(4, 88)
LONGER, SHORTER, SAME = LogEnd(4, 90), LogEnd(4, 80), LogEnd(4, 88)
YES_OR_NO = (False, True)


def decided(others, isr=(NODE,), own=OWN, partings=None, **facts):
    """Logs of other epochs than ours go on from where ours ends, unless it is said."""
    asked = {broker: 1_000 for broker, end in others.items() if end is not None and end.epoch != EPOCH_UNKNOWN}
    partings = known_partings(own, others, asked if partings is None else partings)
    flags = {"is_proven": False, "is_late": False, "is_accepted": False, "may_be_unclean": False, **facts}
    return decide(NODE, own, others, REPLICAS, isr, partings=partings, **flags)


@pytest.mark.parametrize("others", [(SHORTER, SHORTER), (SAME, SHORTER), (SAME, SAME)])
def test_a_log_that_is_as_good_as_every_other_leads(others):
    for facts in itertools.product(YES_OR_NO, repeat=4):
        flags = dict(zip(("is_proven", "is_late", "is_accepted", "may_be_unclean"), facts, strict=True))
        for isr in ((NODE,), (NODE, SECOND), REPLICAS):
            assert decided(dict(zip((SECOND, THIRD), others, strict=True)), isr, **flags) == (Act.RELEASE, NODE, (), ())


def test_a_log_that_goes_on_from_where_ours_ends_is_better():
    assert decided({SECOND: LogEnd(5, 89), THIRD: SHORTER}) == (Act.HAND_OVER, SECOND, (), ())
    assert decided({SECOND: LogEnd(3, 500), THIRD: SHORTER}, partings={SECOND: 60}) == (Act.RELEASE, NODE, (), ())
    assert decided({SECOND: LogEnd(4, 89), THIRD: LONGER}) == (Act.HAND_OVER, THIRD, (), ())
    assert decided({SECOND: LogEnd(-1, 0), THIRD: LogEnd(-1, 0)}, own=LogEnd(-1, 0)).act is Act.RELEASE


@pytest.mark.parametrize("end", [LogEnd(5, 3), LogEnd(5, 80), LogEnd(5, 120)])
@pytest.mark.parametrize("parted_at", [2, 87])
@pytest.mark.parametrize("may_be_unclean", YES_OR_NO)
def test_a_later_record_is_no_ground(end, parted_at, may_be_unclean):
    """Our log is in sync, and has records that the other one lacks: nobody acknowledged what that one has in their place."""
    parted = {SECOND: parted_at}
    others = {SECOND: end, THIRD: SHORTER}
    released = (Act.RELEASE, NODE, (), ())
    assert decided(others, partings=parted, may_be_unclean=may_be_unclean) == released
    proven = decided(others, partings=parted, may_be_unclean=may_be_unclean, is_proven=True)
    is_parted = parted_at < end.offset  # else ours has all of it
    choice = (Act.WAIT, NODE, (SECOND,), (NODE, SECOND))
    assert proven == (choice if is_parted and not may_be_unclean else released)
    assert decided(others, partings=parted, is_proven=True, is_accepted=True) == released


@pytest.mark.parametrize("is_proven", YES_OR_NO)
def test_two_logs_that_both_have_what_is_committed_are_for_an_operator(is_proven):
    """It says by its high watermark that records are committed which ours has others in the place of, or no log start in common."""
    others = {SECOND: LogEnd(5, 120, 61), THIRD: SHORTER}
    verdict = decided(others, partings={SECOND: 60}, is_proven=is_proven, is_late=True)
    assert verdict == (Act.WAIT, NODE, (SECOND,), (NODE, SECOND))


def test_of_several_that_have_more_none_leads_by_itself_where_one_may_lack_records():
    others = {SECOND: LogEnd(5, 120), THIRD: LogEnd(6, 95)}
    assert decided(others) == (Act.WAIT, THIRD, (SECOND, THIRD), (NODE, SECOND, THIRD))
    assert decided(others, is_accepted=True) == (Act.HAND_OVER, THIRD, (), ())
    assert decided({SECOND: LogEnd(5, 120), THIRD: LogEnd(5, 95)}) == (Act.HAND_OVER, SECOND, (), ())


def test_nothing_is_given_to_a_log_that_lacks_what_another_one_in_sync_has():
    """Ours and the other one in sync have parted, beyond what is committed: both have lost that they were."""
    others = {SECOND: LogEnd(3, 95), THIRD: LogEnd(5, 120)}
    assert decided(others, (NODE, SECOND), partings={SECOND: 70, THIRD: 88}) == (Act.RELEASE, NODE, (), ())
    shorter = {**others, SECOND: LogEnd(3, 88)}
    assert decided(shorter, (NODE, SECOND), partings={SECOND: 88, THIRD: 88}).act is Act.HAND_OVER


def test_a_log_of_another_epoch_of_which_it_is_not_known_where_it_parted_is_not_known():
    others = {SECOND: LogEnd(5, 120), THIRD: SHORTER}
    assert decided(others, partings={}) == (Act.WAIT, NODE, (SECOND,), ())
    assert decided(others, partings={}, is_late=True) == (Act.RELEASE, NODE, (), ())
    assert decided({SECOND: LogEnd(3, 120), THIRD: SHORTER}, partings={}).act is Act.RELEASE


def test_an_older_node_says_an_epoch_that_has_no_record():
    for isr in ((NODE,), (NODE, SECOND)):
        assert decided({SECOND: LogEnd(7, 80), THIRD: SHORTER}, isr, is_proven=True).act is Act.RELEASE


def test_where_the_last_epoch_is_not_told_the_greater_end_is_the_better_log_of_those_in_sync():
    others = {SECOND: LogEnd(EPOCH_UNKNOWN, 90), THIRD: SHORTER}
    assert decided(others, (NODE, SECOND)) == (Act.WAIT, SECOND, (SECOND,), ())
    assert decided({SECOND: LogEnd(EPOCH_UNKNOWN, 88), THIRD: SHORTER}) == (Act.RELEASE, NODE, (), ())


def test_to_a_longer_log_out_of_the_isr_whose_epoch_is_not_told_nothing_is_given_away():
    """It may be the tail of a leader of before, which nobody acknowledged."""
    others = {SECOND: LogEnd(EPOCH_UNKNOWN, 90), THIRD: SAME}
    for is_proven in YES_OR_NO:
        assert decided(others, is_proven=is_proven) == (Act.WAIT, NODE, (SECOND,), ())
        assert decided(others, is_proven=is_proven, is_accepted=True) == (Act.RELEASE, NODE, (), ())
    assert decided(others, is_late=True) == (Act.RELEASE, NODE, (), ())
    both = {SECOND: LogEnd(EPOCH_UNKNOWN, 95), THIRD: LONGER}
    assert decided(both, is_accepted=True) == (Act.HAND_OVER, THIRD, (), ())


@pytest.mark.parametrize("is_missing", YES_OR_NO)
def test_without_other_replicas_a_log_that_is_missing_waits_until_its_loss_is_accepted(is_missing):
    flags = {"is_proven": True, "is_late": True, "may_be_unclean": False, "is_missing": is_missing}
    act = Act.WAIT if is_missing else Act.RELEASE
    assert decide(NODE, OWN, {}, (NODE,), (NODE,), partings={}, is_accepted=False, **flags) == (act, NODE, (), ())
    assert decide(NODE, OWN, {}, (NODE,), (NODE,), partings={}, is_accepted=True, **flags).act is Act.RELEASE


def test_what_may_be_lost_begins_where_the_least_of_the_logs_in_sync_ends():
    others = {SECOND: LogEnd(0, 75), THIRD: LogEnd(0, 90)}
    assert first_lost(LogEnd(0, 80), LogEnd(0, 90), others, (NODE, SECOND)) == 75
    assert first_lost(LogEnd(0, 80), LogEnd(0, 90), others, (NODE,)) == 80
    assert first_lost(LogEnd(0, 80), LogEnd(1, 60), {SECOND: None, THIRD: LogEnd(1, 60)}, (NODE, SECOND)) == 60


def test_nor_is_it_above_where_logs_have_parted():
    assert first_lost(LogEnd(0, 80), LogEnd(1, 120), {THIRD: LogEnd(1, 120)}, (NODE,), [70]) == 70


@pytest.mark.parametrize("is_accepted", YES_OR_NO)
@pytest.mark.parametrize("is_proven", YES_OR_NO)
def test_a_better_one_in_the_isr_is_waited_for_whatever_was_said(is_proven, is_accepted):
    verdict = decided({SECOND: LONGER, THIRD: SHORTER}, (NODE, SECOND), is_proven=is_proven, is_accepted=is_accepted)
    assert verdict == (Act.WAIT, SECOND, (SECOND,), ())


def test_of_two_that_are_equally_good_the_one_in_the_isr_is_the_better():
    assert decided({SECOND: LONGER, THIRD: LONGER}, (NODE, THIRD)) == (Act.WAIT, THIRD, (THIRD,), ())


@pytest.mark.parametrize("is_proven", YES_OR_NO)
def test_a_better_one_outside_of_the_isr_is_to_lead(is_proven):
    assert decided({SECOND: SHORTER, THIRD: LONGER}, is_proven=is_proven) == (Act.HAND_OVER, THIRD, (), ())


# is_proven, is_late, is_accepted, may_be_unclean -> what is done while THIRD is away, and SECOND has less, or more
UNKNOWN = {
    (False, False, False, False): (Act.WAIT, Act.WAIT),
    (False, False, False, True): (Act.RELEASE, Act.WAIT),
    (False, False, True, False): (Act.RELEASE, Act.HAND_OVER),
    (False, False, True, True): (Act.RELEASE, Act.HAND_OVER),
    (False, True, False, False): (Act.RELEASE, Act.HAND_OVER),
    (False, True, False, True): (Act.RELEASE, Act.HAND_OVER),
    (False, True, True, False): (Act.RELEASE, Act.HAND_OVER),
    (False, True, True, True): (Act.RELEASE, Act.HAND_OVER),
    (True, False, False, False): (Act.WAIT, Act.WAIT),
    (True, False, False, True): (Act.RELEASE, Act.WAIT),
    (True, False, True, False): (Act.RELEASE, Act.HAND_OVER),
    (True, False, True, True): (Act.RELEASE, Act.HAND_OVER),
    (True, True, False, False): (Act.WAIT, Act.WAIT),
    (True, True, False, True): (Act.RELEASE, Act.WAIT),
    (True, True, True, False): (Act.RELEASE, Act.HAND_OVER),
    (True, True, True, True): (Act.RELEASE, Act.HAND_OVER),
}


@pytest.mark.parametrize(("facts", "wanted"), UNKNOWN.items())
def test_a_replica_that_is_away_is_waited_for(facts, wanted):
    flags = dict(zip(("is_proven", "is_late", "is_accepted", "may_be_unclean"), facts, strict=True))
    for second, act in zip((SHORTER, LONGER), wanted, strict=True):
        verdict = decided({SECOND: second, THIRD: None}, **flags)
        assert verdict.act is act
        if act is Act.WAIT:
            assert verdict.waits_for == ((THIRD,) if second is SHORTER else (THIRD, SECOND))
        if act is Act.HAND_OVER:
            assert verdict.best == SECOND


def test_every_way_to_say_it_has_a_row():
    assert len(UNKNOWN) == 2**4
    assert decided({}).waits_for == (SECOND, THIRD)


MISSING = LogEnd(-1, 0)


@pytest.mark.parametrize("others", [{SECOND: LONGER, THIRD: SHORTER}, {SECOND: MISSING, THIRD: MISSING}])
def test_a_missing_log_gives_nothing_away_to_one_out_of_the_isr_until_its_loss_is_accepted(others):
    """Its disk may be mounted again, and has what the others lack."""
    flags = {"own": MISSING, "is_missing": True, "is_proven": True}
    assert decided(others, **flags, is_late=True) == (Act.WAIT, decided(others, **flags).best, (), ())
    assert decided(others, **flags, is_accepted=True).act is not Act.WAIT
    assert decided(others, **flags, may_be_unclean=True).act is not Act.WAIT


def test_where_another_log_in_sync_is_known_a_missing_one_is_no_loss():
    flags = {"own": MISSING, "is_missing": True, "is_proven": True}
    others = {SECOND: LONGER, THIRD: SHORTER}
    assert decided(others, (NODE, SECOND), **flags) == (Act.WAIT, SECOND, (SECOND,), ())
    assert decided({SECOND: MISSING, THIRD: MISSING}, (NODE, SECOND), **flags).act is Act.RELEASE
    assert decided({SECOND: None, THIRD: LONGER}, (NODE, SECOND), **flags).act is Act.WAIT


def test_a_missing_log_hands_nothing_over_where_another_in_sync_one_decides():
    """That one lost its end as well: by itself it would give way to the better one, and for it this log is not known."""
    flags = {"own": MISSING, "is_missing": True, "is_proven": True}
    others = {SECOND: SHORTER, THIRD: LONGER}
    assert decided(others, (NODE, SECOND), **flags) == (Act.WAIT, THIRD, (SECOND,), ())
    assert decided(others, (NODE, SECOND), **flags, is_accepted=True) == (Act.HAND_OVER, THIRD, (), ())


@pytest.mark.parametrize("isr", [(NODE,), (NODE, THIRD)])
def test_a_log_that_lacks_what_is_committed_leads_only_where_an_operator_says_so(isr):
    """Its last record is of a later epoch all the same: within one history nobody acknowledged that."""
    others = {SECOND: LogEnd(5, 80, 75), THIRD: SHORTER}
    for facts in itertools.product(YES_OR_NO, repeat=4):
        flags = dict(zip(("is_proven", "is_late", "is_accepted", "may_be_unclean"), facts, strict=True))
        assert decided(others, isr, partings={SECOND: 75}, **flags).act is not Act.HAND_OVER
    kept = decided(others, isr, partings={SECOND: 75}, is_accepted=True, keep=SECOND)
    assert kept == (Act.HAND_OVER, SECOND, (), ())


# Raft's figure 8 (5.4.2): two committed 90..99 of epoch 3 in epoch 5, which has no record. The third has 90..119 of epoch 4, and alone.
LEADER, FOLLOWER, UNCOMMITTED = NODE, SECOND, THIRD
IN_SYNC, TAIL = LogEnd(3, 100, 100), LogEnd(4, 120, 90)


@pytest.mark.parametrize("may_be_unclean", YES_OR_NO)
@pytest.mark.parametrize("mark", [100, 90])
@pytest.mark.parametrize("isr", [(LEADER,), (LEADER, FOLLOWER)])
def test_what_was_committed_in_an_epoch_without_a_record_outlives_a_later_record(isr, mark, may_be_unclean):
    in_sync = IN_SYNC._replace(high_watermark=mark)
    others = {FOLLOWER: in_sync, UNCOMMITTED: TAIL}
    verdict = decided(others, isr, in_sync, {UNCOMMITTED: 90}, may_be_unclean=may_be_unclean)
    assert verdict == (Act.RELEASE, LEADER, (), ())


@pytest.mark.parametrize("may_be_unclean", YES_OR_NO)
@pytest.mark.parametrize("mark", [100, 90])
def test_so_it_does_where_only_a_follower_of_that_epoch_is_left(mark, may_be_unclean):
    own = IN_SYNC._replace(high_watermark=mark)
    others = {FOLLOWER: None, UNCOMMITTED: TAIL}
    facts = {"own": own, "partings": {UNCOMMITTED: 90}, "may_be_unclean": may_be_unclean}
    early = decided(others, (FOLLOWER, NODE), **facts)
    assert early == ((Act.RELEASE, NODE, (), ()) if may_be_unclean else (Act.WAIT, NODE, (FOLLOWER,), ()))
    assert decided(others, (FOLLOWER, NODE), **facts, is_late=True) == (Act.RELEASE, NODE, (), ())
    accepted = decided(others, (FOLLOWER, NODE), **facts, is_accepted=True, is_proven=True)
    assert accepted == (Act.RELEASE, NODE, (), ())


def test_one_in_sync_that_has_lost_something_of_that_is_for_an_operator():
    """Of 90..99 it has some: what the other one has in their place nobody acknowledged, but here something is lost in any case."""
    others = {FOLLOWER: None, UNCOMMITTED: TAIL}
    facts = {"own": LogEnd(3, 95), "partings": {UNCOMMITTED: 90}, "is_proven": True}
    assert decided({**others, FOLLOWER: LogEnd(3, 93)}, **facts).choices == (NODE, UNCOMMITTED)
    both = {**others, FOLLOWER: LogEnd(3, 100)}
    assert decided(both, (NODE, FOLLOWER), **facts) == (Act.WAIT, FOLLOWER, (FOLLOWER,), ()), "it has all, and decides"
    assert decided(both, (NODE,), **facts) == (Act.HAND_OVER, FOLLOWER, (), ())
    within = {**facts, "own": LogEnd(3, 90)}
    verdict = decided({FOLLOWER: LogEnd(3, 90), UNCOMMITTED: TAIL}, **within)
    assert verdict == (Act.HAND_OVER, UNCOMMITTED, (), ()), "it has all that is left"

"""Who of the replicas of a partition leads when the last ones in sync may have lost something: each row of the table."""

import itertools

import pytest

from headrace.controller.agent.hold_decision import EPOCH_UNKNOWN, Act, LogEnd, decide, first_lost

NODE, SECOND, THIRD = 1, 2, 3
REPLICAS = (NODE, SECOND, THIRD)
OWN = LogEnd(4, 88)
LONGER, SHORTER, SAME = LogEnd(4, 90), LogEnd(4, 80), LogEnd(4, 88)
YES_OR_NO = (False, True)


def decided(others, isr=(NODE,), own=OWN, **facts):
    flags = {"is_proven": False, "is_late": False, "is_accepted": False, "may_be_unclean": False, **facts}
    return decide(NODE, own, others, REPLICAS, isr, **flags)


@pytest.mark.parametrize("others", [(SHORTER, SHORTER), (SAME, SHORTER), (SAME, SAME)])
def test_a_log_that_is_as_good_as_every_other_leads(others):
    for facts in itertools.product(YES_OR_NO, repeat=4):
        flags = dict(zip(("is_proven", "is_late", "is_accepted", "may_be_unclean"), facts, strict=True))
        for isr in ((NODE,), (NODE, SECOND), REPLICAS):
            assert decided(dict(zip((SECOND, THIRD), others, strict=True)), isr, **flags) == (Act.RELEASE, NODE, ())


def test_a_later_epoch_is_the_better_log_and_then_a_greater_end():
    assert decided({SECOND: LogEnd(5, 3), THIRD: LONGER}) == (Act.HAND_OVER, SECOND, ())
    assert decided({SECOND: LogEnd(3, 500), THIRD: SHORTER}) == (Act.RELEASE, NODE, ())
    assert decided({SECOND: LogEnd(4, 89), THIRD: LONGER}) == (Act.HAND_OVER, THIRD, ())
    assert decided({SECOND: LogEnd(-1, 0), THIRD: LogEnd(-1, 0)}, own=LogEnd(-1, 0)).act is Act.RELEASE


def test_where_the_last_epoch_is_not_told_the_greater_end_is_the_better_log_of_those_in_sync():
    others = {SECOND: LogEnd(EPOCH_UNKNOWN, 90), THIRD: SHORTER}
    assert decided(others, (NODE, SECOND)) == (Act.WAIT, SECOND, (SECOND,))
    assert decided({SECOND: LogEnd(EPOCH_UNKNOWN, 88), THIRD: SHORTER}) == (Act.RELEASE, NODE, ())


def test_to_a_longer_log_out_of_the_isr_whose_epoch_is_not_told_nothing_is_given_away():
    """It may be the tail of a leader of before, which nobody acknowledged."""
    others = {SECOND: LogEnd(EPOCH_UNKNOWN, 90), THIRD: SAME}
    for is_proven in YES_OR_NO:
        assert decided(others, is_proven=is_proven) == (Act.WAIT, NODE, (SECOND,))
        assert decided(others, is_proven=is_proven, is_accepted=True) == (Act.RELEASE, NODE, ())
    assert decided(others, is_late=True) == (Act.RELEASE, NODE, ())
    assert decided({SECOND: LogEnd(EPOCH_UNKNOWN, 95), THIRD: LONGER}, is_accepted=True) == (Act.HAND_OVER, THIRD, ())


@pytest.mark.parametrize("is_missing", YES_OR_NO)
def test_without_other_replicas_a_log_that_is_missing_waits_until_its_loss_is_accepted(is_missing):
    flags = {"is_proven": True, "is_late": True, "may_be_unclean": False, "is_missing": is_missing}
    act = Act.WAIT if is_missing else Act.RELEASE
    assert decide(NODE, OWN, {}, (NODE,), (NODE,), is_accepted=False, **flags) == (act, NODE, ())
    assert decide(NODE, OWN, {}, (NODE,), (NODE,), is_accepted=True, **flags).act is Act.RELEASE


def test_what_may_be_lost_begins_where_the_least_of_the_logs_in_sync_ends():
    others = {SECOND: LogEnd(0, 75), THIRD: LogEnd(0, 90)}
    assert first_lost(LogEnd(0, 80), LogEnd(0, 90), others, (NODE, SECOND)) == 75
    assert first_lost(LogEnd(0, 80), LogEnd(0, 90), others, (NODE,)) == 80
    assert first_lost(LogEnd(0, 80), LogEnd(1, 60), {SECOND: None, THIRD: LogEnd(1, 60)}, (NODE, SECOND)) == 60


@pytest.mark.parametrize("is_accepted", YES_OR_NO)
@pytest.mark.parametrize("is_proven", YES_OR_NO)
def test_a_better_one_in_the_isr_is_waited_for_whatever_was_said(is_proven, is_accepted):
    verdict = decided({SECOND: LONGER, THIRD: SHORTER}, (NODE, SECOND), is_proven=is_proven, is_accepted=is_accepted)
    assert verdict == (Act.WAIT, SECOND, (SECOND,))


def test_of_two_that_are_equally_good_the_one_in_the_isr_is_the_better():
    assert decided({SECOND: LONGER, THIRD: LONGER}, (NODE, THIRD)) == (Act.WAIT, THIRD, (THIRD,))


@pytest.mark.parametrize("is_proven", YES_OR_NO)
def test_a_better_one_outside_of_the_isr_is_to_lead(is_proven):
    assert decided({SECOND: SHORTER, THIRD: LONGER}, is_proven=is_proven) == (Act.HAND_OVER, THIRD, ())


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
    assert decided(others, **flags, is_late=True) == (Act.WAIT, decided(others, **flags).best, ())
    assert decided(others, **flags, is_accepted=True).act is not Act.WAIT
    assert decided(others, **flags, may_be_unclean=True).act is not Act.WAIT


def test_where_another_log_in_sync_is_known_a_missing_one_is_no_loss():
    flags = {"own": MISSING, "is_missing": True, "is_proven": True}
    others = {SECOND: LONGER, THIRD: SHORTER}
    assert decided(others, (NODE, SECOND), **flags) == (Act.WAIT, SECOND, (SECOND,))
    assert decided({SECOND: MISSING, THIRD: MISSING}, (NODE, SECOND), **flags).act is Act.RELEASE
    assert decided({SECOND: None, THIRD: LONGER}, (NODE, SECOND), **flags).act is Act.WAIT


def test_a_missing_log_hands_nothing_over_where_another_in_sync_one_decides():
    """That one lost its end as well: by itself it would give way to the better one, and for it this log is not known."""
    flags = {"own": MISSING, "is_missing": True, "is_proven": True}
    others = {SECOND: SHORTER, THIRD: LONGER}
    assert decided(others, (NODE, SECOND), **flags) == (Act.WAIT, THIRD, (SECOND,))
    assert decided(others, (NODE, SECOND), **flags, is_accepted=True) == (Act.HAND_OVER, THIRD, ())


@pytest.mark.parametrize("mark", [88, 81, 80, -1])
def test_a_log_that_lacks_what_is_committed_leads_only_where_an_operator_says_so(mark):
    """Its last record is of a later epoch all the same: nothing within one history makes such a log."""
    others = {SECOND: LogEnd(5, 80), THIRD: SHORTER}
    act = Act.WAIT if mark > 80 else Act.HAND_OVER
    assert decided(others, high_watermark=mark) == (act, SECOND, (SECOND,) if act is Act.WAIT else ())
    assert decided(others, high_watermark=mark, is_late=True).act is act
    for how in ({"is_accepted": True}, {"may_be_unclean": True}):
        assert decided(others, high_watermark=mark, **how) == (Act.HAND_OVER, SECOND, ())

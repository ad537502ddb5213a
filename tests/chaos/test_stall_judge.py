"""A partition that stood still, and a machine that is slow all the time."""

from tests.chaos.stall_judge import STALL_S, TIMES, Took, judge_stalls


def test_a_produce_that_waits_is_an_anomaly():
    (found,) = judge_stalls("a move", [Took(0, 1.0, 0.01), Took(1, 10.0, STALL_S + 0.5)], 5.0)
    assert found.kind == "stalled"
    assert "a produce to partition 1 took 1.5 s, before at most 0.01 s" in found.text


def test_one_that_waits_no_longer_than_the_bound_is_none():
    assert not judge_stalls("a move", [Took(0, 1.0, 0.01), Took(1, 10.0, STALL_S)], 5.0)


def test_one_that_began_before_and_waited_through_it_counts():
    assert judge_stalls("a move", [Took(0, 1.0, 0.01), Took(1, 4.9, 3.0)], 5.0)


def test_where_it_took_long_before_the_machine_is_slow():
    assert not judge_stalls("a move", [Took(0, 1.0, 1.0), Took(1, 10.0, TIMES * 1.0)], 5.0)
    assert judge_stalls("a move", [Took(0, 1.0, 1.0), Took(1, 10.0, TIMES * 1.0 + 0.1)], 5.0)


def test_nothing_was_asked():
    assert not judge_stalls("a move", [], 5.0)

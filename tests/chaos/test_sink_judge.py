"""Lost, double, out of order, different: each is found, and its near miss is not. What shows nothing is a failure too."""

import pytest

from tests.chaos.sink_judge import Row, SinkVerdict, Strike

STRIKES = [Strike("worker", {0: 3, 1: 0}, True), Strike("driver", {0: 6, 1: 0}, True)]


def rows(*numbers, partition=0):
    return [Row(partition, offset, number, number % 3) for offset, number in enumerate(numbers)]


def judged(found, acknowledged, log="", without=False, strikes=STRIKES):
    verdict = SinkVerdict(7, without, [*strikes])
    verdict.judge(set(acknowledged), found, log)
    return verdict


def faults(*arguments, **named):
    return judged(*arguments, **named).faults(len(STRIKES))


def test_each_number_once_passes_whatever_the_order_of_tasks():
    found = [*rows(0, 2, 1, 3, 5, 4), *rows(6, 8, 7, partition=1)]
    verdict = judged(found, range(8))  # 8 was written, and its answer lost
    assert verdict.faults(2) == []
    assert "exactly_once=on kills=2 mid_write=2 doubling=0" in verdict.summary()


@pytest.mark.parametrize(
    ("found", "acknowledged", "log", "fault"),
    [
        (rows(0, 1, 3), range(4), "", "lost: [2] (1 in all)"),
        (rows(0, 1, 2, 1), range(3), "", "double: [1] (1 in all)"),
        ([*rows(0, 1, 2), *rows(1, partition=1)], range(3), "", "double: [1] (1 in all)"),
        (rows(3, 1, 0), (0, 1, 3), "", "order: [0] (1 in all)"),
        (rows(0), range(1), "headrace.spark.errors.RowsDiffer: task 0", "rows differ"),
        (rows(0), (), "", "nothing was acknowledged"),
    ],
)
def test_a_fault_is_found(found, acknowledged, log, fault):
    (told,) = faults(found, acknowledged, log)
    assert told.startswith(fault)


def test_kills_that_missed_the_moment_of_writing_are_a_failure():
    missed = [one._replace(is_mid_write=False) for one in STRIKES]
    assert faults(rows(0), range(1), strikes=missed) == ["only 0 of 2 kills came in mid-write"]
    assert faults(rows(0), range(1), strikes=STRIKES[:1]) == ["only 1 kills fired"]


def test_zombies_of_which_none_woke_up_are_a_failure():
    zombies = [Strike("zombie", {0: 0, 1: 0}, True)] * 2
    assert faults(rows(0), range(1), strikes=zombies) == ["no zombie woke up"]
    verdict = judged(rows(0), range(1), strikes=zombies)
    verdict.woken = 1
    assert verdict.faults(2) == []


def test_without_the_option_doubles_have_to_be_found_and_nothing_else():
    assert faults(rows(0, 1, 2, 0), range(3), without=True) == []
    assert faults(rows(0, 1, 2), range(3), without=True) == [
        "no row is double without the option: these kills show nothing"
    ]
    assert faults(rows(0, 1, 0), range(3), without=True) == ["lost: [2] (1 in all)"]


@pytest.mark.parametrize(
    ("numbers", "doubled", "at_once"),
    [
        ((0, 1, 2, 0, 1, 2), {"worker": 1}, 0),
        ((0, 1, 2, 3, 4, 5, 3), {"driver": 1}, 0),
        ((0, 1, 2, 0, 4, 5, 4), {"worker": 1, "driver": 1}, 0),
        ((0, 1, 2, 3, 4, 5, 0), {"driver": 1}, 0),  # the last one between the two
        ((0, 1, 2, 3, 3), {}, 1),  # no kill between: two attempts at once
        ((0, 1, 0), {}, 1),
    ],
)
def test_a_double_is_put_down_to_the_kill_between_its_rows(numbers, doubled, at_once):
    verdict = judged(rows(*numbers), set(numbers), without=True)
    assert (verdict.doubled, verdict.at_once) == (doubled, at_once)
    assert f"doubling={len(doubled)}" in verdict.summary()

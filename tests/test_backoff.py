"""Pauses grow from the first to the longest one, and begin again after a success."""

from itertools import pairwise

import pytest

from headrace.backoff import Backoff, jittered, pause_after


@pytest.mark.parametrize(("first", "most"), [(20, 1_000), (50, 50), (0.05, 1.0)])
def test_a_pause_is_doubled_with_each_failure_up_to_the_longest(first, most):
    pauses = [pause_after(failures, first, most) for failures in range(1, 2_000)]
    assert pauses[0] == first
    for before, after in pairwise(pauses):
        assert after == min(2 * before, most)
    assert pauses[-1] == most


def test_before_the_first_failure_the_pause_is_the_first_one():
    assert pause_after(0, 20, 1_000) == 20


def test_a_success_begins_again():
    backoff = Backoff(10, 100)
    assert [backoff.next_ms() for _ in range(5)] == [10, 20, 40, 80, 100]
    assert backoff.failures == 5
    backoff.reset()
    assert backoff.failures == 0
    assert backoff.next_ms() == 10


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 80), (0.5, 100), (0.999999, 120)])
def test_jitter_is_a_share_of_the_pause_either_way(chance, expected):
    assert round(jittered(100, 0.2, lambda: chance)) == expected
    assert Backoff(100, 1_000, 0.2, lambda: chance).next_ms() == expected


def test_jitter_leaves_no_pause_of_nothing():
    assert Backoff(1, 1, 0.9, lambda: 0.0).next_ms() == 1


def test_jitter_needs_chance():
    with pytest.raises(AssertionError):
        Backoff(1, 1, 0.2)

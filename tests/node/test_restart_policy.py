"""Back-off and hang detection, over every edge."""

import pytest

from headrace.limits import RESTART_BACKOFF_FIRST_MS, RESTART_BACKOFF_MAX_MS
from headrace.node.restart_policy import QUIET_MS, backoff_ms, deaths_in_a_row, is_hung, is_settled

MS = 1_000_000


@pytest.mark.parametrize(
    ("deaths", "wait_ms"),
    [(1, 0), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (10, 2_560), (11, 5_000), (12, 5_000), (1_000_000, 5_000)],
)
def test_the_first_restart_is_immediate_then_waits_double_up_to_a_bound(deaths, wait_ms):
    assert backoff_ms(deaths) == wait_ms


def test_the_wait_never_falls_and_never_passes_the_bound():
    waits_ms = [backoff_ms(deaths) for deaths in range(1, 100)]
    assert waits_ms == sorted(waits_ms)
    assert waits_ms[1] == RESTART_BACKOFF_FIRST_MS
    assert waits_ms[-1] == RESTART_BACKOFF_MAX_MS


def test_a_wait_before_the_first_death_is_our_mistake():
    with pytest.raises(AssertionError):
        backoff_ms(0)


@pytest.mark.parametrize(
    ("before", "served_ms", "after"),
    [(0, 0, 1), (0, QUIET_MS - 1, 1), (1, 0, 2), (5, QUIET_MS - 1, 6), (5, QUIET_MS, 1), (5, 86_400_000, 1)],
)
def test_deaths_in_a_row_count_until_one_life_served_long_enough(before, served_ms, after):
    assert deaths_in_a_row(before, served_ms) == after


@pytest.mark.parametrize(
    ("deaths", "ready_ms", "heartbeat_ms", "now_ms", "settled"),
    [
        (0, 0, 50, 60, False),  # not ready
        (0, 40, 40, 60, False),  # not a turn since
        (0, 40, 41, 41, True),
        (1, 40, 41, 40 + QUIET_MS - 1, False),
        (1, 40, 41, 40 + QUIET_MS, True),
    ],
)
def test_a_process_is_settled_after_a_turn_and_after_deaths_when_it_has_served_for_a_while(
    deaths, ready_ms, heartbeat_ms, now_ms, settled
):
    assert is_settled(deaths, ready_ms * MS, heartbeat_ms * MS, now_ms * MS) is settled


@pytest.mark.parametrize(
    ("started_ms", "heartbeat_ms", "now_ms", "hung"),
    [
        (100, 0, 1_100, False),  # exactly the timeout is not beyond it
        (100, 0, 1_101, True),  # it never turned
        (100, 5_000, 5_001, False),
        (100, 5_000, 6_000, False),
        (100, 5_000, 6_001, True),
        (9_000, 5_000, 9_500, False),  # a heartbeat of an earlier life
    ],
)
def test_a_process_hangs_when_its_last_sign_of_life_is_older_than_the_timeout(started_ms, heartbeat_ms, now_ms, hung):
    assert is_hung(started_ms * MS, heartbeat_ms * MS, now_ms * MS, 1_000) is hung

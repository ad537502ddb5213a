"""What repeats is logged now and then, not each time."""

from itertools import pairwise

from headrace.limits import NOTICE_INTERVAL_MS, NOTICES_PER_INTERVAL_MAX
from headrace.log_rate_limit import GrowingInterval, LinesPerInterval, OncePerInterval, is_worth_a_line

S = 1_000_000_000


def test_a_peer_is_named_once_an_interval():
    notices = OncePerInterval()
    assert notices.is_due("10.0.0.1", "streams", 5)
    assert not notices.is_due("10.0.0.1", "streams", 5 + NOTICE_INTERVAL_MS - 1)
    assert notices.is_due("10.0.0.1", "streams", 5 + NOTICE_INTERVAL_MS)


def test_two_applications_of_a_host_are_both_named():
    notices = OncePerInterval()
    assert notices.is_due("10.0.0.1", "streams", 0)
    assert notices.is_due("10.0.0.1", "flink", 0)
    assert notices.is_due("10.0.0.1", None, 0)


def test_a_client_that_takes_new_names_fills_no_log():
    notices = OncePerInterval()
    due = [notices.is_due("10.0.0.1", f"client-{number}", 0) for number in range(10 * NOTICES_PER_INTERVAL_MAX)]
    assert sum(due) == NOTICES_PER_INTERVAL_MAX
    assert notices.is_due("10.0.0.2", "honest", NOTICE_INTERVAL_MS)


def test_failures_in_a_row_are_logged_ever_more_rarely():
    assert [count for count in range(100) if is_worth_a_line(count)] == [0, 1, 2, 4, 8, 16, 32, 64]
    assert [count for count in range(100) if is_worth_a_line(count, 8)] == [8, 16, 32, 64]


def test_an_interval_grows_up_to_the_longest_one():
    interval, due = GrowingInterval(), []
    for second in range(5_000):
        if interval.is_due(second * S):
            due.append(second)
    assert due[:8] == [0, 10, 30, 70, 150, 310, 630, 1_230]
    assert [after - before for before, after in pairwise(due[6:])] == [600] * (len(due) - 7)


def test_an_interval_begins_again_when_the_condition_is_over():
    interval = GrowingInterval()
    assert [interval.is_due(second * S) for second in (1, 2, 11, 12, 30, 31)] == [True, False, True, False, False, True]
    interval.reset()
    assert [interval.is_due(second * S) for second in (32, 33, 42)] == [True, False, True]


def test_lines_of_each_kind_are_numbered_in_their_interval():
    lines = LinesPerInterval(10.0)
    assert [lines.count("a", second) for second in (0, 1, 9.9)] == [(1, 0), (2, 0), (3, 0)]
    assert lines.count("b", 5) == (1, 0)
    assert [lines.count("a", second) for second in (10, 11)] == [(1, 3), (2, 0)]
    assert lines.count("a", 9) == (1, 2), "a clock that was set back begins another interval"

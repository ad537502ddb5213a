"""The stop's shares, against what the workers need."""

from headrace.limits import DRAIN_MAX_MS, LEAVE_MS_MAX, STOP_DEADLINE_MS
from headrace.node.stop_plan import STOP_PLAN
from headrace.shm.wiring import Role


def test_nobody_writes_after_the_one_who_needs_its_result():
    assert list(STOP_PLAN) == [Role.NETWORK, Role.PARTITION, Role.HOUSEKEEPER, Role.CONTROLLER]


def test_each_share_covers_a_drain_and_the_closing_after_it():
    """At 100 ms more, a network worker that waited for acks=all to the end of its drain was killed: the stop was no clean one."""
    assert STOP_PLAN[Role.NETWORK] - LEAVE_MS_MAX >= DRAIN_MAX_MS + 500
    assert STOP_PLAN[Role.PARTITION] - STOP_PLAN[Role.NETWORK] >= DRAIN_MAX_MS + 500


def test_the_whole_stop_stays_below_ten_seconds():
    assert max(STOP_PLAN.values()) == STOP_DEADLINE_MS < 10_000

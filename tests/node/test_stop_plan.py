"""The stop's shares, against what the workers need."""

from headrace.limits import DRAIN_MAX_MS, LEAVE_MS_MAX, STOP_DEADLINE_MS, STOP_OVERTIME_MS_MAX, STOP_STEP_MS
from headrace.node.stop_plan import STOP_PLAN, StopClock
from headrace.shm.wiring import Role


def test_nobody_writes_after_the_one_who_needs_its_result():
    assert list(STOP_PLAN) == [Role.NETWORK, Role.PARTITION, Role.HOUSEKEEPER, Role.CONTROLLER]


def test_each_share_covers_a_drain_and_the_closing_after_it():
    """At 100 ms more, a network worker that waited for acks=all to the end of its drain was killed: the stop was no clean one."""
    assert STOP_PLAN[Role.NETWORK] >= DRAIN_MAX_MS + 500
    assert STOP_PLAN[Role.PARTITION] - STOP_PLAN[Role.NETWORK] >= DRAIN_MAX_MS + 500


def test_the_whole_stop_stays_within_what_systemd_waits():
    assert max(STOP_PLAN.values()) == STOP_DEADLINE_MS < 20_000 - LEAVE_MS_MAX


def test_a_role_that_gets_on_has_more_time_and_takes_none_from_the_next_one():
    clock = StopClock(1_000)
    clock.begin(Role.PARTITION, steps=7)
    end_ms = 1_000 + STOP_PLAN[Role.PARTITION]
    assert clock.left_ms(end_ms - 1) == 1
    assert clock.extend(8)
    assert clock.left_ms(end_ms) == STOP_STEP_MS
    assert not clock.extend(8), "nothing was closed since"
    clock.begin(Role.HOUSEKEEPER, steps=0)
    assert clock.left_ms(1_000) == STOP_PLAN[Role.HOUSEKEEPER] + STOP_STEP_MS


def test_overtime_is_bounded():
    clock = StopClock(0)
    clock.begin(Role.PARTITION, steps=0)
    extensions = 0
    while clock.extend(extensions + 1):
        extensions += 1
    assert extensions * STOP_STEP_MS == STOP_OVERTIME_MS_MAX

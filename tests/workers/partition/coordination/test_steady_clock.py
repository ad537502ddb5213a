"""The time of coordinators: set clocks, and workers that stood still."""

import pytest

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.support.fake_date import MS_NS
from tests.workers.partition.host_rig import join

DAY_MS = 86_400_000


def test_a_clock_that_is_set_ends_no_session_and_expires_nothing_at_once(rig):
    host = rig.host
    clock, wall = host.clock, host.clock.now_ms
    rig.date.begin(wall * MS_NS, 1_000 * MS_NS)

    def turn(wall_ms, monotonic_ms):
        rig.date.turn(wall_ms * MS_NS, monotonic_ms * MS_NS)
        host.turn(wall_ms, monotonic_ms)

    turn(wall, 1_000)
    assert clock.now_ms == wall
    turn(wall + 10, 1_010)
    assert clock.now_ms == wall + 10
    turn(wall + 3_600_000, 1_110)
    assert clock.expiry_ms == wall + 10 + 150, "an hour ahead is not believed at once"
    assert clock.date_ms == wall + 3_600_000, "but what is stored has the date that everybody has"
    assert clock.now_ms == wall + 110, "and by no deadline"
    turn(wall - 3_600_000, 1_210)
    assert clock.expiry_ms == clock.date_ms == wall - 3_600_000, "the earlier one counts"
    assert clock.now_ms == wall + 210
    for step in range(200):
        turn(wall + 100_000 + step * 1_000, 2_210 + step * 1_000)
    assert clock.expiry_ms == clock.date_ms == wall + 100_000 + 199_000, "in the end they are the same"
    assert clock.now_ms == wall + 210 + 200_000, "deadlines know none"


def test_a_worker_in_place_of_a_killed_one_believes_no_more_of_a_date_that_was_set_forward(rig):
    wall = rig.host.clock.date_ms
    rig.date.begin(wall * MS_NS, 0)
    rig.logs.clock.ms = wall + 8 * DAY_MS
    rig.new_host()
    rig.host.turn(wall + 8 * DAY_MS, 60_000)
    assert rig.host.clock.expiry_ms == wall + 60_000


@pytest.mark.parametrize("days", [10, -10])
def test_a_worker_that_started_under_a_wrong_date_has_the_right_one_once_it_is_set(rig, days):
    rig.load()
    rig.commit(41)
    rig.host.do_work()
    wall = rig.host.clock.date_ms
    rig.logs.clock.ms = wall + days * DAY_MS
    rig.date.begin((wall + days * DAY_MS) * MS_NS, 0)
    rig.new_host()
    rig.load()
    for second in range(900):
        date_ms = wall + second * 1_000 + (days * DAY_MS if second < 5 else 0)
        rig.date.turn(date_ms * MS_NS, second * 1_000 * MS_NS)
        rig.host.turn(date_ms, second * 1_000)
        rig.host.do_work()
    assert rig.committed() == 41
    assert rig.host.clock.date_ms == wall + 899_000
    assert rig.host.clock.expiry_ms <= rig.host.clock.date_ms


def test_a_worker_that_stood_still_hears_its_members_before_it_ends_their_sessions(rig):
    """A slow disk, a stopped process, a giant request: more heartbeats wait in the rings than a cycle takes."""
    wall_ms = rig.host.clock.now_ms
    rig.host.turn(wall_ms, 5_000)
    rig.load()
    got = join(rig)
    rig.host.turn(wall_ms + 100, 5_100)
    rig.host.do_work()
    for elapsed_ms in range(200, 4_200, 100):
        rig.host.turn(wall_ms + elapsed_ms, 5_000 + elapsed_ms)
        rig.host.do_work()
    (joined,) = got
    rig.host.turn(wall_ms + 34_000, 5_000 + 34_000)
    rig.host.do_work()
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id)
    (answer,) = rig.ask(ApiKey.HEARTBEAT, 4, request)
    assert answer.error_code == 0
    for elapsed_ms in range(34_000, 94_001, 100):
        rig.host.turn(wall_ms + elapsed_ms, 5_000 + elapsed_ms)
    assert rig.host.clock.date_ms == wall_ms + 94_000, "the time that was not counted is made up for, in the date"
    rig.host.do_work()
    (answer,) = rig.ask(ApiKey.HEARTBEAT, 4, request)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID, "who is silent is out all the same"

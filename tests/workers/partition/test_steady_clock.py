"""The time of coordinators: set clocks, and workers that stood still."""

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from tests.workers.partition.host_rig import join


def test_a_clock_that_is_set_ends_no_session(rig):
    host = rig.host
    wall = host.clock.now_ms
    host.turn(wall, 1_000)
    assert host.clock.now_ms == wall
    host.turn(wall + 10, 1_010)
    assert host.clock.now_ms == wall + 10
    host.turn(wall + 3_600_000, 1_110)
    assert host.clock.date_ms == wall + 10 + 150, "an hour ahead is not believed at once"
    assert host.clock.now_ms == wall + 110, "and by no deadline"
    host.turn(wall - 3_600_000, 1_210)
    assert host.clock.date_ms == wall + 160 + 50, "and the date never goes back"
    assert host.clock.now_ms == wall + 210
    for step in range(200):
        host.turn(wall + 100_000 + step * 1_000, 2_210 + step * 1_000)
    assert host.clock.date_ms == wall + 100_000 + 199_000, "in the end it is the wall clock's"
    assert host.clock.now_ms == wall + 210 + 200_000, "deadlines know none"


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

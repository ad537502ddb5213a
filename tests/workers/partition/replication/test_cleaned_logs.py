"""Logs of compacted topics, whose last batches and epochs are not the same on all replicas: that proves nothing of their histories."""

import pytest

from headrace.ids import NO_LEADER
from tests.support.log_fixtures import all_bytes
from tests.workers.partition.replication.log_leader import LedLog, LogLeader

COMPACT = {"cleanup.policy": "compact"}


def follower_of(make_rig, led, own, configs):
    """A follower whose log has these batches, all of them committed, and was opened anew."""
    leader = LogLeader(led)
    rig = make_rig(leader)
    rig.follow(leader=0, epoch=1, configs=configs)
    rig.follow(leader=NO_LEADER, epoch=1, configs=configs)
    rig.log.append_as_follower(memoryview(bytearray(own)), 0)
    rig.replica.publish()
    rig.replica.move_high_watermark(rig.log.log_end_offset)
    rig.replica.is_unproven = True
    return rig, leader


def check_followed(rig, led, leader, caplog):
    rig.turn_until(lambda: rig.log.log_end_offset == led.log.log_end_offset)
    rig.settle()
    assert not rig.node.replicas.moved.take_ahead()
    assert not [one.message for one in caplog.records if one.levelname == "ERROR"]
    leader.close()


@pytest.mark.parametrize("hole", ["follower", "leader"])
@pytest.mark.parametrize("now", [3, 4])
def test_an_epoch_of_which_no_record_is_left_may_be_unknown_to_one_of_them(make_rig, tmp_path, hole, now, caplog):
    """Whichever was copied after the cleaner had taken it has never heard of it. The proof asks by the epoch before."""
    whole = LedLog(tmp_path)
    whole.lead(1).append(5)
    whole.lead(2).append(5)
    whole.lead(3).append(1)
    data = all_bytes(whole.log)
    size = len(data) // 11
    cleaned = data[: 5 * size] + data[10 * size :]
    led, own = whole, cleaned
    if hole == "leader":
        (tmp_path / "leader").mkdir()
        led, own = LedLog(tmp_path / "leader"), data
        led.log.append_as_follower(memoryview(bytearray(cleaned)), 0)
    led.epoch = now
    if now > 3:
        led.lead(now)
    rig, leader = follower_of(make_rig, led, own, COMPACT)
    led.append(2)
    rig.follow(leader=1, epoch=now, configs=COMPACT)
    check_followed(rig, led, leader, caplog)


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_what_a_cleaner_took_is_no_other_history(make_rig, tmp_path, policy, caplog):
    """Ours has 0..9. The leader's cleaner took 9, before the policy was changed."""
    whole = LedLog(tmp_path)
    whole.lead(1).append(15)
    data = all_bytes(whole.log)
    size = len(data) // 15
    (tmp_path / "leader").mkdir()
    led = LedLog(tmp_path / "leader")
    led.log.append_as_follower(memoryview(bytearray(data[: 9 * size] + data[10 * size :])), 0)
    led.lead(2)
    configs = {"cleanup.policy": policy}
    rig, leader = follower_of(make_rig, led, data[: 10 * size], configs)
    rig.follow(leader=1, epoch=2, configs=configs)
    check_followed(rig, led, leader, caplog)
    whole.log.abandon()

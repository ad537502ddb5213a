"""With `headrace.flush.before.ack` a leader takes the offset of a fetch for synced: no follower says one that is not."""

import errno

import pytest

from headrace.limits import FETCH_PAUSE_FIRST_MS, REOPEN_INTERVAL_MS
from headrace.log.config import LogConfig
from tests.support.fake_seat import FakeSeat
from tests.support.log_fixtures import batch
from tests.workers.partition.replication.log_leader import LedLog, LogLeader

SYNCED = {"headrace.flush.before.ack": "true"}
EACH = {"flush.messages": "1"}


class Killed(BaseException):
    """In the middle of a system call."""


@pytest.fixture
def led(tmp_path):
    (tmp_path / "leader").mkdir()
    return LedLog(tmp_path / "leader")


class Listener(LogLeader):
    """A leader that compares what a follower says with what that one has on its disk."""

    rig = None
    promised = 0

    def note(self):
        for fetch in self.fetches[self.promised :]:
            for topic in fetch.topics:
                for one in topic.partitions:
                    assert one.fetch_offset <= self.rig.log.recovery_point
        self.promised = len(self.fetches)


@pytest.fixture
def leader(led):
    leader = Listener(led)
    yield leader
    leader.close()


@pytest.fixture
def rig(make_rig, leader):
    rig = make_rig(leader)
    leader.rig = rig
    return rig


def until_promised(rig, leader, offset):
    """Until the leader heard of an offset; nothing that was said before, or with it, was unsynced."""
    promised = set()

    def is_so():
        seen = leader.fetches[leader.promised :]
        leader.note()
        promised.update(one.fetch_offset for fetch in seen for topic in fetch.topics for one in topic.partitions)
        return offset in promised

    rig.turn_until(is_so)


@pytest.mark.parametrize("is_node", [False, True], ids=["worker", "node"])
@pytest.mark.parametrize("configs", [SYNCED, EACH], ids=["flush.before.ack", "flush.messages"])
def test_a_killed_owners_successor_syncs_what_it_finds(rig, leader, led, is_node, configs):
    led.append(5)
    rig.follow(configs=configs)
    until_promised(rig, leader, 5)
    disk = rig.node.disk
    sync = disk.fdatasync

    def die(_fd):
        raise Killed

    disk.fdatasync = die
    led.append(1)
    with pytest.raises(Killed):
        rig.turn_until(lambda: False)
    assert rig.log.log_end_offset == 6
    disk.fdatasync = sync
    leader.promised = len(leader.fetches)
    rig.killed(FakeSeat(rig.node.dirs, {"replica.fetch.wait.max.ms": "500"}) if is_node else None)
    rig.show(dict(rig.view.topics))
    until_promised(rig, leader, 6)
    assert rig.log.was_synced == (configs is SYNCED)


def test_a_log_without_descriptors_says_nothing_until_it_is_synced(rig, leader, led):
    led.append(5)
    rig.follow(configs=SYNCED)
    until_promised(rig, leader, 5)
    rig.node.disk.fails["fdatasync"] = errno.EMFILE
    led.append(1)
    rig.turn_until(lambda: rig.log.failure is not None)
    assert (rig.log.log_end_offset, rig.log.recovery_point) == (6, 5)
    for _ in range(20):
        rig.pass_ms(FETCH_PAUSE_FIRST_MS)
        rig.settle()
        leader.note()
    del rig.node.disk.fails["fdatasync"]
    rig.clock.ms += REOPEN_INTERVAL_MS
    rig.node.replicas.tick(rig.clock.ms)
    assert (rig.log.failure, rig.log.recovery_point) == (None, 6)
    rig.pass_ms(REOPEN_INTERVAL_MS)
    until_promised(rig, leader, 6)


def test_neither_does_one_whose_leader_is_another_meanwhile(rig, leader, led):
    led.append(5)
    rig.follow(configs=SYNCED)
    until_promised(rig, leader, 5)
    rig.node.disk.fails["fdatasync"] = errno.EMFILE
    led.append(1)
    rig.turn_until(lambda: rig.log.failure is not None)
    rig.follow(epoch=1, configs=SYNCED)
    led.lead(1)
    for _ in range(20):
        rig.pass_ms(FETCH_PAUSE_FIRST_MS)
        rig.settle()
        leader.note()


@pytest.mark.parametrize("is_default", [False, True], ids=["topic", "default"])
def test_once_it_is_wanted_what_was_written_before_is_synced(rig, leader, led, is_default):
    led.append(5)
    rig.follow()
    rig.follow_until(led)
    assert rig.log.recovery_point == 0
    if is_default:
        rig.view = rig.view._replace(cluster_settings=SYNCED)
        rig.show(dict(rig.view.topics))
    else:
        rig.follow(configs=SYNCED)
    assert rig.log.recovery_point == rig.node.row(0).recovery_point == 5
    leader.promised = len(leader.fetches)
    led.append(1)
    until_promised(rig, leader, 6)


def test_a_log_that_says_all_was_synced_is_so_though_the_setting_is_no_more(rig, leader, led):
    led.append(5)
    rig.follow(configs=SYNCED)
    until_promised(rig, leader, 5)
    rig.log._follower.append(batch(base_offset=5), LogConfig(flush_before_ack=True), 0)
    rig.killed()
    rig.follow()
    assert rig.log.was_synced
    assert rig.log.recovery_point == rig.log.log_end_offset == 6

"""Our own last batch is damaged while the log is in service: that is reported, and is no proof."""

import errno
import os

import pytest

from headrace.errors import LogDamaged, LogShort, StorageFailed
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.state.checkpoints import read_lines
from headrace.log.state.compacted_offset import COMPACTED_FILE
from headrace.protocol.record_batch import LOG_OVERHEAD_BYTES
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replication import own_batches
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.log_fixtures import all_bytes
from tests.workers.partition.replication.test_compared_batches import ibp, put, reported, stage, until

__all__ = ["ibp", "stage"]

# What is written over a byte of the last batch, from its beginning on.
DAMAGE = pytest.mark.parametrize(
    ("place", "value"),
    [(16, 9), (16, 0), (16, 1), (16, 255), (8, 0x7F), (8, 0x80), (11, 1), (23, 0x80)],
    ids=[
        "magic",
        "magic of v0",
        "magic of v1",
        "magic 255",
        "too long",
        "negative length",
        "too short",
        "negative delta",
    ],
)


def damage(log, number, place, value):
    """One byte of a batch of the active segment; batches have one size."""
    size = LOG_OVERHEAD_BYTES + int.from_bytes(all_bytes(log)[8:12], "big")
    fd = os.open(path_of(log.directory, log.end_segment, LOG_SUFFIX), os.O_WRONLY)
    os.pwrite(fd, bytes([value]), number * size + place)
    os.close(fd)


def followed_five(stage):
    rig = stage.rig
    led, leader = stage.broker()
    led.lead(1).append(5)
    stage.follow(1, 1, led)
    rig.settle()
    return rig, led, leader


def come_back(leader, led, lost_from):
    led.restart(lost_from=lost_from)
    led.append(4, size=50)
    leader.forget_sessions()
    for session in leader.node.sessions:
        session.reset()


@DAMAGE
@pytest.mark.parametrize("lost_from", [3, None], ids=["another history", "the same"])
def test_it_is_opened_and_reported_as_after_a_start(stage, place, value, lost_from, caplog):
    """Once it counted as proven, and the log joined a leader with other records there."""
    rig, led, leader = followed_five(stage)
    before = rig.replica
    rig.node.replicas.take_opened()
    damage(rig.log, 4, place, value)
    come_back(leader, led, lost_from)
    until(rig, lambda: before.state is RowState.DELETED)
    rig.node.replicas.open_some()
    [opened] = rig.node.replicas.take_opened()
    assert (opened.end_offset, opened.high_watermark, opened.was_cut) == (4, 5, True)
    assert rig.replica is opened.replica
    assert opened.replica.is_doubted, "no role before the controller knows"
    assert "log damaged, reopened with recovery partition=t-0" in caplog.text
    assert not rig.node.seat.mask, "its directory stays"
    rig.node.replicas.trust(opened.replica)
    rig.node.replicas.moved.tell()
    if lost_from is None:
        rig.follow_until(led)
        assert not reported(rig)
    else:
        until(rig, lambda: rig.state is FollowerState.FAILED)
        assert [epoch for _at, epoch in reported(rig)] == [1]


def test_damage_that_an_opening_does_not_find_takes_the_replica_out(stage, caplog):
    """Opened again it would be found again, for ever."""
    rig, led, leader = followed_five(stage)
    damage(rig.log, 4, 7, 200)  # its base offset lies after the end that was published
    come_back(leader, led, None)
    until(rig, lambda: rig.replica.state is RowState.OFFLINE)
    assert "replica offline partition=t-0" in caplog.text
    assert not rig.node.seat.mask
    assert rig.log.log_end_offset == 5


def test_it_is_opened_again_once_for_one_end(stage):
    rig, _led, _leader = followed_five(stage)
    first = rig.replica
    first.fail(LogShort("a batch", 5))
    rig.node.replicas.open_some()
    second = rig.replica
    assert second is not first
    second.fail(LogShort("a batch", 5))
    assert second.state is RowState.OFFLINE
    assert second.partition in rig.node.replicas.failures.unclean


def test_in_a_rolled_segment_no_opening_looks_for_it(stage):
    """So the replica goes out of service, alone."""
    rig, led, leader = followed_five(stage)
    rig.log.roll_if_older(2**62)
    assert rig.log.segment_bases == [0, 5]
    fd = os.open(path_of(rig.log.directory, 0, LOG_SUFFIX), os.O_WRONLY)
    size = os.fstat(fd).st_size // 5
    os.pwrite(fd, b"\x09", 4 * size + 16)
    os.close(fd)
    with pytest.raises(LogDamaged) as damaged:
        own_batches.last_batch(rig.log)
    assert not isinstance(damaged.value, LogShort)
    come_back(leader, led, 3)
    until(rig, lambda: rig.replica.state is RowState.OFFLINE)
    assert not rig.node.seat.mask
    assert rig.log.log_end_offset == 5


def test_without_a_record_there_is_nothing_to_compare(stage):
    rig = stage.rig
    led, _leader = stage.broker()
    stage.follow(1, 1, led)
    assert own_batches.last_batch(rig.log) is None
    led.append(3)
    rig.follow_until(led)
    rig.log.advance_log_start(3)
    assert own_batches.last_batch(rig.log) is None
    assert own_batches.batch_before(rig.log, 3) is None


def test_a_note_of_compaction_that_the_disk_can_not_read_is_its_directorys_failure(stage, monkeypatch):
    """It was taken for compacted, and a parting that the leader named was passed over."""
    rig, _led, _leader = followed_five(stage)

    def read(path):
        if path.name == COMPACTED_FILE:
            raise OSError(errno.EIO, "injected")
        return read_lines(path)

    monkeypatch.setattr("headrace.log.state.compacted_offset.read_lines", read)
    with pytest.raises(StorageFailed):
        own_batches.may_be_compacted(rig.log)
    second, _other = stage.broker()
    put(second.log, 0, 3)
    second.lead(2)
    rig.follow(leader=2, epoch=2)
    until(rig, lambda: rig.node.seat.mask)
    assert rig.log.log_end_offset == 5

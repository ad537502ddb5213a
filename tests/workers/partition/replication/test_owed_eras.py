"""An era that found no room on the disk is written once there is some, though nothing else happens to the partition."""

import errno

import pytest

from headrace.leader_eras import ERA
from headrace.log.state.known_era import ERA_FILE
from tests.support.log_fixtures import all_bytes
from tests.workers.partition.replication.test_compared_batches import ibp, reported, stage, until_failed
from tests.workers.partition.replication.test_truncation import copy

TURNS = 60
__all__ = ["ibp", "stage"]


def follow_without_room(stage):
    """Nothing was written in the era that the leader leads in."""
    rig = stage.rig
    first, _leader = stage.broker()
    first.lead(1).append(10)
    second, _other = stage.broker()
    copy(second, first.log)
    first.append(3)
    stage.follow(1, 1, first)
    rig.settle()
    rig.node.disk.fails["rename"] = errno.ENOSPC
    stage.follow(1, ERA + 1, first)
    for _ in range(TURNS):
        rig.turn()
    assert rig.node.replicas.logs.has_owed_eras
    assert not (rig.log.directory / ERA_FILE).exists()
    return rig, second


@pytest.mark.parametrize("is_opened_again", [False, True])
def test_a_mark_counts_within_its_era_though_there_was_no_room_when_that_began(stage, is_opened_again):
    rig, second = follow_without_room(stage)
    rig.node.tick()
    assert rig.node.replicas.logs.has_owed_eras, "there is no room yet"
    if is_opened_again:
        rig.node.disk.fails["pwritev"] = errno.ENOSPC
        refused = rig.replica
        assert not rig.node.append(0)
        assert refused.is_full
    rig.node.disk.fails.clear()
    rig.node.tick()
    rig.node.tick()
    assert not rig.node.replicas.logs.has_owed_eras
    assert (rig.log.directory / ERA_FILE).exists()
    before = all_bytes(rig.log)
    rig.killed()
    second.lead(ERA + 2)
    rig.follow(leader=2, epoch=ERA + 2)
    until_failed(rig)
    assert [epoch for _at, epoch in reported(rig)] == [ERA + 2]
    assert all_bytes(rig.log) == before


def test_a_disk_that_refuses_it_then_is_its_directorys_failure(stage):
    rig, _second = follow_without_room(stage)
    rig.node.disk.fails["rename"] = errno.EIO
    rig.node.tick()
    assert rig.node.seat.mask

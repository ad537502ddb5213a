"""Faults that take a cluster to themselves: their steps, in their order, and that all nodes are back, whatever the lot says."""

import random

import pytest

from tests.chaos import deposed_leaders, restored_zookeeper, swapped_disks
from tests.chaos.deposed_leaders import DeposedLeader
from tests.chaos.node_lives import FormerLife
from tests.chaos.restored_zookeeper import RestoredZooKeeper
from tests.chaos.slow_openings import SlowOpening
from tests.chaos.swapped_disks import DiskAway, DiskWithSession, SwappedDisk
from tests.support.fake_stage import FakeStage

SEEDS = range(8)
FAULTS = (FormerLife, SwappedDisk, DiskAway, DiskWithSession, RestoredZooKeeper, DeposedLeader, SlowOpening)


@pytest.fixture
def played(tmp_path, monkeypatch):
    """Play a fault by a seed: its stage."""
    for module in (deposed_leaders, swapped_disks):
        monkeypatch.setattr(
            module, "lose_pages_of", lambda stage, node, _chance: stage.steps.append(("lose", node.number))
        )
    monkeypatch.setattr(deposed_leaders, "_write_alone", lambda *_: None)
    monkeypatch.setattr(restored_zookeeper, "_copy", lambda _source, _target: None)
    monkeypatch.setattr(
        restored_zookeeper, "_restore", lambda stage, _data, _copy, way: stage.steps.append(("restore", way))
    )

    def play(fault, seed):
        stage = FakeStage(tmp_path / f"{fault.__name__}-{seed}")
        stage.fired = fault().fire(stage, random.Random(seed))
        return stage

    return play


@pytest.mark.parametrize("fault", FAULTS)
def test_all_nodes_are_back(played, fault):
    for seed in SEEDS:
        assert played(fault, seed).are_all_back


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_done_to_a_cluster_that_is_not_whole(tmp_path, fault):
    stage = FakeStage(tmp_path, isr=(1, 3))
    assert not fault().fire(stage, random.Random(1))
    assert not stage.steps


@pytest.mark.parametrize("fault", [one for one in FAULTS if one.loses_pages])
def test_a_second_machine_loses_nothing_before_the_cluster_is_whole(tmp_path, fault):
    stage = FakeStage(tmp_path)
    stage.has_lost_power = True
    assert not fault().fire(stage, random.Random(1))
    assert not stage.steps


def test_a_deposed_leader_is_back_when_the_others_have_lost_power(played):
    for seed in SEEDS:
        steps = played(DeposedLeader, seed).steps
        assert set(steps[:2]) == {("kill", 2), ("kill", 3)}
        assert steps[2] == ("kill", 1)
        assert {number for what, number in steps if what == "lose"} == {2, 3}
        assert steps.index(("launch", 1)) > max(index for index, (what, _number) in enumerate(steps) if what == "lose")


def test_the_last_in_sync_starts_while_its_worker_is_stopped_and_before_the_one_that_is_behind(played):
    for seed in SEEDS:
        stage = played(SlowOpening, seed)
        (behind,) = {number for what, number in stage.steps[:1] if what == "kill"}
        (stopped,) = {number for what, number in stage.steps if what == "stop"}
        assert {behind, stopped} == {2, 3}
        order = [("kill", behind), ("stop", stopped), ("kill", 1), ("launch", stopped), ("launch", 1), ("pause 1", 1)]
        assert stage.steps == [*order, ("launch", behind), ("continue", 1)]


def test_zookeeper_is_restored_when_somebody_is_away(played):
    for seed in SEEDS:
        steps = played(RestoredZooKeeper, seed).steps
        (index,) = [index for index, (what, _whom) in enumerate(steps) if what == "restore"]
        killed = {whom for what, whom in steps[:index] if what == "kill"}
        back = {whom for what, whom in steps[:index] if what == "launch"}
        assert len(killed - back) == 1
        assert steps[index + 1 :] == [("launch", *(killed - back))]


def test_a_follower_that_still_is_in_sync_ends_a_former_life_before_it_begins(played):
    """Waiting is over at once here, and nobody leaves the ISR: the fault did not happen, and all goes on."""
    stage = played(FormerLife, 1)
    assert not stage.fired
    assert stage.steps == [("pause 2", 2), ("continue", 2)]


def test_a_disk_that_was_away_is_back(played):
    for seed in SEEDS:
        stage = played(DiskAway, seed)
        assert all(path.is_dir() for path in stage.nodes[0].log_dirs)
        assert [path.name for path in stage.nodes[0].log_dirs[0].parent.iterdir() if path.is_dir()] == [
            "logs-1",
            "logs-2",
        ]
        assert stage.steps[:3] in ([("stop", 2), ("stop", 3), ("stop", 1)], [("stop", 3), ("stop", 2), ("stop", 1)])

"""Lives of nodes: a stop that is cut short, whom three roles fall to, that whoever was stopped or killed is back."""

import random
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.chaos.cluster_campaign import choose
from tests.chaos.cluster_state import PartitionState
from tests.chaos.cluster_topics import PARTITIONS
from tests.chaos.node_lives import StopCutShort, all_back, has_asked, pick_three


class Node:
    """One without processes."""

    kind, is_wanted = "headrace", True

    def __init__(self, number):
        self.number, self.done, self.is_running, self.stopped = number, [], True, set()

    def ask_to_stop(self):
        self.done.append("stop")

    def kill(self):
        self.done.append("kill")
        self.is_running = False

    def launch(self):
        self.done.append("launch")
        self.is_running = True

    def continue_all(self):
        self.done.append("continue")

    def wait_ready(self, _seconds):
        return "ready"


class State:
    """Leaders by lot, all in sync; node 3 controls."""

    def __init__(self, leaders, isr=(1, 2, 3)):
        self.leaders, self.isr = leaders, isr

    def controller(self):
        return 3

    def partition(self, _topic, partition):
        return PartitionState(self.leaders[partition], self.isr, 0)


class Stage:
    def __init__(self, leaders=(1, 2, 3, 1, 2, 3), isr=(1, 2, 3)):
        self.nodes = [Node(number) for number in (1, 2, 3)]
        self.state, self.ends, self.visited, self.crashes = State(leaders, isr), [], Counter(), 0

    def least(self, of, _visits, _chance):
        return of[0]

    def pick(self, _role, _chance):
        return self.nodes[0]

    def visit(self, what, whom):
        self.visited[what, whom] += 1

    def begin(self, _name, _seconds, end):
        self.ends.append(end)

    def note_crash(self):
        self.crashes += 1

    def until(self, is_so, _seconds):
        return bool(is_so())


def test_a_stop_is_cut_short_and_the_node_starts_at_once():
    stage = Stage()
    assert StopCutShort().fire(stage, random.Random(1))
    node = stage.nodes[0]
    assert node.done == ["stop"]
    assert not node.is_wanted
    (end,) = stage.ends
    assert end() is None
    assert node.done == ["stop", "kill", "launch"]
    assert node.is_wanted
    assert stage.crashes == 1


def test_leader_follower_and_controller_are_three_nodes():
    stage = Stage()
    for seed in range(20):
        partition, leader, follower, controller = pick_three(stage, random.Random(seed))
        assert leader.number == stage.state.leaders[partition]
        assert {leader.number, follower.number, controller.number} == {1, 2, 3}
        assert controller.number == 3


def test_nobody_is_picked_where_a_replica_is_out_of_sync_or_a_node_is_down():
    assert pick_three(Stage(isr=(1, 3)), random.Random(1)) is None
    assert pick_three(Stage(leaders=(3,) * PARTITIONS), random.Random(1)) is None
    stage = Stage()
    stage.nodes[1].is_running = False
    assert pick_three(stage, random.Random(1)) is None


def test_however_the_steps_end_all_are_back():
    stage = Stage()
    stage.nodes[1].is_running = False
    with pytest.raises(OSError, match="lost"), all_back(stage, stage.nodes):
        raise OSError("lost")
    assert [node.done for node in stage.nodes] == [["continue"], ["continue", "launch"], ["continue"]]


def test_a_leader_has_asked_where_its_log_says_so_since(tmp_path):
    log = tmp_path / "node.log"
    log.write_text("ISR change asked for partition=stable-1 isr=(1,) wanted=(1, 2)\n")
    node = SimpleNamespace(log=SimpleNamespace(path=log))
    assert has_asked(node, 0, 1)
    assert not has_asked(node, 0, 2)
    assert not has_asked(node, log.stat().st_size, 1)


def test_faults_that_take_a_cluster_to_themselves_fire_where_they_are_named():
    apart = {one.name for one in choose(["former", "disk-swapped", "slow-opening", "zookeeper-restored"])}
    assert len(apart) == 4
    assert not apart & {one.name for one in choose(())}
    assert "stop-cut-short" in {one.name for one in choose(())}

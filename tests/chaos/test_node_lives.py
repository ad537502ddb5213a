"""Lives of nodes: a stop that is cut short, which nodes have three roles, that each node that was stopped or killed is back."""

import random
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.chaos.cluster_campaign import choose
from tests.chaos.cluster_state import PartitionState
from tests.chaos.cluster_topics import PARTITIONS
from tests.chaos.node_lives import SHUTS_DOWN, StopCutShort, all_back, pick_three, says


class Lot(random.Random):
    """Always the same."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def random(self):
        return self.value


class Node:
    """One without processes."""

    kind, is_wanted = "headrace", True

    def __init__(self, number):
        self.number, self.done, self.is_running, self.stopped = number, [], True, set()
        self.log = SimpleNamespace()

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


@pytest.mark.parametrize("has_asked", [True, False])
def test_a_stop_is_cut_short_and_the_node_starts_at_once(tmp_path, has_asked):
    stage = Stage()
    node = stage.nodes[0]
    node.log.path = tmp_path / "node.log"
    node.log.path.write_text(f"{SHUTS_DOWN}, in a life before\n")
    assert StopCutShort(is_apart=False).fire(stage, Lot(0.1 if has_asked else 0.9))
    assert node.done == ["stop"]
    assert not node.is_wanted
    (end,) = stage.ends
    if has_asked:
        assert end() == 0.0
        node.log.path.write_text(f"before\n{'-' * 40} leaders {SHUTS_DOWN} tries=1\n")
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


def test_a_node_says_something_where_one_line_of_its_log_has_all_words_since(tmp_path):
    log = tmp_path / "node.log"
    log.write_text("ISR change requested partition=stable-1 isr=(1,) wanted=(1, 2)\nstable-2 \n")
    node = SimpleNamespace(log=SimpleNamespace(path=log))
    assert says(node, 0, "wanted=", "stable-1 ")
    assert not says(node, 0, "wanted=", "stable-2 ")
    assert not says(node, log.stat().st_size, "stable-1 ")


def test_faults_that_take_a_cluster_to_themselves_fire_where_they_are_named():
    apart = {one.name for one in choose(["former", "disk-swapped", "slow-opening", "zookeeper-restored"])}
    assert len(apart) == 4
    assert not apart & {one.name for one in choose(())}
    assert "stop-cut-short" in {one.name for one in choose(())}

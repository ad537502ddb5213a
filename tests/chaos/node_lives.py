"""Lives of a node that follow each other within one ZooKeeper session: what others keep of the one before has to end with it.

Used by: the cluster campaign. A step follows the other, each at a time by lot; whatever was stopped or killed is back in the end.

    stop-cut-short   SIGTERM, SIGKILL before the stop is over, a start at once: ISRs have to heal
    former-life      a leader is killed twice while what it asked for in its first life waits at a controller process that is stopped,
                     and a follower is stopped meanwhile
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

from tests.chaos.cluster_nodes import STOP_S, ClusterNode
from tests.chaos.cluster_stage import ROLES, ClusterFault, ClusterStage, is_free
from tests.chaos.cluster_state import PartitionState
from tests.chaos.cluster_topics import PARTITIONS, TOPIC

READY_S = 30.0  # for a node that starts
SESSION_MS = 15_000  # longer than a kill and a start on a busy machine
OUT_OF_ISR_S = 20.0  # replica.lag.time.max.ms and some
ELECTED_S = 40.0  # a session's timeout and some
STOP_STEPS_S = (
    0.05,
    0.3,
    1.0,
    3.0,
)  # until the SIGKILL: before it asks to be let go, when it asks, when its logs are closed
ASKED_S = 10.0
SHUTS_DOWN = "moved to other brokers"  # says a node whose controller lets it go
LONG_SESSION = MappingProxyType(
    {
        "zookeeper.session.timeout.ms": str(SESSION_MS),
        "replica.lag.time.max.ms": "2000",
        "headrace.worker.hang.timeout.ms": "120000",  # who is stopped here does not hang
    }
)


class StopCutShort(ClusterFault):
    """A stop that ends by SIGKILL, and a start at once."""

    def __init__(self, is_apart: bool) -> None:
        """is_apart: the cluster has to heal after each, while no other controller begins a term"""
        self.is_apart = is_apart
        self.name = "stop-cut-short-alone" if is_apart else "stop-cut-short"

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        roles = ROLES[:2] if self.is_apart else ROLES
        role = stage.least(roles, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or (self.is_apart and node.number == stage.state.controller()):
            return False
        stage.visit(self.name, role)
        node.is_wanted = False
        node.ask_to_stop()
        if chance.random() < 0.7:  # its leaders have moved, and its registration is about to go
            since, late = node.log.path.stat().st_size, time.monotonic() + STOP_S
            stage.begin(self.name, 0, partial(self._when_it_has_asked, stage, node, since, late))
        else:
            seconds = chance.choice(STOP_STEPS_S) * chance.uniform(0.5, 1.5)
            stage.begin(self.name, seconds, partial(self._cut_short, stage, node))
        return True

    def _when_it_has_asked(self, stage: ClusterStage, node: ClusterNode, since: int, late: float) -> float | None:
        if not says(node, since, SHUTS_DOWN) and node.is_running and time.monotonic() < late:
            return 0.0
        return self._cut_short(stage, node)

    @staticmethod
    def _cut_short(stage: ClusterStage, node: ClusterNode) -> None:
        down(stage, node)
        up(stage, node)


class FormerLife(ClusterFault):
    """AlterPartition of a life that is over: it waits at a controller process that is stopped, and its leader is back."""

    name, weight, is_apart, settings = "former-life", 1.0, True, LONG_SESSION

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if (chosen := pick_three(stage, chance)) is None:
            return False
        partition, leader, follower, controller = chosen
        with all_back(stage, chosen[1:]):
            workers = follower.children().get("partition", [])
            follower.stop_all(workers)
            if not stage.until(lambda: follower.number not in isr_of(stage, partition), OUT_OF_ISR_S):
                return False
            stage.sleep(chance.uniform(0.2, 1.5))
            controller.stop_all(controller.children().get("controller", []))
            asks = leader.log.path.stat().st_size
            follower.continue_all()
            if chance.random() < 0.7:  # it has caught up, and its leader asks for it
                stage.until(lambda: says(leader, asks, "wanted=", f"{TOPIC}-{partition} "), ASKED_S)
            stage.sleep(chance.uniform(0.1, 0.8))
            follower.stop_all(workers)
            down(stage, leader)
            up(stage, leader)
            stage.until(lambda: leader.wait_ready(0.05) == "ready", READY_S)
            stage.sleep(chance.uniform(0.5, 2.5))  # what it acknowledges now, the follower does not have
            down(stage, leader)
            controller.continue_all()
            stage.until(lambda: leads(stage, partition) not in (leader.number, None), ELECTED_S)
            follower.continue_all()
            stage.sleep(chance.uniform(0, 3))
        stage.visit(self.name, "leader")
        return True


def pick_three(stage: ClusterStage, chance: random.Random) -> tuple[int, ClusterNode, ClusterNode, ClusterNode] | None:
    """A partition with all replicas in sync, its leader, a follower, and the active controller, which does not lead it."""
    control = stage.state.controller()
    nodes = {node.number: node for node in stage.nodes if is_free(node)}
    for partition in chance.sample(range(PARTITIONS), PARTITIONS):
        state = stage.state.partition(TOPIC, partition)
        if state is None or len(nodes) < 3 or control not in nodes or state.leader in (control, -1):
            continue
        others = {*state.isr} - {state.leader, control}
        if len(state.isr) == len(stage.nodes) and others:
            return partition, nodes[state.leader], nodes[others.pop()], nodes[control]
    return None


def down(stage: ClusterStage, node: ClusterNode) -> None:
    """SIGKILL to all of it; it stays down."""
    node.is_wanted = False
    node.kill()
    stage.note_crash()


def up(stage: ClusterStage, node: ClusterNode) -> None:
    """Start it, without waiting."""
    node.launch()
    node.is_wanted = True


def ask_down(stage: ClusterStage, node: ClusterNode) -> None:
    """SIGTERM, and the end of the stop; it stays down."""
    node.is_wanted = False
    node.ask_to_stop()
    if not stage.until(lambda: not node.is_running, STOP_S):
        stage.notes[f"SIGTERM was not enough in {STOP_S:.0f} s"] += 1
        down(stage, node)


@contextmanager
def all_back(stage: ClusterStage, nodes: tuple[ClusterNode, ...] | list[ClusterNode]) -> Iterator[None]:
    """However the steps end: who was stopped goes on, and who was killed starts; they are ready within READY_S, or not."""
    try:
        yield
    finally:
        for node in nodes:
            node.continue_all()
            if not node.is_running:
                up(stage, node)
        stage.until(lambda: all(node.wait_ready(0.02) == "ready" for node in nodes), READY_S)


def isr_of(stage: ClusterStage, partition: int) -> tuple[int, ...]:
    """As ZooKeeper has it; nobody, where it does not say."""
    state = stage.state.partition(TOPIC, partition)
    return state.isr if state is not None else ()


def leads(stage: ClusterStage, partition: int) -> int | None:
    """Who does; None where nobody does, or says."""
    state: PartitionState | None = stage.state.partition(TOPIC, partition)
    return None if state is None or state.leader < 0 else state.leader


def says(node: ClusterNode, since: int, *words: str) -> bool:
    """Whether a line of a node's log, from a position on, has all of these."""
    with open(node.log.path, errors="replace") as log:
        log.seek(since)
        return any(all(word in line for word in words) for line in log)


LIFE_FAULTS: list[ClusterFault] = [StopCutShort(is_apart=False), StopCutShort(is_apart=True), FormerLife()]

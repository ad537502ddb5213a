"""ZooKeeper's backup is restored: partition states, and leader epochs, go back, while the logs of all nodes have gone on.

Used by: the cluster campaign.

    copy of its data | one node after the other is away for longer than its session, or a leader alone with what nobody else has:
    ISRs and leaders change, in later epochs | who is away at that moment stays so | the copy is put back | nodes go on or start again

What was acknowledged since may be gone where a node reports it; replicas have to be one log, whatever epochs were given twice.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from kazoo.handlers.threading import KazooTimeoutError

from tests.chaos.cluster_nodes import ClusterNode
from tests.chaos.cluster_stage import ClusterFault, ClusterStage
from tests.chaos.node_lives import ELECTED_S, all_back, down, isr_of, leads, pick_three, up


class RestoredZooKeeper(ClusterFault):
    """ZooKeeper has the states of some time ago."""

    name, weight, is_apart, may_lose = "zookeeper-restored", 1.0, True, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if (chosen := pick_three(stage, chance)) is None:
            return False
        partition = chosen[0]
        data = stage.directory / "zookeeper" / "data"
        copy = stage.directory / "zookeeper-copy"
        _copy(data, copy)
        with all_back(stage, stage.nodes):
            turns = chance.sample(stage.nodes, chance.randint(1, len(stage.nodes)))
            for node in turns:
                _away(stage, node, partition, chance, comes_back=node is not turns[-1])
            way = chance.choice(["go on", "controllers", "all"])
            _restore(stage, data, copy, way)
            if chance.random() < 0.5:
                stage.sleep(chance.uniform(0, 8))
            for node in stage.nodes:
                if not node.is_running:
                    up(stage, node)
            stage.until(lambda: leads(stage, partition) is not None, ELECTED_S)
            stage.sleep(chance.uniform(0, 4))
        stage.visit(self.name, f"nodes: {way}")
        return True


def _away(stage: ClusterStage, node: ClusterNode, partition: int, chance: random.Random, comes_back: bool) -> None:
    """A node is out of the ISRs, and others lead."""
    down(stage, node)
    stage.until(lambda: node.number not in isr_of(stage, partition), ELECTED_S)
    stage.sleep(chance.uniform(1, 4))
    if comes_back:
        up(stage, node)
        stage.until(lambda: node.number in isr_of(stage, partition), ELECTED_S)


def _restore(stage: ClusterStage, data: Path, copy: Path, way: str) -> None:
    """way   what becomes of the nodes: they go on, their controller processes start again, all of them does"""
    if way == "all":
        for node in stage.nodes:
            if node.is_running:
                down(stage, node)
    os.kill(stage.zookeeper.pid, signal.SIGKILL)
    stage.zookeeper.stop()
    shutil.rmtree(data)
    _copy(copy, data)
    stage.zookeeper.start()
    with suppress(KazooTimeoutError):
        stage.state.reopen()
    if way == "controllers":
        for node in stage.nodes:
            for pid in node.children().get("controller", []) if node.is_running else []:
                node.signal(pid, signal.SIGKILL)


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(source), str(target)], check=True)


RESTORE_FAULTS: list[ClusterFault] = [RestoredZooKeeper()]

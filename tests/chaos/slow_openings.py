"""Nodes that open their logs slowly, with more partitions than one LeaderAndIsr names, while a replica is held (docs/decisions/013).

Used by: the cluster campaign.

    a follower killed | what is acknowledged now it does not have | the other follower stops in order: the leader is the last in sync
    | its machine starts again, not a byte is lost | one of its workers is stopped while it opens logs | the others are back

Nothing may be lost: the one that leads has to be the one that had everything.
"""

from __future__ import annotations

import random
from types import MappingProxyType

from tests.chaos.cluster_nodes import ClusterNode
from tests.chaos.cluster_stage import ClusterFault, ClusterStage
from tests.chaos.cluster_topics import RoundTopic
from tests.chaos.lossy_disk import forget_boot
from tests.chaos.node_lives import ELECTED_S, all_back, ask_down, down, isr_of, leads, pick_three, up

MANY = RoundTopic("zz-many", 1000)
YOUNG_S = 20.0
MANY_READY_S = 60.0  # with so many logs
COMPARED_S = 150.0  # so many logs with those of two others, on a busy machine
SETTINGS = MappingProxyType(
    {
        "headrace.partitions.max": "2048",
        "headrace.worker.hang.timeout.ms": "600000",
        "auto.leader.rebalance.enable": "false",
        "unclean.recovery.timeout.ms": "300000",  # it waits for the one that is behind
    }
)


class SlowOpening(ClusterFault):
    """The last replica in sync is held, and its node takes long to open the rest of its logs."""

    name, weight, is_apart, settings, topics = "slow-opening", 1.0, True, SETTINGS, (MANY,)

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if (chosen := pick_three(stage, chance)) is None:
            return False
        partition, last = chosen[:2]
        behind, stopped = chance.sample([node for node in stage.nodes if node is not last], 2)
        with all_back(stage, stage.nodes):
            down(stage, behind)
            stage.until(lambda: behind.number not in isr_of(stage, partition), ELECTED_S)
            stage.until(lambda: leads(stage, partition) is not None, ELECTED_S)
            stage.sleep(chance.uniform(1, 3))
            ask_down(stage, stopped)
            stage.until(lambda: isr_of(stage, partition) == (last.number,), ELECTED_S)
            down(stage, last)
            forget_boot(last.log_dirs)
            up(stage, stopped)
            stage.sleep(chance.uniform(0, 4))
            up(stage, last)
            slow = self._slow(stage, last, chance)
            stage.until(lambda: leads(stage, partition) is None, ELECTED_S)
            stage.sleep(chance.uniform(0, 3))
            up(stage, behind)
            stage.until(lambda: behind.wait_ready(0.02) == "ready", MANY_READY_S)
            stage.until(lambda: leads(stage, partition) is not None, COMPARED_S)
            stage.sleep(chance.uniform(0, 2))
            last.continue_all(slow)
            stage.until(lambda: all(node.wait_ready(0.02) == "ready" for node in stage.nodes), MANY_READY_S)
        stage.visit(self.name, "last in sync")
        return True

    @staticmethod
    def _slow(stage: ClusterStage, node: ClusterNode, chance: random.Random) -> list[int]:
        """One of its partition workers, as soon as there are two, is stopped."""
        workers = int(node.settings["headrace.partition.workers"])
        stage.until(lambda: len(node.children().get("partition", [])) == workers, YOUNG_S)
        pids = node.children().get("partition", [])
        slow = [chance.choice(pids)] if pids else []
        node.stop_all(slow)
        return slow


SLOW_FAULTS: list[ClusterFault] = [SlowOpening()]

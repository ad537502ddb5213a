"""Leaders that were deposed with records that nobody else got, and are back when the machines of those that went on lost power.

Used by: the cluster campaign.

    both followers killed | the leader appends what it cannot acknowledge, and is killed | the followers lead, and acknowledge
    other records at those offsets | their machines lose power | all are back: the best log has parted from what was acknowledged

What was acknowledged may be gone; a report has to say so from an offset at or below each of it.
"""

from __future__ import annotations

import itertools
import random
import time

from tests.chaos.cluster_faults import lose_pages_of
from tests.chaos.cluster_nodes import ClusterNode
from tests.chaos.cluster_stage import ClusterFault, ClusterStage
from tests.chaos.cluster_topics import PARTITIONS, TOPIC
from tests.chaos.history import NO_OFFSET, Outcome, Send
from tests.chaos.node_lives import ELECTED_S, READY_S, all_back, down, leads, pick_three, up
from tests.chaos.raw_client import RawClient

ALONE = (10, 60)  # records of a partition
_numbers = itertools.count()


class DeposedLeader(ClusterFault):
    """One comes back when its successors lost what they had acknowledged."""

    name, weight, loses_pages, is_apart, may_lose = "deposed-leader", 1.0, True, True, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if stage.has_lost_power or (chosen := pick_three(stage, chance)) is None:
            return False
        partition, leader = chosen[:2]
        stage.has_lost_power = True
        others = chance.sample([node for node in stage.nodes if node is not leader], len(stage.nodes) - 1)
        with all_back(stage, stage.nodes):
            for node in others:
                down(stage, node)
            _write_alone(stage, leader, chance)  # it leads on until it has noticed that nobody fetches
            stage.sleep(chance.uniform(0, 1))
            down(stage, leader)
            for node in others:
                up(stage, node)
            stage.until(lambda: all(node.wait_ready(0.02) == "ready" for node in others), READY_S)
            stage.until(lambda: leads(stage, partition) not in (leader.number, None), ELECTED_S)
            stage.sleep(chance.uniform(0.5, 3))
            for node in others:
                down(stage, node)
            for node in others:
                lose_pages_of(stage, node, chance)
            for node in chance.sample(stage.nodes, len(stage.nodes)):
                up(stage, node)
                stage.sleep(chance.choice([0.0, chance.uniform(0, 3)]))
            stage.until(lambda: leads(stage, partition) is not None, ELECTED_S)
        stage.visit(self.name, "leader")
        return True


def _write_alone(stage: ClusterStage, leader: ClusterNode, chance: random.Random) -> None:
    """Records with acks=1, which nobody else gets; for the history their outcome is unknown."""
    raw = RawClient(lambda: leader.port, host=leader.host)
    for partition in range(PARTITIONS):
        if leads(stage, partition) != leader.number:
            continue
        values = tuple(f"alone-{next(_numbers)}" for _ in range(chance.randint(*ALONE)))
        began = time.monotonic()
        raw.produce(TOPIC, {partition: list(values)}, acks=1)
        now = time.monotonic()
        stage.history.add(Send("alone", TOPIC, 0, partition, values, Outcome.UNKNOWN, NO_OFFSET, began, now))
    raw.close()


DEPOSED_FAULTS: list[ClusterFault] = [DeposedLeader()]

"""Machines that lose power in turn, whatever became of the one before: ISRs shrink to the last replica, and that goes too.

Used by: `python -m tests.chaos.cluster_campaign --power-losses 200`, with --safe for headrace.flush.before.ack.
"""

from __future__ import annotations

import random

from tests.chaos.cluster_faults import lose_power_of
from tests.chaos.cluster_stage import ClusterFault, ClusterStage, duration_s

GAPS_S = (0.0, 0.0, 1.0, 4.0, 9.0)  # before the next one: at once, while others take over, when they have


class PowerInTurn(ClusterFault):
    """The node that lost power longest ago loses it."""

    name, loses_pages = "power-in-turn", True

    def __init__(self) -> None:
        self._turns: list[int] = []

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        stage.sleep(chance.choice(GAPS_S))
        free = stage.free_nodes()
        if not free:
            return False
        node = min(free, key=lambda one: self._turns.index(one.number) if one.number in self._turns else -1)
        self._turns = [*(number for number in self._turns if number != node.number), node.number]
        lose_power_of(stage, node, self.name, 0.0 if chance.random() < 0.3 else duration_s(chance), chance)
        return True

"""Disks of a cluster's nodes: one has no room for a while, or one of a node's two log directories fails.

Used by: the cluster campaign. What a full disk refuses is asked for again; a directory that has failed is used again in the node's next
life, as with Apache Kafka.
"""

from __future__ import annotations

import random
import time
from functools import partial

from tests.chaos.cluster_nodes import LOG_DIRS, STOP_S, ClusterNode
from tests.chaos.cluster_stage import ROLES, ClusterFault, ClusterStage, duration_s

STOP_POLL_S = 0.2


class DiskFull(ClusterFault):
    """A node's disk has no room; whatever else is on may happen to it meanwhile."""

    name, weight, needs_disk = "disk-full", 1.5, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        role = stage.least(ROLES, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or not node.has_disk or node.is_full:
            return False
        stage.visit(self.name, role)
        node.fill_disk()
        stage.begin(self.name, duration_s(chance), partial(self._end, stage, node))
        return True

    def _end(self, stage: ClusterStage, node: ClusterNode) -> float | None:
        """Apache Kafka takes a directory for failed once it had no room."""
        if node.is_full:
            node.empty_disk()
        return None if node.kind == "headrace" else restart(stage, node)


class LogDirFails(ClusterFault):
    """One of a node's log directories is gone; later it is back, and the node starts again."""

    name, weight = "log-dir-fails", 1.5

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        role = stage.least(ROLES, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or not node.has_all_log_dirs:
            return False
        stage.visit(self.name, role)
        node.take_log_dir(chance.randrange(len(LOG_DIRS)))
        stage.begin(self.name, duration_s(chance), _Return(stage, node, chance.random() < 0.5))
        return True


class _Return:
    """The end of a directory's failure: by SIGTERM, which is waited for, or by SIGKILL."""

    def __init__(self, stage: ClusterStage, node: ClusterNode, is_asked: bool) -> None:
        self._stage, self._node, self._is_asked = stage, node, is_asked
        self._asked_s: float | None = None

    def __call__(self) -> float | None:
        node = self._node
        if self._is_asked and self._asked_s is None and node.is_wanted and node.is_running:
            node.ask_to_stop()
            node.is_wanted = False
            self._asked_s = time.monotonic()
        if self._asked_s is None:
            return restart(self._stage, node)
        if node.is_running and time.monotonic() < self._asked_s + STOP_S:
            return STOP_POLL_S
        return restart(self._stage, node, is_ours=True)


def restart(stage: ClusterStage, node: ClusterNode, is_ours: bool = False) -> float | None:
    """Its log directories back in their places; None once that is done, else when to try again in seconds.

    is_ours   it is down, or on its way, because of us; elsewhere who holds a node down starts it again
    """
    if node.is_running:
        if not (node.is_wanted or is_ours):
            return STOP_POLL_S
        node.kill()
        stage.note_crash()
    node.put_log_dirs_back()
    if node.is_wanted or is_ours:
        node.launch()
        node.is_wanted = True
    return None


DISK_FAULTS: list[ClusterFault] = [DiskFull(), LogDirFails()]

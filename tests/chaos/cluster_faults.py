"""Faults of a cluster: nodes, single processes of a node, ZooKeeper and links; each lasts a while, and several are on at a time.

Used by: the cluster campaign.
"""

from __future__ import annotations

import random
import signal
import time
from functools import partial

from tests.chaos.cluster_nodes import STOP_S, ClusterNode
from tests.chaos.cluster_stage import ROLES, ClusterFault, ClusterStage, duration_s
from tests.chaos.lossy_disk import forget_boot, lose_unsynced
from tests.chaos.network_rooms import Room
from tests.chaos.running_node import WORKERS

STOP_POLL_S = 0.2


class KillNode(ClusterFault):
    """SIGKILL to a whole node; it starts again after a while."""

    def __init__(self, role: str, weight: float = 1.0) -> None:
        self.role, self.name, self.weight = role, f"kill-{role}", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(self.role, chance)
        if node is None:
            return False
        _kill(stage, node, self.name, 0.0 if chance.random() < 0.3 else duration_s(chance))
        return True


def _kill(stage: ClusterStage, node: ClusterNode, name: str, seconds: float) -> None:
    node.kill()
    node.is_wanted = False
    stage.begin(name, seconds, partial(_launch, node))


def _launch(node: ClusterNode) -> None:
    node.launch()
    node.is_wanted = True


class LosePower(ClusterFault):
    """A node goes like a machine without power: all of it is killed, and pages that were not synced are gone.

    Once between two moments at which the cluster is whole: what only the page caches of two machines have is gone with both.
    """

    loses_pages = True

    def __init__(self, role: str, weight: float = 1.0) -> None:
        self.role, self.name, self.weight = role, f"lose-power-{role}", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = None if stage.has_lost_power else stage.pick(self.role, chance)
        if node is None:
            return False
        stage.has_lost_power = True
        lose_power_of(stage, node, self.name, 0.0 if chance.random() < 0.3 else duration_s(chance), chance)
        return True


def lose_power_of(stage: ClusterStage, node: ClusterNode, name: str, seconds: float, chance: random.Random) -> None:
    """It starts again after so long."""
    _kill(stage, node, name, seconds)
    points = node.synced.read(node.log_dirs[0])
    stage.notes["files that lost pages"] += lose_unsynced(node.log_dirs, chance, points)
    forget_boot(node.log_dirs)


class StopNode(ClusterFault):
    """SIGTERM to a node; it starts again after a while."""

    def __init__(self, role: str, weight: float = 1.0) -> None:
        self.role, self.name, self.weight = role, f"stop-{role}", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(self.role, chance)
        if node is None:
            return False
        _stop(stage, node, self.name, duration_s(chance))
        return True


def _stop(stage: ClusterStage, node: ClusterNode, name: str, seconds: float) -> None:
    node.ask_to_stop()
    node.is_wanted = False
    began = time.monotonic()

    def end() -> float | None:
        if node.is_running:
            if time.monotonic() < began + STOP_S:
                return STOP_POLL_S
            stage.notes[f"SIGTERM was not enough in {STOP_S:.0f} s"] += 1
            node.kill()
        _launch(node)
        return None

    stage.begin(name, seconds, end)


class PauseNode(ClusterFault):
    """SIGSTOP to all processes of a node, SIGCONT after a while."""

    def __init__(self, role: str, weight: float = 1.0) -> None:
        self.role, self.name, self.weight = role, f"pause-{role}", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(self.role, chance)
        if node is None:
            return False
        _pause(stage, node, node.pids(), self.name, duration_s(chance))
        return True


def _pause(stage: ClusterStage, node: ClusterNode, pids: list[int], name: str, seconds: float) -> None:
    node.stop_all(pids)
    stage.begin(name, seconds, partial(node.continue_all, pids))


class AllAtOnce(ClusterFault):
    """The same to every node that runs, in one moment."""

    def __init__(self, what: str, weight: float) -> None:
        self.what, self.name, self.weight = what, f"{what}-all", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        nodes = stage.free_nodes()
        if len(nodes) < 2:
            return False
        for node in nodes:
            seconds = chance.uniform(0.1, 3)
            if self.what == "kill":
                _kill(stage, node, self.name, seconds)
            elif self.what == "stop":
                _stop(stage, node, self.name, seconds)
            else:
                _pause(stage, node, node.pids(), self.name, duration_s(chance))
        return True


class KillWorker(ClusterFault):
    """SIGKILL to one process of a node, whose supervisor starts it again."""

    needs_workers = True

    def __init__(self, worker: str, weight: float = 1.0) -> None:
        self.worker, self.name, self.weight = worker, f"kill-{worker}-process", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(chance.choice(ROLES), chance)
        pids = node.children().get(self.worker) if node else None
        if not node or not pids:
            return False
        stage.begin(self.name, 0.5, lambda: None)
        return node.signal(chance.choice(pids), signal.SIGKILL)


class PauseWorker(ClusterFault):
    """SIGSTOP to one process of a node, SIGCONT after a while."""

    needs_workers = True

    def __init__(self, worker: str, weight: float = 1.0) -> None:
        self.worker, self.name, self.weight = worker, f"pause-{worker}-process", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(chance.choice(ROLES), chance)
        pids = node.children().get(self.worker) if node else None
        if not node or not pids:
            return False
        _pause(stage, node, [chance.choice(pids)], self.name, duration_s(chance))
        return True


class ZooKeeperAway(ClusterFault):
    """ZooKeeper is killed and started again, or stopped for a while."""

    def __init__(self, what: str, weight: float = 1.0) -> None:
        self.what, self.name, self.weight = what, f"{what}-zookeeper", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if not stage.is_zookeeper_up:
            return False
        stage.signal_zookeeper(signal.SIGKILL if self.what == "kill" else signal.SIGSTOP)
        if self.what == "kill":
            stage.begin(self.name, duration_s(chance), stage.start_zookeeper)
        else:
            stage.begin(self.name, duration_s(chance), partial(stage.signal_zookeeper, signal.SIGCONT))
        return True


class Cut(ClusterFault):
    """A node does not hear a peer, or neither hears the other.

    peers     whom a node is cut off from: one other node, all others, ZooKeeper, its clients, or all but its clients
    one_way   it does not hear them, or they don't hear it
    """

    needs_network = True

    def __init__(self, peers: str, one_way: bool, weight: float = 1.0) -> None:
        self.peers, self.one_way, self.weight = peers, one_way, weight
        self.name = f"cut{'-one-way' if one_way else ''}-{peers}"

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(chance.choice(ROLES), chance)
        if node is None or node.room is None:
            return False
        ways = [chance.choice([True, False])] if self.one_way else [True, False]
        rules = [
            node.room.deaf(peer) if is_deaf else node.room.mute(peer)
            for peer in _peers(stage, node, self.peers, chance)
            for is_deaf in ways
        ]
        stage.begin(self.name, duration_s(chance), partial(_mend, node.room, rules))
        return True


class Lossy(ClusterFault):
    """A share of the packets from one node to another, or to all, is lost."""

    name, weight, needs_network = "lossy-link", 1.0, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(chance.choice(ROLES), chance)
        if node is None or node.room is None:
            return False
        percent = chance.randint(3, 40)
        peers = _peers(stage, node, chance.choice(["node", "nodes", "clients", "zookeeper"]), chance)
        rules = [node.room.deaf(peer, percent) for peer in peers]
        stage.begin(self.name, duration_s(chance), partial(_mend, node.room, rules))
        return True


class Slow(ClusterFault):
    """What a node sends leaves at a modem's speed."""

    name, weight, needs_network = "slow-link", 1.0, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(chance.choice(ROLES), chance)
        if node is None or node.room is None or node.room.is_slow:
            return False
        node.room.slow(chance.choice([64, 256, 1000, 4000]))
        stage.begin(self.name, duration_s(chance), node.room.fast)
        return True


class Late(ClusterFault):
    """What a node sends is late by a time by lot, so packets overtake each other; some come twice."""

    name, weight, needs_network = "late-link", 1.0, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(chance.choice(ROLES), chance)
        if node is None or node.room is None or node.room.holds_back:
            return False
        most_ms = chance.choice([5, 50, 300])
        node.room.hold_back(chance.uniform(0, most_ms / 2), most_ms, chance.choice([0, 0, 5]))
        stage.begin(self.name, duration_s(chance), node.room.let_go)
        return True


def _peers(stage: ClusterStage, node: ClusterNode, which: str, chance: random.Random) -> list[str]:
    """Addresses."""
    assert stage.networks is not None
    others = [other.host for other in stage.nodes if other is not node]
    clients, zookeeper = [stage.networks.clients], [stage.networks.zookeeper]
    return {
        "node": [chance.choice(others)],
        "nodes": others,
        "clients": clients,
        "zookeeper": zookeeper,
        "cluster": others + zookeeper,  # it goes on serving clients, alone
        "everybody": others + zookeeper + clients,
    }[which]


def _mend(room: Room, rules: list[int]) -> None:
    for rule in rules:
        room.mend(rule)


CLUSTER_FAULTS: list[ClusterFault] = [
    *(KillNode(role, 1.5) for role in ROLES),
    *(StopNode(role) for role in ROLES),
    *(PauseNode(role, 1.5) for role in ROLES),
    *(LosePower(role) for role in ROLES),
    AllAtOnce("kill", 0.7),
    AllAtOnce("stop", 0.3),
    AllAtOnce("pause", 0.5),
    *(KillWorker(worker, 1.5) for worker in WORKERS),
    *(PauseWorker(worker, 1.0) for worker in WORKERS),
    ZooKeeperAway("kill", 1.0),
    ZooKeeperAway("pause", 1.0),
    *(
        Cut(peers, one_way)
        for peers in ("node", "nodes", "zookeeper", "clients", "cluster")
        for one_way in (False, True)
    ),
    Cut("everybody", False),
    Lossy(),
    Slow(),
    Late(),
]

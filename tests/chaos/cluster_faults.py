"""Faults of a cluster: nodes, single processes of a node, ZooKeeper and links; each lasts a while, and several are on at a time.

Used by: the cluster campaign. Each notes what it did to whom (`ClusterStage.visit`), so that a campaign can tell what it visited.
"""

from __future__ import annotations

import random
import signal
import time
from functools import partial

from tests.chaos.cluster_nodes import STOP_S, ClusterNode
from tests.chaos.cluster_stage import LOST_PAGES, ROLES, ClusterFault, ClusterStage, duration_s
from tests.chaos.lossy_disk import forget_boot, lose_unsynced
from tests.chaos.network_rooms import Room
from tests.chaos.running_node import ROLES as PROCESSES
from tests.chaos.running_node import WORKERS

STOP_POLL_S = 0.2
EVERYBODY = "all"
SIGNALS = {"kill": "SIGKILL", "stop": "SIGTERM", "pause": "SIGSTOP"}


class KillNode(ClusterFault):
    """SIGKILL to a whole node; it starts again after a while."""

    def __init__(self, role: str, weight: float = 1.0) -> None:
        self.role, self.name, self.weight = role, f"kill-{role}", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        node = stage.pick(self.role, chance)
        if node is None:
            return False
        _kill(stage, node, self.name, 0.0 if chance.random() < 0.3 else duration_s(chance))
        stage.visit("SIGKILL node", self.role)
        return True


def _kill(stage: ClusterStage, node: ClusterNode, name: str, seconds: float) -> None:
    node.kill()
    node.is_wanted = False
    stage.note_crash()
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
    lose_pages_of(stage, node, chance)


def lose_pages_of(stage: ClusterStage, node: ClusterNode, chance: random.Random) -> None:
    """Of a node that was killed: pages that were not synced are gone, and its machine began a new life."""
    points = node.synced.read(node.first_log_dir)
    stage.notes[LOST_PAGES] += lose_unsynced(node.log_dirs, chance, points)
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
        stage.visit("SIGTERM node", self.role)
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
            stage.note_crash()
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
        stage.visit("SIGSTOP node", self.role)
        return True


def _pause(stage: ClusterStage, node: ClusterNode, pids: list[int], name: str, seconds: float) -> None:
    node.stop_all(pids)
    stage.begin(name, seconds, partial(node.continue_all, pids))


class AllAtOnce(ClusterFault):
    """The same to every node that runs, in one moment; ZooKeeper is killed with them, where wanted."""

    def __init__(self, what: str, weight: float, with_zookeeper: bool = False) -> None:
        self.what, self.weight, self.with_zookeeper = what, weight, with_zookeeper
        self.name = f"{what}-{'everything' if with_zookeeper else EVERYBODY}"

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        nodes = stage.free_nodes()
        if len(nodes) < 2 or (self.with_zookeeper and not stage.is_zookeeper_up):
            return False
        if self.with_zookeeper:
            _kill_zookeeper(stage, self.name, chance.uniform(0.1, 3))
        for node in nodes:
            seconds = chance.uniform(0.1, 3)
            if self.what == "kill":
                _kill(stage, node, self.name, seconds)
            elif self.what == "stop":
                _stop(stage, node, self.name, seconds)
            else:
                _pause(stage, node, node.pids(), self.name, duration_s(chance))
        stage.visit(f"{SIGNALS[self.what]} node", "all and ZooKeeper" if self.with_zookeeper else EVERYBODY)
        return True


class SignalProcess(ClusterFault):
    """A signal to one process of a node; its supervisor starts it again, or it goes on after a while.

    role   of the node; EVERYBODY: the same process of every node, in one moment
    """

    needs_workers = True

    def __init__(self, what: str, role: str, weight: float = 1.0) -> None:
        self.what, self.role, self.weight = what, role, weight
        self.name = f"{what}-process-{role}"

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        processes = PROCESSES if self.what == "pause" else WORKERS
        process = stage.least(processes, self._visit, chance)
        nodes = stage.free_nodes() if self.role == EVERYBODY else [stage.pick(self.role, chance)]
        found = {node: pids for node in nodes if node is not None and (pids := node.children().get(process))}
        if not found or (self.role == EVERYBODY and len(found) < 2):
            return False
        seconds = duration_s(chance)
        for node, pids in found.items():
            pid = chance.choice(pids)
            if self.what == "pause":
                _pause(stage, node, [pid], self.name, seconds)
            else:
                node.log.killed.add(pid)
                node.signal(pid, signal.SIGKILL if self.what == "kill" else signal.SIGTERM)
        if self.what != "pause":
            stage.begin(self.name, 0.5, lambda: None)
        stage.visit(*self._visit(process))
        return True

    def _visit(self, process: str) -> tuple[str, str]:
        return f"{SIGNALS[self.what]} {process} process", self.role


class ZooKeeperAway(ClusterFault):
    """ZooKeeper ends, by SIGKILL or SIGTERM, and is started again, or it is stopped for a while."""

    def __init__(self, what: str, weight: float = 1.0) -> None:
        self.what, self.name, self.weight = what, f"{what}-zookeeper", weight

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        if not stage.is_zookeeper_up:
            return False
        if self.what == "pause":
            stage.signal_zookeeper(signal.SIGSTOP)
            stage.begin(self.name, duration_s(chance), partial(stage.signal_zookeeper, signal.SIGCONT))
        else:
            number = signal.SIGKILL if self.what == "kill" else signal.SIGTERM
            _kill_zookeeper(stage, self.name, duration_s(chance), number)
        stage.visit(SIGNALS[self.what], "ZooKeeper")
        return True


def _kill_zookeeper(stage: ClusterStage, name: str, seconds: float, number: int = signal.SIGKILL) -> None:
    stage.signal_zookeeper(number)
    stage.begin(name, seconds, stage.start_zookeeper)


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
        role = stage.least(ROLES, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or node.room is None:
            return False
        stage.visit(self.name, role)
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
        role = stage.least(ROLES, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or node.room is None:
            return False
        stage.visit(self.name, role)
        percent = chance.randint(3, 40)
        peers = _peers(stage, node, chance.choice(["node", "nodes", "clients", "zookeeper"]), chance)
        rules = [node.room.deaf(peer, percent) for peer in peers]
        stage.begin(self.name, duration_s(chance), partial(_mend, node.room, rules))
        return True


class Slow(ClusterFault):
    """What a node sends leaves at a modem's speed."""

    name, weight, needs_network = "slow-link", 1.0, True

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        role = stage.least(ROLES, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or node.room is None or node.room.is_slow:
            return False
        stage.visit(self.name, role)
        node.room.slow(chance.choice([64, 256, 1000, 4000]))
        stage.begin(self.name, duration_s(chance), node.room.fast)
        return True


class Late(ClusterFault):
    """What a node sends is late: all of it by the same time, or each packet by one by lot, so that packets overtake each other;
    of those some come twice."""

    needs_network = True

    def __init__(self, overtakes: bool) -> None:
        self.overtakes, self.name = overtakes, "reordered-link" if overtakes else "late-link"

    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        role = stage.least(ROLES, lambda role: (self.name, role), chance)
        node = stage.pick(role, chance)
        if node is None or node.room is None or node.room.holds_back:
            return False
        stage.visit(self.name, role)
        most_ms = chance.choice([5, 50, 300])
        least_ms = chance.uniform(0, most_ms / 2) if self.overtakes else most_ms
        node.room.hold_back(least_ms, most_ms, chance.choice([0, 0, 5]) if self.overtakes else 0)
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
    AllAtOnce("kill", 0.3, with_zookeeper=True),
    *(SignalProcess("kill", role, 1.5) for role in (*ROLES, EVERYBODY)),
    *(SignalProcess("stop", role) for role in (*ROLES, EVERYBODY)),
    *(SignalProcess("pause", role) for role in (*ROLES, EVERYBODY)),
    *(ZooKeeperAway(what) for what in SIGNALS),
    *(
        Cut(peers, one_way)
        for peers in ("node", "nodes", "zookeeper", "clients", "cluster")
        for one_way in (False, True)
    ),
    Cut("everybody", False),
    Lossy(),
    Slow(),
    Late(overtakes=False),
    Late(overtakes=True),
]

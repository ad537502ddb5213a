"""A cluster under faults: its nodes, its ZooKeeper, its networks; whom a role means at the moment; which faults are on.

Used by: the cluster campaign and its faults. The main thread begins and ends faults, and starts everything.
"""

from __future__ import annotations

import os
import random
import signal
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.chaos.cluster_nodes import ClusterNode
from tests.chaos.cluster_state import ClusterState
from tests.chaos.cluster_topics import PARTITIONS, TOPIC, RoundTopic
from tests.chaos.history import Crash, History
from tests.chaos.judge import Anomaly
from tests.chaos.load import Client
from tests.chaos.network_rooms import Networks
from tests.chaos.replica_mover import ReplicaMover
from tests.chaos.topic_churn import TopicChurn

LOST_PAGES = "files that lost pages"  # a note
ROLES = ("leader", "follower", "controller")
TICK_S = 0.05
HEAL_S = 120.0  # until every fault has ended, a SIGTERM included


@dataclass
class Active:
    """A fault that is on.

    end   ends it; returns None where it has, else when to try again in seconds
    """

    name: str
    due: float
    end: Callable[[], float | None]


@dataclass
class ClusterStage:
    """One round's cluster and who uses it."""

    directory: Path
    chance: random.Random
    nodes: list[ClusterNode]
    zookeeper: EmbeddedZooKeeper
    state: ClusterState
    history: History
    networks: Networks | None = None
    clients: list[Client] = field(default_factory=list)
    churned: list[TopicChurn] = field(default_factory=list)
    mover: ReplicaMover | None = None
    active: list[Active] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    visited: Counter[tuple[str, str]] = field(default_factory=Counter)  # what was done to whom
    is_zookeeper_up: bool = True
    has_lost_power: bool = False  # a node has, since the cluster was whole

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)

    def blame(self, kind: str, text: str) -> None:
        self.anomalies.append(Anomaly(kind, text))

    # What was done

    def visit(self, what: str, whom: str) -> None:
        """A fault was fired at somebody."""
        self.visited[what, whom] += 1

    def least(self, of: Sequence[str], visits: Callable[[str], tuple[str, str]], chance: random.Random) -> str:
        """One that was visited least; by lot, where there are several.

        visits   how `visit` names one
        """
        return min(chance.sample(of, len(of)), key=lambda one: self.visited[visits(one)])

    def note_fired(self) -> None:
        """Count what else goes on at this moment."""
        self.visited["any fault", f"{len(self.active)} on at a time"] += 1
        if self.mover is not None and self.mover.is_moving:
            self.visited["any fault", "while replicas move"] += 1
        if any(not one.is_there for one in self.churned):
            self.visited["any fault", "while a topic comes or goes"] += 1

    def note_crash(self) -> None:
        """A node was killed: deleted records may come back from where its checkpoint of log starts is, or another one's."""
        starts = [node.log_starts() if node.kind == "headrace" else {} for node in self.nodes]
        everywhere = set.intersection(*(set(one) for one in starts))
        self.history.add(Crash(time.monotonic(), {name: min(one[name] for one in starts) for name in everywhere}))

    # Whom to hit

    def pick(self, role: str, chance: random.Random) -> ClusterNode | None:
        """A node in this role that nobody holds down or stopped; None where there is none, or nobody knows."""
        partition = chance.randrange(PARTITIONS)
        if role == "controller":
            ids = {self.state.controller()}
        else:
            state = self.state.partition(TOPIC, partition)
            ids = set() if state is None else {state.leader} if role == "leader" else {*state.isr} - {state.leader}
        fit = [node for node in self.nodes if node.number in ids and is_free(node)]
        return chance.choice(fit) if fit else None

    def free_nodes(self) -> list[ClusterNode]:
        return [node for node in self.nodes if is_free(node)]

    # Faults over time

    def begin(self, name: str, seconds: float, end: Callable[[], float | None]) -> None:
        self.active.append(Active(name, time.monotonic() + seconds, end))

    def run_due(self, everything: bool = False) -> None:
        now = time.monotonic()
        for one in [one for one in self.active if everything or one.due <= now]:
            wait_s = one.end()
            if wait_s is None:
                self.active.remove(one)
            else:
                one.due = time.monotonic() + wait_s

    def sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, TICK_S))
            self.run_due()

    def until(self, is_so: Callable[[], object], seconds: float) -> bool:
        """Wait for something, so long at most, while faults go on; whether it came."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                return False
            self.sleep(TICK_S)
        return True

    def heal(self) -> float:
        """End all faults; returns the time from which nothing holds the cluster back: the last node takes connections."""
        deadline = time.monotonic() + HEAL_S
        while self.active and time.monotonic() < deadline:
            self.run_due(everything=True)
            time.sleep(TICK_S)
        for one in self.active:
            self.blame("campaign", f"{one.name} did not come to its end")
        waiting = list(self.nodes)
        while waiting and time.monotonic() < deadline:
            self.restart_dead()
            waiting = [node for node in waiting if node.wait_ready(0.2) != "ready"]
        for node in waiting:
            self.blame("not-ready", f"node {node.number} is not ready; {node.log.last_error}")
        return time.monotonic()

    def restart_dead(self) -> None:
        """A node that ended by itself is started again, as systemd would do; ours has to say why."""
        for node in self.nodes:
            if not node.is_wanted or node.is_running:
                continue
            assert node.process is not None
            code = node.process.returncode
            node.log.look()
            if node.ends_by_itself:
                self.notes[f"{node.kind} ended with {code}, by itself"] += 1
            elif node.is_full:
                self.notes[f"{node.kind} ended with {code}, its disk full"] += 1
            else:
                self.blame("node-died", f"node {node.number} ended with {code}: {node.log.last_error}")
            node.launch()

    # ZooKeeper

    def signal_zookeeper(self, number: int) -> None:
        os.kill(self.zookeeper.pid, number)
        self.is_zookeeper_up = number == signal.SIGCONT

    def start_zookeeper(self) -> None:
        self.zookeeper.stop()
        self.zookeeper.start()
        self.is_zookeeper_up = True


def is_free(node: ClusterNode) -> bool:
    """Whether its processes can be hit: it runs, nobody holds it down, nothing of it is stopped."""
    return node.is_wanted and node.is_running and not node.stopped


class ClusterFault(ABC):
    """A kind of fault.

    weight          how often it is drawn, against the others
    needs_network   it needs networks of our own
    needs_disk      it needs nodes with disks of their own
    needs_workers   it needs nodes that consist of several processes
    loses_pages     a node loses what it did not sync
    is_apart        it fires only where it is named: it takes a cluster to itself for a while, one step after the other
    may_lose        acknowledged records may be lost, where a node reports it
    settings        of all nodes, in a round that has it
    topics          that a round has for it, beside the usual ones
    """

    name: str
    weight: float = 1.0
    needs_network = False
    needs_disk = False
    needs_workers = False
    loses_pages = False
    is_apart = False
    may_lose = False
    settings: Mapping[str, str] = MappingProxyType({})
    topics: Sequence[RoundTopic] = ()

    @abstractmethod
    def fire(self, stage: ClusterStage, chance: random.Random) -> bool:
        """Let it begin; False where it could not."""


def duration_s(chance: random.Random) -> float:
    """Of a fault: mostly below a session's timeout, sometimes above it."""
    return chance.choices([chance.uniform(0.2, 1.5), chance.uniform(1.5, 5), chance.uniform(7, 12)], [6, 3, 2])[0]

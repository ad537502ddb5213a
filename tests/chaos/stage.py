"""Everything that a fault can lay hands on: the node, its ZooKeeper, the clients; and what a fault is.

Used by: the campaign and all faults. The main thread fires faults: LIGHT ones at once, HEAVY ones while nothing else fires;
a JOB runs in a thread beside further faults.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from tests.chaos.history import CleanStop, Crash, History
from tests.chaos.judge import Anomaly
from tests.chaos.load import Client
from tests.chaos.prober import Prober
from tests.chaos.running_node import Node
from tests.chaos.tcp_proxy import TcpProxy
from tests.chaos.topic_clients import TopicClient

JOBS_MAX = 3
DRAIN_S = 60.0


class Kind(Enum):
    LIGHT = "light"
    JOB = "job"
    HEAVY = "heavy"


@dataclass
class Orphan:
    """A topic that ZooKeeper was made to forget: its files have to stay."""

    topic: str
    values: list[str]


@dataclass
class Stage:
    """One round's node and who uses it."""

    directory: Path
    chance: random.Random
    node: Node
    zookeeper: EmbeddedZooKeeper
    proxy: TcpProxy
    history: History
    prober: Prober
    churned: list[TopicClient] = field(default_factory=list)
    trimmed: list[TopicClient] = field(default_factory=list)
    resting: list[TopicClient] = field(default_factory=list)
    others: list[Client] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    damaged: set[str] = field(default_factory=set)  # znodes that are, at the moment
    is_ending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._later: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._jobs: list[Future[object]] = []
        self._executor = ThreadPoolExecutor(JOBS_MAX, thread_name_prefix="fault")

    @property
    def everyone(self) -> list[Client]:
        return [self.prober, *self.churned, *self.trimmed, *self.others]

    def number(self) -> int:
        """One that was not drawn before, for names."""
        return next(self._numbers)

    def watch_from(self, fault: str, since: float) -> None:
        """The node owes its service after a fault."""
        self.prober.watch(fault, since)

    # What is done later, in the main thread

    def later(self, delay_s: float, action: Callable[[], object]) -> None:
        heapq.heappush(self._later, (time.monotonic() + delay_s, next(self._numbers), action))

    def run_due(self, everything: bool = False) -> None:
        while self._later and (everything or self._later[0][0] <= time.monotonic()):
            heapq.heappop(self._later)[2]()

    def sleep(self, seconds: float) -> None:
        """Sleep, and do what comes due."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.run_due()
            due_in = self._later[0][0] - time.monotonic() if self._later else left
            time.sleep(max(0.0, min(left, due_in, 0.05)))
        self.run_due()

    # Jobs

    @property
    def has_room_for_a_job(self) -> bool:
        self._jobs = [job for job in self._jobs if not job.done()]
        return len(self._jobs) < JOBS_MAX

    def submit(self, job: Callable[[], object]) -> None:
        self._jobs.append(self._executor.submit(job))

    def drain(self, timeout_s: float = DRAIN_S) -> bool:
        """Wait for all jobs; False where some are late."""
        deadline = time.monotonic() + timeout_s
        while not all(job.done() for job in self._jobs) and time.monotonic() < deadline:
            self.sleep(0.02)
        return all(job.done() for job in self._jobs)

    def close(self) -> None:
        self.is_ending.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    # The node

    def kill_tree(self) -> None:
        """SIGKILL to everything, and what was on disk then."""
        self.node.kill_tree()
        self.history.add(Crash(time.monotonic(), self.node.log_starts()))

    def stop_node(self) -> int:
        """SIGTERM to a node that serves; returns its exit code."""
        code = self.node.stop()
        if code == 0:
            self.history.add(CleanStop(time.monotonic()))
        else:
            self.history.add(Crash(time.monotonic(), self.node.log_starts()))
        return code

    def blame(self, kind: str, text: str) -> None:
        """An anomaly that no history tells."""
        self.anomalies.append(Anomaly(kind, text))


class Fault(ABC):
    """A kind of fault.

    weight       how often it is drawn, against the others
    is_private   it needs mounts of the node's own
    needs_shim   it needs a node that sees the machine by a shim
    is_apart     it fires only where it is named
    settings     of the node, in a round that has it
    """

    name: str
    weight: float
    kind = Kind.LIGHT
    is_private = False
    needs_shim = False
    is_apart = False
    settings: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def fire(self, stage: Stage, chance: random.Random) -> float | None:
        """Let it happen; the time from which service is owed, None where it could not happen."""

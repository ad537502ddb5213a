"""The clusters of the mirror's campaign: one node of ours or several, or an Apache Kafka of some release.

Used by: the mirror's campaign. What is killed comes back by itself, on the same address: a supervisor starts its processes again, and
`headrace dev` its nodes and its ZooKeeper. Apache's servers are not killed: nothing would start them again.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from abc import ABC, abstractmethod
from pathlib import Path

from headrace.protocol.compression import Codec
from tests.conftest import RunningNode, start_node
from tests.interop.kafka_servers import RELEASES, serve

HEADRACE = "headrace"
KINDS = (HEADRACE, *RELEASES)
WITHOUT_HEADERS = "kafka-0.10.2"  # nor zstd
ZSTD_FROM = ("kafka-2.8", "kafka", "kafka-4.1")
PROCESS, ZOOKEEPER, NODE = "process", "zookeeper", "node"
OF_NODE = "hr-node-"  # the name of a supervisor among several nodes
SETTINGS = (
    "headrace.network.workers=1",
    "offsets.topic.num.partitions=2",
    f"log.retention.check.interval.ms={24 * 3_600_000}",
    "group.initial.rebalance.delay.ms=0",
)
SETTINGS_OF_ONE = ("headrace.partition.workers=2",)
SETTINGS_OF_SEVERAL = (
    "default.replication.factor=3",
    "min.insync.replicas=2",
    "offsets.topic.replication.factor=3",
    "leader.imbalance.check.interval.seconds=5",  # so that leaders go back while the mirror copies
)


class Side(ABC):
    """A source or a target, from `start` to `stop`."""

    codecs: tuple[Codec, ...] = tuple(Codec)
    has_headers = True
    replication_factor = 1
    victims: tuple[str, ...] = ()  # what `kill` takes
    bootstrap = ""

    @abstractmethod
    def start(self) -> None:
        """Returns when it serves."""

    @abstractmethod
    def stop(self) -> None: ...

    def kill(self, victim: str, chance: random.Random) -> None:
        """SIGKILL to one of this kind."""
        raise AssertionError(f"{victim} of {self.bootstrap} can't be killed")


class HeadraceSide(Side):
    """Nodes of ours, with a ZooKeeper."""

    def __init__(self, directory: Path, brokers: int) -> None:
        self._directory = directory
        self._brokers = brokers
        self._running: RunningNode | None = None
        self.replication_factor = min(3, brokers)
        self.victims = (PROCESS, ZOOKEEPER, NODE) if brokers > 1 else (PROCESS, ZOOKEEPER)

    def start(self) -> None:
        several = self._brokers > 1
        settings = (*SETTINGS, *(SETTINGS_OF_SEVERAL if several else SETTINGS_OF_ONE))
        self._running = start_node(self._directory, *settings, nodes=self._brokers if several else None)
        self.bootstrap = self._running.bootstrap

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()

    def kill(self, victim: str, chance: random.Random) -> None:
        found = self._pids(victim)
        if found:  # else it is about to start again
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(found), signal.SIGKILL)

    def _pids(self, victim: str) -> list[int]:
        """Sorted by name, so that a seed picks the same one."""
        assert self._running is not None
        named: list[tuple[str, int]] = []
        for name, pid in _children(self._running.process.pid):
            if name.startswith(OF_NODE):
                named += [(NODE, pid)] if victim == NODE else []
                named += [(f"{name} {one}", child) for one, child in _children(pid) if victim == PROCESS]
            elif victim == (ZOOKEEPER if name == "java" else PROCESS):
                named.append((name, pid))
        return [pid for _name, pid in sorted(named)]


class KafkaSide(Side):
    """One Apache Kafka, with a ZooKeeper or KRaft as its release has it."""

    def __init__(self, directory: Path, release: str) -> None:
        self._directory = directory
        self._release = release
        self._stack = contextlib.ExitStack()
        self.has_headers = release != WITHOUT_HEADERS
        self.codecs = tuple(codec for codec in Codec if codec is not Codec.ZSTD or release in ZSTD_FROM)

    def start(self) -> None:
        self.bootstrap = self._stack.enter_context(serve(self._release, self._directory))

    def stop(self) -> None:
        self._stack.close()


def side(kind: str, directory: Path, brokers: int) -> Side:
    """kind   one of KINDS"""
    return HeadraceSide(directory, brokers) if kind == HEADRACE else KafkaSide(directory, kind)


def _children(pid: int) -> list[tuple[str, int]]:
    """(name, pid) of the children of a process, without those that are just coming or going."""
    found = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with contextlib.suppress(OSError):
                found.append((Path(f"/proc/{child}/comm").read_text().strip(), int(child)))
    return found

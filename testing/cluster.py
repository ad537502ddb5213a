"""A cluster of real nodes for a test, and what a test may do to it.

    with KafkaCluster(3) as kafka:
        kafka.create_topic("orders", partitions=3, replication_factor=3)
        kafka.kill("node", node=1)
        kafka.records("orders")

Every node is what `headrace start` runs: processes of its own, logs on disk, in a temporary directory that goes with the cluster.
Below them is the ZooKeeper in Python. A node that is killed stays dead until `restart`; a process of a node that is killed is started
again by its supervisor, as in production. Addresses don't change.

Runs in: the test process. The nodes' parent is the keeper (`keeper.py`).
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, Self

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.client.failures import WaitTimedOut
from headrace.client.kafka import Kafka
from headrace.client.range_reader import read_ranges
from headrace.errors import ConfigError, HeadraceError
from headrace.ids import TopicPartition
from headrace.limits import TESTING_CLIENT_WAIT_MS_MAX
from headrace.testing.connections import cut_connections
from headrace.testing.keeper_client import TestingFailed, keeper
from headrace.testing.processes import children_of, is_alive, title_of
from headrace.testing.settings import settings_of

NODE: Final = "node"
ROLES: Final = ("network", "partition", "controller", "housekeeper")
POLL_S: Final = 0.005
REQUEST_S: Final = 5.0
PREFIX: Final = "headrace-testing-"

_numbers = count()


class WrittenRecord(NamedTuple):
    """A record as it is in a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(slots=True)
class Node:
    """One node, as the cluster knows it."""

    settings: dict[str, str]
    address: str = ""
    pid: int = 0  # of its supervisor; 0 while it does not run
    processes: int = 0  # when it was ready


class KafkaCluster:
    """Nodes that serve from `start` to `stop`.

    nodes      how many
    settings   of each node, Kafka's own keys, over those of `settings.py`
    raises     ConfigError, for a count or a setting that is invalid
    """

    def __init__(self, nodes: int = 3, settings: Mapping[str, str] | None = None) -> None:
        self._given = {key: str(value) for key, value in (settings or {}).items()}
        settings_of(Path(), nodes, self._given)  # before anything starts
        self._count = nodes
        self._name = f"{os.getpid()}-{next(_numbers)}"
        self._directory: Path | None = None
        self._nodes: list[Node] = []
        self._client: Cluster | None = None
        self._lock = threading.RLock()  # of the client, which is one thread's at a time

    # The life of the cluster

    def start(self) -> None:
        """Start every node; returns when all serve. raises TestingFailed, ConfigError"""
        assert self._directory is None, "it runs"
        self._directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            self._nodes = [Node(one) for one in settings_of(self._directory, self._count, self._given)]
            self._start(range(self._count))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every node and remove all files. Twice is fine."""
        directory, self._directory = self._directory, None
        if directory is None:
            return
        with self._lock:
            self._close_client()
            try:
                keeper().ask(do="end", cluster=self._name)
            finally:
                self._nodes = []
                shutil.rmtree(directory, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_failure: object) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """host:port of each node, for a client."""
        return ",".join(node.address for node in self._running())

    @property
    def directory(self) -> Path:
        """Where the nodes' files are: node-0/logs, and node-0/stderr for what it logs."""
        assert self._directory is not None, "it does not run"
        return self._directory

    @property
    def pids(self) -> list[int]:
        """Of the supervisors; 0 for a node that does not run."""
        return [node.pid for node in self._running()]

    # Faults

    def kill(self, what: str = NODE, node: int = 0) -> int:
        """SIGKILL the processes of a role, or a whole node; returns how many processes that were.

        what      "partition", "network", "controller", "housekeeper": its supervisor starts others at once; "node": it stays dead
                  until `restart`
        raises    ConfigError, for another word; TestingFailed, where none runs
        """
        one = self._node(node)
        if what == NODE:
            pids = [one.pid, *children_of(one.pid)]
            self._stop_nodes([node], "KILL")
            return len(pids)
        if what not in ROLES:
            raise ConfigError("kill", what, f"must be one of {', '.join((*ROLES, NODE))}")
        pids = [pid for pid in children_of(one.pid) if title_of(pid).startswith(f"hr-{what[:9]}-")]
        if not pids:
            raise TestingFailed(f"node {node} has no running {what} process")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        _wait(lambda: not any(is_alive(pid) for pid in pids), f"processes {pids} to end")
        return len(pids)

    def restart(self, node: int = 0) -> None:
        """Start a node that was killed, or stop one in order and start it again; on its port, with its logs."""
        if self._node(node, must_run=False).pid:
            self._stop_nodes([node], "TERM")
        self._start([node])

    def pause(self, node: int = 0) -> None:
        """SIGSTOP every process of a node: it is silent, and its connections stay open."""
        one = self._node(node)
        for pid in (one.pid, *children_of(one.pid)):  # the supervisor first, or it would find them hung
            os.kill(pid, signal.SIGSTOP)

    def resume(self, node: int = 0) -> None:
        """SIGCONT: the node continues where it was."""
        one = self._node(node)
        for pid in (*children_of(one.pid), one.pid):
            os.kill(pid, signal.SIGCONT)

    def cut(self, pid: int | None = None) -> int:
        """Close every connection that a process has to the nodes, at both ends; returns how many.

        Clients may connect again at once. `connections.py` says how.

        pid   None: this process, and so every client in it
        """
        ports = {int(node.address.rpartition(":")[2]) for node in self._running()}
        return cut_connections(ports, os.getpid() if pid is None else pid)

    def wait_ready(self, node: int = 0) -> None:
        """Return when a node has all its processes and answers. raises TestingFailed"""
        one = self._node(node)
        _wait(lambda: len(children_of(one.pid)) >= one.processes, f"node {node} to have all its processes")
        _wait(lambda: _answers(one.address), f"node {node} to answer at {one.address}")

    # Topics

    def create_topic(
        self, name: str, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; every node that runs knows its leaders when this returns.

        raises   KafkaError, ConnectionFailed, TestingFailed
        """
        with self._lock:
            topic = NewTopic(name, partitions, replication_factor, dict(configs or {}))
            _raise_first(Admin(self._admin()).create_topics([topic]).values())
        for node in self._running():
            if node.pid and self._count > 1:  # the only node has answered
                _wait(partial(_leads, node.address, name), f"the node at {node.address} to know topic {name}")

    def delete_topic(self, name: str) -> None:
        """raises   KafkaError, ConnectionFailed"""
        with self._lock:
            _raise_first(Admin(self._admin()).delete_topics([name]).values())

    def records(self, topic: str) -> list[WrittenRecord]:
        """What a topic holds up to its high watermarks, by partition and offset.

        raises   KafkaError, for an unknown topic; ConnectionFailed
        """
        with self._lock, Cluster(self.bootstrap_servers, timeout_s=REQUEST_S) as cluster:
            cluster.refresh([topic])
            names = [name for name in cluster.partitions if name.topic == topic]
            begins = cluster.offsets(dict.fromkeys(names, EARLIEST))
            ends = cluster.offsets(dict.fromkeys(names, LATEST))
        with Kafka(self.bootstrap_servers) as kafka:
            return sorted(_read(kafka, begins, ends))

    # Inside

    def _running(self) -> list[Node]:
        """raises   TestingFailed"""
        if self._directory is None:
            raise TestingFailed("the cluster is not running: start it first")
        return self._nodes

    def _node(self, node: int, must_run: bool = True) -> Node:
        """raises   ConfigError, TestingFailed"""
        nodes = self._running()
        if not 0 <= node < len(nodes):
            raise ConfigError("node", node, f"must be 0 to {len(nodes) - 1}")
        if must_run and not nodes[node].pid:
            raise TestingFailed(f"node {node} is not running: restart it first")
        return nodes[node]

    def _start(self, indexes: range | list[int]) -> None:
        nodes = [self._nodes[index] for index in indexes]
        answer = keeper().ask(
            do="start", cluster=self._name, nodes=[one.settings for one in nodes], directory=str(self.directory)
        )
        for index, one in zip(indexes, nodes, strict=True):
            one.address, one.pid = answer["addresses"][str(index)], answer["pids"][str(index)]
            one.settings["listeners"] = f"PLAINTEXT://{one.address}"
            one.processes = len(children_of(one.pid))

    def _stop_nodes(self, indexes: list[int], number: str) -> None:
        for index in indexes:
            self._nodes[index].pid = 0
        keeper().ask(do="stop", cluster=self._name, nodes=indexes, signal=number)

    def _admin(self) -> Cluster:
        if self._client is None:
            patience_s = TESTING_CLIENT_WAIT_MS_MAX / 1000
            self._client = Cluster(self.bootstrap_servers, timeout_s=patience_s, patience_s=patience_s)
        return self._client

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class KafkaServer(KafkaCluster):
    """A cluster of one node."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(1, settings)


def _read(kafka: Kafka, begins: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> list[WrittenRecord]:
    """raises   TestingFailed, KafkaError"""
    try:
        return [
            WrittenRecord(one.partition, one.offset, one.timestamp_ms, one.key, one.value, one.headers)
            for records in read_ranges(kafka, begins, ends, silent_s=TESTING_CLIENT_WAIT_MS_MAX / 1000)
            for one in records
        ]
    except WaitTimedOut as failure:
        raise TestingFailed(f"records not read: {failure}") from None


def _raise_first(failures: Iterable[HeadraceError | None]) -> None:
    for failure in failures:
        if failure is not None:
            raise failure


def _answers(address: str) -> bool:
    try:
        with Cluster(address, timeout_s=REQUEST_S, retries_max=0) as cluster:
            cluster.refresh(None)
            return True
    except HeadraceError:
        return False


def _leads(address: str, topic: str) -> bool:
    """Whether a node knows a leader of each partition."""
    try:
        with Cluster(address, timeout_s=REQUEST_S, retries_max=0) as cluster:
            cluster.refresh([topic])
            return all(partition.leader >= 0 for partition in cluster.partitions.values())
    except HeadraceError:
        return False


def _wait(condition: Callable[[], bool], what: str) -> None:
    """raises   TestingFailed"""
    deadline = time.monotonic() + TESTING_CLIENT_WAIT_MS_MAX / 1000
    while not condition():
        if time.monotonic() > deadline:
            raise TestingFailed(f"waited {TESTING_CLIENT_WAIT_MS_MAX} ms for {what}")
        time.sleep(POLL_S)

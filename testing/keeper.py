"""`python -m headrace.testing.keeper`: the parent of all nodes of a test session.

A test process has threads, and imports whatever it tests, so nodes are not forked from it. This process imports a node's code once and has
no threads: each node is a fork, which takes milliseconds. It is asked by lines of JSON on its standard input and answers each with one:

    {"do": "start", "cluster": C, "nodes": [{settings}...], "directory": D}  ->  {"addresses": {id: "HOST:PORT"}, "pids": {id: pid}}
    {"do": "stop", "cluster": C, "nodes": [id...], "signal": "TERM"}       ->  {"exit_codes": {id: code}}
    {"do": "end", "cluster": C}                                            ->  {}
    what fails                                                             ->  {"error": text}

A cluster's ZooKeeper is the one in Python, forked with its first node. When standard input ends, or the parent is gone, all nodes end,
and what they had on disk and in /dev/shm is removed.

Runs in: a process of its own, started by `keeper_client.py`.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from headrace import exit_codes
from headrace.errors import HeadraceError
from headrace.limits import (
    TESTING_CLUSTERS_MAX,
    TESTING_COMMAND_BYTES_MAX,
    TESTING_NODE_STOP_MS_MAX,
    TESTING_START_MS_MAX,
)
from headrace.node.children import EntryPoint, load_entry_points
from headrace.node.settings_file import checked
from headrace.shm.wiring import Role
from headrace.testing.node_process import NodeProcess
from headrace.testing.processes import children_of
from headrace.testing.zookeeper.child import ForkedZooKeeper

POLL_MS: Final = 2  # while something starts or stops
PARENT_POLL_MS: Final = 1_000  # between two checks whether the parent is there
LOG_TAIL_CHARACTERS: Final = 3_000
OUTPUT: Final = "stderr"  # of a node, what it logs
STDIN: Final = 0


class KeeperFailed(HeadraceError):
    """A command could not be carried out; the message says why."""


@dataclass(slots=True)
class KeptCluster:
    """The processes of one cluster."""

    zookeeper: ForkedZooKeeper
    directory: Path  # removed at its end
    nodes: dict[int, NodeProcess] = field(default_factory=dict)


class Keeper:
    """The loop; ends when the test process does."""

    def __init__(self) -> None:
        self._clusters: dict[str, KeptCluster] = {}
        self._entry_points: dict[Role, EntryPoint] = {}
        self._parent = os.getppid()
        self._is_ended = False
        self._unread = b""

    def run(self) -> int:
        """Carry out commands until the test process has exited; returns the exit code."""
        self._entry_points = load_entry_points()
        self._answer({"ready": True})
        poll = select.poll()
        poll.register(STDIN, select.POLLIN)
        try:
            while not self._is_ended and os.getppid() == self._parent:
                if poll.poll(PARENT_POLL_MS):
                    self._take_commands()
        finally:
            for name in list(self._clusters):
                self._end(name)
        return exit_codes.CLEAN

    def stop(self, _number: int, _frame: object) -> None:
        self._is_ended = True

    def _take_commands(self) -> None:
        data = os.read(STDIN, TESTING_COMMAND_BYTES_MAX)
        if not data:
            self._is_ended = True
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            try:
                self._answer(self._carry_out(json.loads(line)))
            except (HeadraceError, OSError) as failure:
                self._answer({"error": str(failure)})

    def _carry_out(self, command: dict[str, Any]) -> dict[str, Any]:
        """raises   KeeperFailed, ConfigError"""
        name = command["cluster"]
        if command["do"] == "start":
            return self._start(name, command["nodes"], Path(command["directory"]))
        if command["do"] == "stop":
            number = signal.Signals[f"SIG{command['signal']}"]
            cluster = self._clusters[name]
            return self._stop([cluster.nodes[one] for one in command["nodes"]], number)
        assert command["do"] == "end", command
        self._end(name)
        return {}

    def _start(self, name: str, nodes: list[dict[str, str]], directory: Path) -> dict[str, Any]:
        """Start nodes, and wait until all serve. raises KeeperFailed, ConfigError"""
        cluster = self._clusters.get(name)
        if cluster is None:
            if len(self._clusters) >= TESTING_CLUSTERS_MAX:
                raise KeeperFailed(f"{TESTING_CLUSTERS_MAX} clusters are already running: stop one")
            cluster = self._clusters[name] = KeptCluster(ForkedZooKeeper(), directory)
            cluster.zookeeper.start()
        own = {"zookeeper.connect": cluster.zookeeper.connect, "headrace.testing.zookeeper": "true"}
        started: list[NodeProcess] = []
        for given in nodes:
            place = directory / f"node-{given['broker.id']}"
            place.mkdir(mode=0o750, exist_ok=True)
            node = NodeProcess(checked({**given, **own}), place / OUTPUT)
            node.start(self._entry_points, [one.reading for one in started])
            cluster.nodes[node.node_id] = node
            started.append(node)
        self._wait_ready(started)
        return {
            "addresses": {node.node_id: node.bootstrap for node in started},
            "pids": {node.node_id: node.pid for node in started},
        }

    def _wait_ready(self, nodes: list[NodeProcess]) -> None:
        """raises   KeeperFailed, with the end of the log of a node that did not start"""
        deadline_ms = _now_ms() + TESTING_START_MS_MAX
        poll = select.poll()
        for node in nodes:
            poll.register(node.reading, select.POLLIN)
        while waiting := [node for node in nodes if node.reading >= 0]:
            ready = {descriptor for descriptor, _events in poll.poll(POLL_MS * 10)}
            for node in waiting:
                if node.reading in ready:
                    poll.unregister(node.reading)
                    node.take_address()
                    if not node.bootstrap:
                        self._fail(nodes, node, "exited before it became ready")
            if _now_ms() > deadline_ms:
                self._fail(nodes, waiting[0], f"is not ready after {TESTING_START_MS_MAX} ms")
            if self._is_ended or os.getppid() != self._parent:
                raise KeeperFailed("the test process has exited")

    def _fail(self, nodes: list[NodeProcess], failed: NodeProcess, reason: str) -> None:
        self._stop(nodes, signal.SIGKILL)
        tail = failed.log_file.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:] if failed.log_file.exists() else ""
        raise KeeperFailed(f"node {failed.node_id} {reason}; its log ends with:\n{tail}")

    def _stop(self, nodes: Iterable[NodeProcess], number: signal.Signals) -> dict[str, Any]:
        """End nodes side by side, and take away what they left."""
        nodes = list(nodes)
        for node in nodes:
            if node.pid and not node.reap():
                os.kill(node.pid, number)
                if number == signal.SIGTERM:
                    _continue(node.pid)
        deadline_ms = _now_ms() + TESTING_NODE_STOP_MS_MAX
        while running := [node for node in nodes if not node.reap()]:
            if _now_ms() > deadline_ms:
                for node in running:
                    os.kill(node.pid, signal.SIGKILL)
                deadline_ms += TESTING_NODE_STOP_MS_MAX
            time.sleep(POLL_MS / 1000)
        for node in nodes:
            node.sweep()
        return {"exit_codes": {node.node_id: node.exit_code for node in nodes}}

    def _end(self, name: str) -> None:
        cluster = self._clusters.pop(name, None)
        if cluster is not None:
            self._stop(cluster.nodes.values(), signal.SIGTERM)
            cluster.zookeeper.stop()
            shutil.rmtree(cluster.directory, ignore_errors=True)

    @staticmethod
    def _answer(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), flush=True)


def _continue(pid: int) -> None:
    """A node that is paused could not stop: its processes continue first."""
    for one in [*children_of(pid), pid]:
        try:
            os.kill(one, signal.SIGCONT)
        except ProcessLookupError:
            pass  # it has ended


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def main() -> int:
    """Be the keeper; returns the exit code."""
    keeper = Keeper()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, keeper.stop)
    try:
        return keeper.run()
    except BrokenPipeError:  # the test process has exited
        return exit_codes.CLEAN


if __name__ == "__main__":
    sys.exit(main())

"""What all tests share: a node that is started as a user would, and stopped by pid."""

import logging
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

READY_DEADLINE_S = 60


@dataclass
class RunningNode:
    """A `headrace dev` in a directory of its own."""

    bootstrap: str
    zookeeper: str
    log_dir: Path
    directory: Path
    process: subprocess.Popen

    @property
    def address(self):
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)

    def pids(self):
        """Pids of the node's processes by name (hr-network-0, ...)."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = {}
        for pid in path.read_text().split():
            found[Path(f"/proc/{pid}/comm").read_text().strip()] = int(pid)
        return found

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def start_node(directory, *settings):
    """Start a node; its log is `node.log` in the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "headrace.cli.main", "dev", "--dir", str(directory), "--port", "0"]
    for setting in settings:
        command += ["--set", setting]
    with open(directory / "node.log", "a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    line = process.stdout.readline()
    if not line.startswith("ready "):
        process.kill()
        process.wait()
        raise AssertionError(f"node did not start: {(directory / 'node.log').read_text()[-3000:]}")
    words = dict(word.split("=", 1) for word in line.split()[1:])
    return RunningNode(words["bootstrap"], words["zookeeper"], Path(words["dir"]) / "logs", directory, process)


@pytest.fixture(scope="session")
def node(tmp_path_factory):
    """One node for all tests that only need some node."""
    running = start_node(
        tmp_path_factory.mktemp("node"),
        "headrace.network.workers=2",
        "headrace.partition.workers=2",
        "group.initial.rebalance.delay.ms=100",
        "offsets.topic.num.partitions=4",
    )
    yield running
    running.stop()


@pytest.fixture
def node_factory(tmp_path):
    """Start nodes of one's own: `node_factory("a", "log.segment.bytes=100000")`."""
    running = []

    def start(name="node", *settings):
        running.append(start_node(tmp_path / name, *settings))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="session", params=["headrace", pytest.param("kafka", marks=pytest.mark.interop)])
def group_server(request):
    """host:port of what coordinates groups: the node of all tests, and Apache Kafka."""
    if request.param == "headrace":
        yield request.getfixturevalue("node").bootstrap
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.nodes import Kafka

    directory = request.getfixturevalue("tmp_path_factory").mktemp("group-server")
    server = Kafka(directory / "kafka", {"offsets.topic.num.partitions": "3"})
    try:
        server.start()
        yield server.bootstrap
    finally:
        server.stop()


@pytest.fixture
def root_logger_as_before():
    """For tests that set logging up: handlers and level come back behind them."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)

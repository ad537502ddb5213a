"""The two servers under test with one interface: started in a directory of their own, measured by pid, stopped by pid."""

from __future__ import annotations

import compileall
import os
import socket
import subprocess
import sys
import time
import tomllib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from bench.peers import jars
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.node.termination import terminate

READY_DEADLINE_S = 60
STOP_DEADLINE_S = 30
KAFKA_JVM = ("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
             "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent")  # fmt: skip
ROOT = Path(__file__).resolve().parent.parent
_TICKS = os.sysconf("SC_CLK_TCK")


def write_byte_code() -> None:
    """Byte code beside our sources, as pip writes it where it installs: where PYTHONDONTWRITEBYTECODE is set a checkout has none."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for folder in tables["tool"]["setuptools"]["package-dir"].values():
        assert compileall.compile_dir(ROOT / folder, quiet=1), folder


class Server(ABC):
    """A broker with a ZooKeeper of its own, which is not measured."""

    name = ""

    def __init__(self, directory: Path, settings: dict[str, str] | None = None) -> None:
        self.directory = directory
        self.settings = settings or {}
        self.bootstrap = ""
        self._zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
        self._process: subprocess.Popen[str] | None = None

    @property
    def zookeeper(self) -> str:
        """Its connect string, once it runs."""
        return self._zookeeper.connect

    def start(self) -> None:
        """Start ZooKeeper, then the broker; returns when the broker serves."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._zookeeper.start()
        self.start_broker()

    @abstractmethod
    def start_broker(self) -> None:
        """Start the broker alone; returns when it serves."""

    def stop(self) -> None:
        self.stop_broker()
        self._zookeeper.stop()

    def stop_broker(self) -> None:
        """Stop the broker alone; `start_broker` starts it again."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            terminate(process, STOP_DEADLINE_S)

    def pids(self) -> list[int]:
        """The broker's process tree."""
        assert self._process is not None
        found, left = [], [self._process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            try:
                left += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except OSError:
                continue
        return found

    def cpu_s(self) -> float:
        """CPU seconds of the tree so far, user and system."""
        total = 0
        for pid in self.pids():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS

    def pss_mb(self) -> float:
        """Proportional set size of the tree, shared memory included."""
        total = 0
        for pid in self.pids():
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        return total / 1024


class Headrace(Server):
    """This repository's node, by `headrace start`."""

    name = "headrace"
    environment: ClassVar[dict[str, str]] = {}  # beside what the bench itself has

    def start_broker(self) -> None:
        port = self.bootstrap.rpartition(":")[2] or "0"
        properties = self.directory / "server.properties"
        given = {
            "broker.id": "0",
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(self.directory / "logs"),
            "zookeeper.connect": self._zookeeper.connect,
            **self.settings,
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        with open(self.directory / "broker.log", "a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headrace.cli.main", "start", str(properties)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **self.environment},
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith("ready "):
            raise SystemExit(f"headrace did not start: {(self.directory / 'broker.log').read_text()[-2000:]}")
        self.bootstrap = line.split("bootstrap=")[1].split()[0]


class Kafka(Server):
    """Apache Kafka in ZooKeeper mode with the flags of its start script."""

    name = "kafka"

    def start_broker(self) -> None:
        if not self.bootstrap:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.bootstrap = f"127.0.0.1:{probe.getsockname()[1]}"
        properties = self.directory / "server.properties"
        given = {
            "broker.id": "0",
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": str(self.directory / "logs"),
            "zookeeper.connect": self._zookeeper.connect,
            "num.network.threads": "3",
            "num.io.threads": "8",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        with open(self.directory / "broker.log", "a") as log:
            self._process = subprocess.Popen(
                ["java", *KAFKA_JVM, f"-Djava.io.tmpdir={self.directory}", "-cp",
                 ":".join(map(str, jars("kafka"))), "kafka.Kafka", str(properties)],
                stdout=log, stderr=log, text=True,
            )  # fmt: skip
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        from headrace.client.cluster import Cluster
        from headrace.client.connection import ConnectionFailed
        from headrace.errors import HeadraceError

        deadline = time.monotonic() + READY_DEADLINE_S
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            try:
                with Cluster(self.bootstrap, timeout_s=2) as cluster:
                    cluster.refresh([])
                    if cluster.brokers:
                        return
            except (ConnectionFailed, HeadraceError):
                pass
            time.sleep(0.005)
        raise SystemExit(f"kafka did not start: {(self.directory / 'broker.log').read_text()[-2000:]}")

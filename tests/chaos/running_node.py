"""A node of the campaigns: started from a properties file, killed by pid, started again on the same port.

Used by: all campaigns. Everything is started from the main thread: what a thread starts dies with it (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from headrace.log.state.checkpoints import LOG_START_OFFSET_FILE, read_partition_metadata
from headrace.log.state.topic_checkpoints import TopicCheckpoints, ids_in_directories
from headrace.node.embedded_zookeeper import EmbeddedZooKeeper
from headrace.shm.region import region_prefix
from tests.chaos.network_rooms import Room
from tests.chaos.node_log import NodeLog
from tests.chaos.private_mounts import PrivateMounts
from tests.chaos.shim import Shim
from tests.support import children
from tests.support.waiting import DEADLINE_S

NODE_ID = 7
WORKERS = ("network", "partition", "controller", "housekeeper")
ROLES = (*WORKERS, "supervisor")
_COMM = {f"hr-{role[:9]}": role for role in ROLES}


class NotReady(RuntimeError):
    """The node did not get ready; the message ends with its log."""


class Node:
    """A node and its directory.

    settings   lines of its properties file, over the defaults here
    mounts     where it lives with mounts, or a network, of its own
    """

    def __init__(
        self,
        directory: Path,
        zookeeper: str,
        workers: int = 2,
        settings: Mapping[str, str] | None = None,
        mounts: PrivateMounts | Room | None = None,
    ) -> None:
        self.directory = directory
        self.zookeeper = zookeeper
        self.mounts = mounts
        self.log = NodeLog(directory / "node.log")
        self.settings = {
            "broker.id": str(NODE_ID),
            "log.dirs": str(directory / "logs"),
            "zookeeper.session.timeout.ms": "18000",
            "headrace.network.workers": str(workers),
            "headrace.partition.workers": str(workers),
            "log.segment.bytes": "4194304",
            **(settings or {}),
        }
        self.shim: Shim | None = None  # by which its processes see the machine, where they do
        self.host = "127.0.0.1"
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self._ready = threading.Event()

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def log_dirs(self) -> list[Path]:
        """As we see them, from outside of its mounts."""
        return [self.path(Path(text)) for text in self.settings["log.dirs"].split(",")]

    @property
    def first_log_dir(self) -> Path:
        """By whose name its regions in /dev/shm are found, whatever is there."""
        return self.path(Path(self.settings["log.dirs"].split(",")[0]))

    @property
    def region_prefix(self) -> str:
        """Of its names in /dev/shm."""
        return region_prefix(int(self.settings["broker.id"]), self.settings["log.dirs"].split(",")[0])

    def path(self, path: Path) -> Path:
        """A path of the node's, as we see it."""
        return self.mounts.path(path) if self.mounts else path

    def start(self) -> None:
        """Start it and wait until it serves. raises NotReady"""
        self.launch()
        outcome = self.wait_ready(DEADLINE_S)
        if outcome != "ready":
            tail = "\n".join(self.log.path.read_text().splitlines()[-20:])
            raise NotReady(f"node not ready ({outcome}); its log ends with:\n{tail}")

    def launch(self) -> None:
        """Start it, and don't wait."""
        properties = self.directory / "server.properties"
        own = {"listeners": f"PLAINTEXT://{self.host}:{self.port}", "zookeeper.connect": self.zookeeper}
        properties.write_text("".join(f"{key}={value}\n" for key, value in {**self.settings, **own}.items()))
        command = [sys.executable, "-m", "headrace.cli.main", "start", str(properties)]
        if self.mounts:
            command = self.mounts.command(command)
        self._ready = threading.Event()
        with open(self.log.path, "a") as log:
            environment = self.shim.environment if self.shim is not None else None
            self.process = children.start(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        threading.Thread(target=self._read_output, args=(self.process, self._ready), daemon=True).start()

    def _read_output(self, process: subprocess.Popen[str], ready: threading.Event) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if line.startswith("ready "):
                    self.port = int(line.split("bootstrap=")[1].split()[0].rpartition(":")[2])
                    ready.set()

    def wait_ready(self, timeout_s: float) -> str | int:
        """`ready`, the exit code where it ended, or `late`."""
        assert self.process is not None
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self._ready.wait(0.01):
                return "ready"
            code = self.process.poll()
            if code is not None:
                return code
        return "late"

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None and self._ready.is_set()

    def children(self) -> dict[str, list[int]]:
        """Pids of the node's processes by role, from their names."""
        assert self.process is not None
        found: dict[str, list[int]] = {"supervisor": [self.process.pid]}
        try:
            pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return found
        for text in pids:
            with suppress(OSError):
                name = Path(f"/proc/{text}/comm").read_text().strip()
                for prefix, role in _COMM.items():
                    if name.startswith(prefix):
                        found.setdefault(role, []).append(int(text))
        return found

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to one of its processes; False where that has gone."""
        if number == signal.SIGKILL:
            self.log.killed.add(pid)
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def kill_tree(self) -> None:
        """SIGKILL to the supervisor, which takes all others along; returns when none is left."""
        assert self.process is not None
        pids = [pid for pids in self.children().values() for pid in pids]
        for pid in pids:
            self.log.killed.add(pid)
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + DEADLINE_S
        while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.002)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        return children.end(self.process)

    @property
    def hears(self) -> bool:
        """Whether it has a handler for SIGTERM: the interpreter itself takes some time until ours can be set."""
        assert self.process is not None
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        except OSError:
            return False
        caught = next(line for line in lines if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> signal.SIGTERM - 1 & 1)

    def topic_id(self, topic: str) -> str:
        """As it stands beside the files of its first partition; empty where there are none."""
        ids = (read_partition_metadata(path / f"{topic}-0" / "partition.metadata") for path in self.log_dirs)
        return next(filter(None, ids), "")

    def log_starts(self) -> dict[tuple[str, int], int]:
        """What the log start checkpoints on disk say of the partitions that are there, by (topic, partition)."""
        found: dict[tuple[str, int], int] = {}
        for log_dir in self.log_dirs:
            checkpoints = TopicCheckpoints.read(log_dir)
            for name, topic_id in ids_in_directories(log_dir, checkpoints.names()).items():
                offset = checkpoints.offset(LOG_START_OFFSET_FILE, name, topic_id) or 0  # 0: of an older incarnation
                found[name.topic, name.partition] = max(offset, found.get((name.topic, name.partition), 0))
        return found


def is_alive(pid: int) -> bool:
    """A zombie, which init has not taken yet, is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def started_node(
    directory: Path, topic: str, partitions: int, workers: int, settings: Mapping[str, str] | None = None
) -> Iterator[Node]:
    """A node with one topic, and its ZooKeeper, in a directory."""
    zookeeper = EmbeddedZooKeeper(directory / "zookeeper")
    node: Node | None = None
    try:
        zookeeper.start()
        node = Node(directory, zookeeper.connect, workers, settings)
        node.start()
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(DEADLINE_S)
        yield node
    finally:
        if node is not None and node.process is not None:
            node.stop()
        zookeeper.stop()

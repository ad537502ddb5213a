"""The nodes of a cluster under faults: ours, and Apache Kafka's, with one interface.

Used by: the cluster campaign. A Headrace node is `running_node.Node` with a room of its own; a Kafka broker is one process.
Everything is started from the main thread, and nothing here waits unless it says so.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from headrace.node.embedded_zookeeper import find_java
from tests.chaos.network_rooms import Room
from tests.chaos.private_mounts import fill, give_room
from tests.chaos.running_node import Node, is_alive
from tests.chaos.synced_points import SyncedPoints
from tests.support import children
from tests.support.waiting import DEADLINE_S

PORT = 9092  # in a room of its own
STOP_S = 45.0  # from SIGTERM to SIGKILL: a broker without its ZooKeeper takes long
SESSION_MS = 6_000
DISK = "disk"
LOG_DIRS = ("logs-1", "logs-2")  # on it
AWAY = ".away"
KAFKA_JVM = ("-Xmx384m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
SETTINGS = {
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "auto.create.topics.enable": "false",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.num.partitions": "6",
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    "log.segment.bytes": "1048576",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "leader.imbalance.check.interval.seconds": "15",  # so that leaders go back by themselves while faults go on
    "unclean.leader.election.enable": "false",
}
HEADRACE_SETTINGS = {
    "headrace.network.workers": "2",
    "headrace.partition.workers": "2",
    "headrace.partitions.max": "1024",
    "headrace.cluster.partitions.max": "4096",
    "headrace.request.ring.bytes": "4194304",
    "headrace.log.dir.free.bytes.min": "1048576",  # disks of their own are small
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "unclean.recovery.timeout.ms": "8000",
}
KAFKA_SETTINGS = {
    "zookeeper.connection.timeout.ms": "60000",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "replica.fetch.wait.max.ms": "200",
    "controlled.shutdown.max.retries": "3",
    "controlled.shutdown.retry.backoff.ms": "500",
}


class ClusterNode(Node):
    """A Headrace node of the cluster; `number` is its broker id.

    disk_bytes   of a disk of its own, for which it needs a room; 0: it lives on everybody's
    """

    kind = "headrace"
    own_settings: Mapping[str, str] = HEADRACE_SETTINGS
    ends_by_itself = False

    def __init__(
        self,
        directory: Path,
        number: int,
        zookeeper: str,
        room: Room | None = None,
        settings: Mapping[str, str] | None = None,
        disk_bytes: int = 0,
    ) -> None:
        self.disk = directory / DISK
        self.disk.mkdir(parents=True, exist_ok=True)
        log_dirs = ",".join(str(self.disk / name) for name in LOG_DIRS)
        own = {"broker.id": str(number), "log.dirs": log_dirs}
        super().__init__(directory, zookeeper, settings={**SETTINGS, **self.own_settings, **(settings or {}), **own})
        self.number = number
        self.room = room
        self.is_wanted = True  # somebody holds it down where not
        self.is_full = False
        self._away: dict[Path, Path] = {}  # log directories, and where they are instead
        self.stopped: set[int] = set()  # pids that have SIGSTOP
        self.synced = SyncedPoints()
        if room is not None:
            self.mounts, self.host, self.port = room, room.address, PORT
        else:
            self.port = _free_port()
        if room is not None and disk_bytes:
            room.mount(self.disk, disk_bytes)

    @property
    def log_dirs(self) -> list[Path]:
        """As we see them, wherever they are."""
        return [self._away.get(path, path) for path in super().log_dirs]

    @property
    def has_disk(self) -> bool:
        """Whether it is its own, and can be filled."""
        return self.room is not None and self.room.disk is not None

    def fill_disk(self) -> None:
        fill(self.path(self.disk))
        self.is_full = True

    def empty_disk(self) -> None:
        give_room(self.path(self.disk))
        self.is_full = False

    @property
    def has_all_log_dirs(self) -> bool:
        return not self._away

    def take_log_dir(self, index: int) -> None:
        """A file is in its place: root may do anything in a directory. What is open in it stays so."""
        path = self.log_dirs[index]
        self._away[path] = path.rename(path.with_name(path.name + AWAY))
        while not path.is_file():
            if path.is_dir():  # a node that starts has made an empty one in this moment
                shutil.rmtree(path)
            path.touch()  # without a byte: the disk may be full

    def put_log_dirs_back(self) -> None:
        """Of a node that does not run: a directory that failed is not used again in the same life."""
        for path, away in self._away.items():
            path.unlink()
            away.rename(path)
        self._away = {}

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def pids(self) -> list[int]:
        return [pid for pids in self.children().values() for pid in pids]

    def stop_all(self, pids: list[int]) -> bool:
        """SIGSTOP; False where one has gone."""
        self.stopped.update(pids)
        return len([pid for pid in pids if self.signal(pid, signal.SIGSTOP)]) == len(pids)

    def continue_all(self, pids: list[int] | None = None) -> None:
        for pid in list(self.stopped) if pids is None else pids:
            self.stopped.discard(pid)
            self.signal(pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to all of it."""
        self.kill_tree()
        self.stopped.clear()

    def ask_to_stop(self) -> None:
        """SIGTERM, without waiting."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.terminate()

    def serves(self) -> bool:
        """Whether it takes connections."""
        return self.is_up


class KafkaNode(ClusterNode):
    """An Apache Kafka 3.9 broker in ZooKeeper mode."""

    kind = "kafka"
    own_settings = KAFKA_SETTINGS
    ends_by_itself = True  # where the znode of its last life is still there, or ZooKeeper is not

    def launch(self) -> None:
        from bench.peers import jars

        properties = self.directory / "server.properties"
        own = {"listeners": f"PLAINTEXT://{self.host}:{self.port}", "zookeeper.connect": self.zookeeper}
        given = {key: value for key, value in self.settings.items() if not key.startswith("headrace.")}
        properties.write_text("".join(f"{key}={value}\n" for key, value in {**given, **own}.items()))
        logging = self.directory / "log4j.properties"
        if not logging.exists():
            logging.write_text(_LOG4J.format(path=self.log.path))
        flags = (*KAFKA_JVM, f"-Djava.io.tmpdir={self.directory}", f"-Dlog4j.configuration=file:{logging}")
        command = [find_java(), *flags, "-cp", ":".join(map(str, jars("kafka"))), "kafka.Kafka", str(properties)]
        if self.room:
            command = self.room.command(command)
        self._ready = threading.Event()
        with open(self.directory / "broker.out", "a") as out:
            self.process = children.start(command, stdout=out, stderr=out, text=True)

    def wait_ready(self, timeout_s: float) -> str | int:
        assert self.process is not None
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.serves():
                return "ready"
            code = self.process.poll()
            if code is not None:
                return code
            time.sleep(0.05)
        return "late"

    @property
    def is_up(self) -> bool:
        return self.is_running and self.serves()

    def serves(self) -> bool:
        with suppress(OSError), socket.create_connection((self.host, self.port), timeout=0.5):
            return True
        return False

    def children(self) -> dict[str, list[int]]:
        return {"supervisor": [self.process.pid]} if self.process is not None and self.is_running else {}

    def kill_tree(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + DEADLINE_S
        while is_alive(self.process.pid) and time.monotonic() < deadline:
            time.sleep(0.002)


_LOG4J = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={path}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def has_kafka() -> bool:
    """Whether brokers of Apache Kafka can be had here."""
    return shutil.which("mvn") is not None or os.path.isdir("build/peers/kafka")

"""A ZooKeeper for one node, from the jars that PySpark brings.

Runs in: `headrace dev`, tests and benches; production names its own ensemble. The server is a child process
that dies with us (PR_SET_PDEATHSIG), keeps its data in a directory of its own, and takes the same port again
after a restart where it can.

Five of PySpark's jars are a whole server: without metrics-core it exits, without snappy-java sessions time
out.
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from headrace.errors import ConfigError, HeadraceError

JARS = ("zookeeper-3", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java")
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-Xshare:auto")
HOST = "127.0.0.1"
START_TRIES_MAX = 5
LISTEN_DEADLINE_S = 20.0
STOP_DEADLINE_S = 5.0
PORT_FILE = "port"
_PR_SET_PDEATHSIG = 1


class ZooKeeperFailed(HeadraceError):
    """The server did not start; the message ends with its log."""


class EmbeddedZooKeeper:
    """One server process and its directory."""

    def __init__(self, directory: Path, port: int = 0) -> None:
        self._directory = directory
        self._wanted_port = port
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def connect(self) -> str:
        """For `zookeeper.connect`."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server; returns when it listens.

        raises   ConfigError, where jars or Java are missing; ZooKeeperFailed
        """
        command = [find_java(), *JVM_FLAGS, "-cp", ":".join(map(str, find_jars())), MAIN_CLASS]
        self._directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(START_TRIES_MAX):
            self.port = self._choose_port(attempt)
            config = self._write_config()
            with open(self._directory / "zookeeper.log", "ab") as log:
                self._process = subprocess.Popen(
                    [*command, str(config)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    preexec_fn=_die_with_parent,
                    start_new_session=True,
                )
            if self._listens():
                (self._directory / PORT_FILE).write_text(str(self.port))
                return
            self.stop()
        tail = (self._directory / "zookeeper.log").read_text(errors="replace")[-2000:]
        raise ZooKeeperFailed(f"ZooKeeper did not start in {START_TRIES_MAX} tries; its log ends with:\n{tail}")

    def stop(self) -> None:
        """SIGTERM, and SIGKILL where that does not help."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _choose_port(self, attempt: int) -> int:
        """The port asked for, the last one, or a free one."""
        if self._wanted_port:
            return self._wanted_port
        if attempt == 0:
            try:
                last = int((self._directory / PORT_FILE).read_text())
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind((HOST, last))
                return last
            except (OSError, ValueError):
                pass
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            return int(probe.getsockname()[1])

    def _write_config(self) -> Path:
        data = self._directory / "data"
        data.mkdir(exist_ok=True)
        config = self._directory / "zoo.cfg"
        config.write_text(
            f"dataDir={data}\nclientPort={self.port}\nclientPortAddress={HOST}\ntickTime=1000\n"
            "minSessionTimeout=2000\nmaxSessionTimeout=60000\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "4lw.commands.whitelist=\nautopurge.snapRetainCount=3\nautopurge.purgeInterval=24\n"
            "initLimit=10\nsyncLimit=5\n"
        )
        return config

    def _listens(self) -> bool:
        deadline = time.monotonic() + LISTEN_DEADLINE_S
        assert self._process is not None
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with socket.create_connection((HOST, self.port), timeout=1):
                    return True
            except OSError:
                time.sleep(0.02)
        return False


def find_java() -> str:
    """The `java` program; raises ConfigError."""
    java = shutil.which("java")
    if java is None:
        raise ConfigError(
            "java", None, "the embedded ZooKeeper needs Java 17 on the PATH; or pass --zookeeper HOST:PORT"
        )
    return java


def find_jars() -> list[Path]:
    """The server's jars inside of PySpark; raises ConfigError."""
    spec = importlib.util.find_spec("pyspark")
    way_out = "pip install 'headrace[spark]', or pass --zookeeper HOST:PORT"
    if spec is None or spec.origin is None:
        raise ConfigError(
            "zookeeper", None, f"the embedded ZooKeeper comes with PySpark, which is not installed: {way_out}"
        )
    folder = Path(spec.origin).parent / "jars"
    jars = []
    for name in JARS:
        found = sorted(folder.glob(f"{name}*.jar"))
        if not found:
            raise ConfigError("zookeeper", str(folder), f"no {name}*.jar there: {way_out}")
        jars.append(found[0])
    return jars


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

"""A ZooKeeper for one node, from the jars that PySpark brings.

Runs in: `headrace dev`, tests and benches; production names its own ensemble. The server is a child process
that dies with us (PR_SET_PDEATHSIG) and keeps everything in one directory:

    zoo.cfg          its configuration, written at each start
    data/            snapshots and transaction log; fsynced as always: what the node acknowledged of topics stays
    zookeeper.log    its standard output and error
    port             the last port, reused if it is free
    lock             held by the server itself, as long as it lives: two on the same data would corrupt it

Five of PySpark's jars are a whole server: without metrics-core it exits, without snappy-java sessions time
out. None of them is a logging backend (log4j would take its start from 0.4 s to 0.6 s and more), so the log has
what the JVM and SLF4J say, and no more.

A server that starts listens, and even accepts, before it can open sessions: what it is sent in that moment may
be dropped silently, and a client would wait for its whole session timeout. So `start` ends with one
handshake, over a bare socket (`controller/zookeeper/handshake.py`): kazoo starts threads, and the caller forks later.

Source: operations.md of the design; ZooKeeper's administrator's guide.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.backoff import pause_after
from headrace.controller.zookeeper.blocking_session import wait_until_ready
from headrace.controller.zookeeper.handshake import SESSION_TIMEOUT_MS, opens_sessions
from headrace.errors import ConfigError, HeadraceError
from headrace.limits import ZOOKEEPER_START_TRIES_MAX
from headrace.node.termination import terminate

JARS = ("zookeeper-3", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java")
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx128m", "-Xshare:auto")
HOST = "127.0.0.1"
TICK_MS = 1000
UP_DEADLINE_S = 20.0
UP_POLL_S = 0.01
HANDSHAKE_FIRST_S = 0.05  # doubled with each try, so that a slow machine gets there too
HANDSHAKE_MAX_S = 2.0
STOP_DEADLINE_S = 5.0
QUIET_MS = 30_000  # one that dies sooner after its start waits before the next
RESTART_FIRST_MS = 500
RESTART_MAX_MS = 10_000
LOG_TAIL_CHARACTERS = 2000
UMASK = 0o027  # as of the logs: the group may read
PORT_FILE = "port"
LOCK_FILE = "lock"
LOG_FILE = "zookeeper.log"
CONFIG_FILE = "zoo.cfg"
WAY_OUT = "pip install 'headrace[spark]', or pass --zookeeper HOST:PORT"
_PR_SET_PDEATHSIG = 1
_TCP_LISTEN = "0A"  # as /proc/net/tcp has it

assert SESSION_TIMEOUT_MS >= 2 * TICK_MS  # no server grants less

_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)


class ZooKeeperFailed(HeadraceError):
    """The server did not start; the message says why, and ends with its log."""


class EmbeddedZooKeeper:
    """One server process and its directory.

    port   0: the one of the last time, or any free one
    """

    def __init__(self, directory: Path, port: int = 0, host: str = HOST) -> None:
        self._directory = directory
        self._wanted_port = port
        self._host = host
        self._process: subprocess.Popen[bytes] | None = None
        self._started_ms = 0
        self._deaths = 0  # in a row
        self._due_ms = 0  # after a death, when the next one starts; 0: none died
        self.port = 0

    @property
    def connect(self) -> str:
        """For `zookeeper.connect`."""
        return f"{self._host}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server; returns when it opens sessions.

        raises   ConfigError, where jars or Java are missing, or the port asked for is taken; ZooKeeperFailed
        """
        command = self._command()
        self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        for attempt in range(ZOOKEEPER_START_TRIES_MAX):
            with self._lock() as lock:
                self.port = self._choose_port(attempt)
                self._spawn([*command, str(self._write_config())], lock)
            if self._comes_up():
                (self._directory / PORT_FILE).write_text(str(self.port))
                return
            self.stop()  # another process was faster with the port, as a rule
        tail = (self._directory / LOG_FILE).read_text(errors="replace")[-LOG_TAIL_CHARACTERS:]
        raise ZooKeeperFailed(
            f"ZooKeeper did not start in {ZOOKEEPER_START_TRIES_MAX} attempts, the last one on port {self.port}; "
            f"{self._directory / LOG_FILE} ends with:\n{tail}"
        )

    def check(self, now_ms: int) -> None:
        """Restart a server that died, on its port, without waiting until it accepts sessions.

        now_ms   of the monotonic clock
        """
        if self._process is None or self._process.poll() is None:
            return
        if not self._due_ms:
            self._deaths = self._deaths + 1 if now_ms - self._started_ms < QUIET_MS else 0
            wait_ms = pause_after(self._deaths, RESTART_FIRST_MS, RESTART_MAX_MS) if self._deaths else 0
            self._due_ms = max(1, now_ms + wait_ms)
            _log.warning(
                "embedded ZooKeeper died pid=%d exit_code=%d restart_in_ms=%d log=%s",
                self._process.pid, self._process.returncode, wait_ms, self._directory / LOG_FILE,
            )  # fmt: skip
        if now_ms < self._due_ms:
            return
        self._due_ms, self._started_ms = 0, now_ms
        try:
            with self._lock(timeout_s=0) as lock:
                self._spawn([*self._command(), str(self._write_config())], lock)
        except (HeadraceError, OSError) as failure:
            _log.warning("embedded ZooKeeper not restarted reason=%s", failure)
            return
        _log.warning("embedded ZooKeeper restarted pid=%d port=%d", self.pid, self.port)

    def wait_until_ready(self, timeout_s: float) -> None:
        """Return when a session can write. For tests and tools; a node just connects and retries.

        raises   ZkLost, where it can't in time
        """
        wait_until_ready(self.connect, timeout_s)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL where that does not help."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        terminate(process, STOP_DEADLINE_S)

    @staticmethod
    def _command() -> list[str]:
        """Without the configuration. raises ConfigError"""
        return [find_java(), *JVM_FLAGS, "-cp", ":".join(map(str, find_jars())), MAIN_CLASS]

    def _choose_port(self, attempt: int) -> int:
        if self._wanted_port:
            if not self._is_free(self._wanted_port):
                raise ConfigError(
                    "port", self._wanted_port, f"{self._host}:{self._wanted_port} is in use by another process"
                )
            return self._wanted_port
        if attempt == 0:
            try:
                last = int((self._directory / PORT_FILE).read_text())
            except (OSError, ValueError):
                last = 0
            if 0 < last < 1 << 16 and self._is_free(last):
                return last
        with socket.socket() as probe:
            probe.bind((self._host, 0))
            return int(probe.getsockname()[1])

    def _is_free(self, port: int) -> bool:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._host, port))
            except OSError:
                return False
        return True

    def _write_config(self) -> Path:
        """tickTime bounds session timeouts from below (2 ticks); 4-letter words and the admin server stay off."""
        data = self._directory / "data"
        data.mkdir(mode=0o750, exist_ok=True)
        config = self._directory / CONFIG_FILE
        config.write_text(
            f"dataDir={data}\nclientPort={self.port}\nclientPortAddress={self._host}\ntickTime={TICK_MS}\n"
            f"minSessionTimeout={2 * TICK_MS}\nmaxSessionTimeout={60 * TICK_MS}\nmaxClientCnxns=0\n"
            "admin.enableServer=false\n4lw.commands.whitelist=\n"
            "autopurge.snapRetainCount=3\nautopurge.purgeInterval=24\ninitLimit=10\nsyncLimit=5\n"
        )
        return config

    @contextmanager
    def _lock(self, timeout_s: float = STOP_DEADLINE_S) -> Iterator[int]:
        """The directory's lock, to hand on; a server that was just killed may need a moment to let it go."""
        lock = os.open(self._directory / LOCK_FILE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o640)
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise ZooKeeperFailed(f"another ZooKeeper is already running in {self._directory}") from None
                    time.sleep(UP_POLL_S)
            yield lock
        finally:
            os.close(lock)

    def _spawn(self, command: list[str], lock: int) -> None:
        with open(self._directory / LOG_FILE, "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                preexec_fn=_dies_with(os.getpid()),
                start_new_session=True,
            )

    def _comes_up(self) -> bool:
        """Whether this process (and no other) listens on the port in time, and opens sessions."""
        deadline = time.monotonic() + UP_DEADLINE_S
        tries = 0
        assert self._process is not None
        while time.monotonic() < deadline and self._process.poll() is None:
            if _listens(self._process.pid, self.port):
                tries += 1
                if opens_sessions(self._host, self.port, pause_after(tries, HANDSHAKE_FIRST_S, HANDSHAKE_MAX_S)):
                    return True
            time.sleep(UP_POLL_S)
        return False


def find_java() -> str:
    """The `java` program; raises ConfigError."""
    java = shutil.which("java")
    if java is None:
        raise ConfigError(
            "java", None, "the embedded ZooKeeper needs Java 17 on the PATH: install it, or pass --zookeeper HOST:PORT"
        )
    return java


def find_jars() -> list[Path]:
    """The server's jars inside of PySpark; raises ConfigError."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ConfigError(
            "zookeeper", None, f"the embedded ZooKeeper comes with PySpark, which is not installed: {WAY_OUT}"
        )
    folder = Path(spec.origin).parent / "jars"
    jars = []
    for name in JARS:
        found = sorted(folder.glob(f"{name}*.jar"))
        if not found:
            raise ConfigError("zookeeper", str(folder), f"no {name}*.jar found: {WAY_OUT}")
        jars.append(found[0])
    return jars


def _listens(pid: int, port: int) -> bool:
    """Whether a process holds a listening TCP socket on a port; read from the kernel's tables, without connecting."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == _TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    if not inodes:
        return False
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if os.readlink(f"/proc/{pid}/fd/{descriptor}") in inodes:
                return True
        except OSError:
            continue  # closed meanwhile
    return False


def _dies_with(parent: int) -> Callable[[], None]:
    """For the child, between fork and exec: be killed when the parent ends, even if it has by now."""

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.umask(os.umask(UMASK) | UMASK)
        if os.getppid() != parent:
            os._exit(1)

    return prepare

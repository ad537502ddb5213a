"""The server as a forked child: for `headrace dev` and the nodes of a test, without another program to start.

Runs in: the process that becomes the supervisor, which has no threads; the child serves, and dies with it (PR_SET_PDEATHSIG). With a
directory it keeps there what it has (`journal.py`):

    testing-zookeeper.journal   the tree and the sessions
    port                        the last port, reused if it is free

`start`, `check` and `stop` are those of `node/embedded_zookeeper.py`.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Final, NoReturn

from headrace import exit_codes
from headrace.backoff import pause_after
from headrace.errors import ConfigError
from headrace.limits import (
    TESTING_LONG_SESSION_TICKS_MAX,
    TESTING_STOP_MAX_MS,
    TESTING_ZOOKEEPER_RESTART_FIRST_MS,
    TESTING_ZOOKEEPER_RESTART_MAX_MS,
)
from headrace.testing.zookeeper.journal import FILE
from headrace.testing.zookeeper.server import TICK_MS, Server, listen

HOST: Final = "127.0.0.1"
QUIET_MS: Final = 30_000  # one that dies sooner after its start waits before the next
STOP_POLL_S: Final = 0.002
PORT_FILE: Final = "port"
UMASK: Final = 0o027  # as of the logs: the group may read
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15

_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)


class ForkedZooKeeper:
    """One server process, over all its lives.

    directory   for what it has to keep; None: a restart forgets everything
    port        0: the one of the last time, or any free one
    """

    def __init__(self, directory: Path | None = None, port: int = 0, tick_ms: int = TICK_MS) -> None:
        self._directory = directory
        self._wanted_port = port
        self._tick_ms = tick_ms
        self._started_ms = 0
        self._deaths = 0  # in a row
        self._due_ms = 0  # after a death, when the next one starts; 0: none died
        self.pid = 0  # 0 while it does not run
        self.port = 0

    @property
    def connect(self) -> str:
        """For `zookeeper.connect`."""
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        """Start the server; clients can connect when this returns.

        raises   ConfigError, where the port asked for is taken
        """
        assert not self.pid, "it runs"
        if self._directory is not None:
            self._directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        listener = self._listen()
        self.port = int(listener.getsockname()[1])
        if self._directory is not None:
            (self._directory / PORT_FILE).write_text(str(self.port))
        self._fork(listener)

    def check(self, now_ms: int) -> None:
        """Restart a server that died, on its port.

        now_ms   of the monotonic clock
        """
        if not self.pid and not self._due_ms:
            return
        if self.pid:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if not pid:
                return
            self.pid = 0
            self._deaths = self._deaths + 1 if now_ms - self._started_ms < QUIET_MS else 0
            first_ms, most_ms = TESTING_ZOOKEEPER_RESTART_FIRST_MS, TESTING_ZOOKEEPER_RESTART_MAX_MS
            wait_ms = pause_after(self._deaths, first_ms, most_ms) if self._deaths else 0
            self._due_ms = max(1, now_ms + wait_ms)
            code = os.waitstatus_to_exitcode(status)
            _log.warning("testing ZooKeeper died pid=%d exit_code=%d restart_in_ms=%d", pid, code, wait_ms)
        if now_ms < self._due_ms:
            return
        try:
            listener = listen(HOST, self.port)
        except OSError as failure:
            _log.warning("testing ZooKeeper not restarted port=%d reason=%s", self.port, failure)
            self._due_ms = now_ms + TESTING_ZOOKEEPER_RESTART_MAX_MS
            return
        self._due_ms, self._started_ms = 0, now_ms
        self._fork(listener)
        _log.warning("testing ZooKeeper restarted pid=%d port=%d", self.pid, self.port)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL where that does not help. Twice is fine."""
        pid, self.pid = self.pid, 0
        if not pid:
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + TESTING_STOP_MAX_MS / 1000
        while time.monotonic() < deadline:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(STOP_POLL_S)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def _listen(self) -> socket.socket:
        """raises   ConfigError"""
        if self._wanted_port:
            try:
                return listen(HOST, self._wanted_port)
            except OSError as failure:
                raise ConfigError("port", self._wanted_port, f"{HOST}:{self._wanted_port}: {failure}") from None
        for port in (self._last_port(), 0):
            try:
                return listen(HOST, port)
            except OSError as failure:
                if not port:
                    raise ConfigError("port", port, f"{HOST} has no free port: {failure}") from None
        raise AssertionError("one of the two has returned")

    def _last_port(self) -> int:
        if self.port:
            return self.port  # started before
        try:
            last = int((self._directory / PORT_FILE).read_text()) if self._directory is not None else 0
        except (OSError, ValueError):
            return 0
        return last if 0 < last < 1 << 16 else 0

    def _fork(self, listener: socket.socket) -> None:
        parent = os.getpid()
        sys.stdout.flush()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self.pid = os.fork()
            if not self.pid:
                self._be_server(listener, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        listener.close()

    def _be_server(self, listener: socket.socket, parent: int) -> NoReturn:
        code = exit_codes.CRASHED
        try:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                os.setpgid(0, 0)  # Ctrl-C reaches the parent alone, which stops the node first
                os.umask(os.umask(UMASK) | UMASK)
                _libc.prctl(_PR_SET_NAME, b"hr-zookeeper")
                nothing = os.open(os.devnull, os.O_RDWR)
                for target in (0, 1):  # what the parent reads and writes is not ours
                    os.dup2(nothing, target)
                os.close(nothing)
                self._serve(listener)
                code = exit_codes.CLEAN
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _serve(self, listener: socket.socket) -> None:
        journal = self._directory / FILE if self._directory is not None else None
        server = Server(listener, journal, self._tick_ms, TESTING_LONG_SESSION_TICKS_MAX)
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda _number, _frame: server.stop())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        server.run()

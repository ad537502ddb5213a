"""A node forked by the keeper: its supervisor, which was imported before, with a log file of its own.

Runs in: the keeper, which has no threads; then in the child, which becomes the supervisor. The child gets SIGTERM when the keeper dies.
It tells its address by a pipe, once it serves.

    fork -> die with the keeper -> own process group -> log file -> supervisor -> ready: "HOST:PORT"

Source: `node/local_cluster.py`, which does the same for `headrace dev --nodes`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from headrace import exit_codes
from headrace.errors import ConfigError, HeadraceError
from headrace.node.children import EntryPoint
from headrace.node.log_dirs import LogDirs
from headrace.node.logging_setup import set_up_logging
from headrace.node.notify import Notifier
from headrace.node.supervisor import Supervisor
from headrace.settings import Settings
from headrace.shm.region import region_prefix, sweep
from headrace.shm.wiring import Role

ADDRESS_BYTES: Final = 1024
PORT_WAIT_MS: Final = 5_000  # a port of a node that was killed
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class NodeProcess:
    """One node over all its lives. Written by the keeper alone."""

    settings: Settings
    log_file: Path
    pid: int = 0  # of its supervisor; 0 while it does not run
    reading: int = -1  # the pipe by which it tells its address; -1: told, or not running
    bootstrap: str = ""
    exit_code: int | None = None  # of the last life; -n for signal n

    @property
    def node_id(self) -> int:
        return int(self.settings["broker.id"])

    def start(self, entry_points: dict[Role, EntryPoint], inherited: list[int]) -> None:
        """Fork it; `reading` becomes readable when it serves, or has ended.

        inherited   descriptors of the keeper that the node has no use for
        """
        assert not self.pid, "it runs"
        reading, writing = os.pipe2(os.O_CLOEXEC)
        parent = os.getpid()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                self._be_node(entry_points, writing, [reading, *inherited], parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
        self.pid, self.reading, self.bootstrap, self.exit_code = pid, reading, "", None

    def take_address(self) -> None:
        """Read what the pipe has, where it has something."""
        told = os.read(self.reading, ADDRESS_BYTES)
        self.forget_pipe()
        self.bootstrap = told.decode().strip()

    def forget_pipe(self) -> None:
        if self.reading >= 0:
            os.close(self.reading)
            self.reading = -1

    def reap(self) -> bool:
        """Whether it has ended."""
        if not self.pid:
            return True
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return False
        self.pid, self.exit_code = 0, os.waitstatus_to_exitcode(status)
        self.forget_pipe()
        return True

    def sweep(self) -> None:
        """Remove the shared memory that a killed node left, after its last process has ended."""
        if self.exit_code in (exit_codes.CLEAN, None):
            return
        log_dirs = LogDirs(self.settings["log.dirs"])
        try:
            log_dirs.lock()
        except HeadraceError:  # its directory is gone, or can't be used: nothing was made for it
            return
        sweep(region_prefix(self.node_id, self.settings["log.dirs"][0]))
        log_dirs.unlock()

    def _be_node(
        self, entry_points: dict[Role, EntryPoint], writing: int, inherited: list[int], parent: int
    ) -> NoReturn:
        code = exit_codes.CRASHED
        try:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(exit_codes.CLEAN)
            os.setpgid(0, 0)
            _libc.prctl(_PR_SET_NAME, f"hr-node-{self.node_id}".encode())
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            for descriptor in inherited:
                os.close(descriptor)
            log = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
            nothing = os.open(os.devnull, os.O_RDWR)
            for target, source in ((0, nothing), (1, nothing), (2, log)):
                os.dup2(source, target)
            os.close(log)
            os.close(nothing)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            set_up_logging()
            code = self._run(entry_points, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _run(self, entry_points: dict[Role, EntryPoint], writing: int) -> int:
        def tell(bootstrap: str) -> None:
            os.write(writing, f"{bootstrap}\n".encode())
            os.close(writing)

        supervisor = Supervisor(
            self.settings,
            entry_points=entry_points,
            notifier=Notifier({}),
            on_ready=tell,
            port_wait_ms=PORT_WAIT_MS,
        )
        try:
            return supervisor.run()
        except HeadraceError as failure:
            os.write(2, f"node exits: {failure}\n".encode())
            return exit_codes.CONFIG if isinstance(failure, ConfigError) else exit_codes.FAILED

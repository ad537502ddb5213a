"""The supervisor: makes the shared memory, forks the node's processes, starts again what dies, stops in order.

Runs in: the process that `headrace start` began. It has no threads and touches no data. A loop over `poll` on
a signal pipe:

    SIGCHLD -> waitpid of its own pids -> renew the fabric -> start again (back-off)
    SIGTERM -> stop in order: network, partition, housekeeper, controller
    every LOOK_INTERVAL_MS -> heartbeats, watchdog

A child that ends with 78 (EX_CONFIG) ends the node: a restart would not help.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.limits import STOP_DEADLINE_MS
from headrace.node import restart_policy
from headrace.node.children import EntryPoint, fork_child, load_entry_points
from headrace.node.listeners import open_listeners
from headrace.node.log_dirs import LogDirs
from headrace.node.notify import Notifier
from headrace.settings import Settings
from headrace.shm.fabric import Fabric
from headrace.shm.process_table import ProcessState
from headrace.shm.wiring import Role, Wiring

EXIT_CLEAN = 0
EXIT_FAILED = 1
EXIT_CONFIG = 78
LOOK_INTERVAL_MS = 250
POLL_MS = 20
STOP_ORDER = (Role.NETWORK, Role.PARTITION, Role.HOUSEKEEPER, Role.CONTROLLER)
_READY_STATES = (ProcessState.READY, ProcessState.DRAINING, ProcessState.STOPPED)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Child:
    """One process of the node, over all its lives."""

    process_id: int
    pid: int = 0
    started_ms: int = 0
    deaths: int = 0  # in a row
    due_ms: int | None = None  # when it starts again
    exit_codes: list[int] = field(default_factory=list)


class Supervisor:
    """One node."""

    def __init__(
        self,
        settings: Settings,
        entry_points: dict[Role, EntryPoint] | None = None,
        notifier: Notifier | None = None,
        on_ready: Callable[[str], None] | None = None,
    ) -> None:
        self._settings = settings
        self._entry_points = entry_points
        self._notifier = notifier or Notifier()
        self._on_ready = on_ready
        self._log_dirs = LogDirs(settings["log.dirs"])
        self._fabric: Fabric
        self._listeners: list[socket.socket] = []
        self._children: dict[int, Child] = {}
        self._is_stopping = False
        self._is_ready = False
        self._exit_code = EXIT_CLEAN

    @property
    def wiring(self) -> Wiring:
        return self._fabric.wiring

    def run(self) -> int:
        """Run the node until it is told to stop; returns the exit code.

        raises   ConfigError, StorageFailed, where it can't begin
        """
        self._log_dirs.lock()
        try:
            entry_points = self._entry_points or load_entry_points()
            self._listeners, host, port = open_listeners(self._settings)
            self._fabric = Fabric.create(
                self._settings, host=host, port=port, clean_directories=self._log_dirs.take_clean_markers()
            )
            try:
                self._supervise(entry_points)
            finally:
                self._kill_all()
                self._fabric.destroy()
        finally:
            for listener in self._listeners:
                listener.close()
            self._log_dirs.unlock()
        return self._exit_code

    def _supervise(self, entry_points: dict[Role, EntryPoint]) -> None:
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        for process_id in range(self.wiring.process_count):
            self._children[process_id] = Child(process_id)
            self._start(self._children[process_id], entry_points)
        next_look_ms = 0
        while not self._is_stopping:
            if poll.poll(POLL_MS if not self._is_ready or self._has_due() else LOOK_INTERVAL_MS):
                os.read(reading, 4096)
            self._reap()
            now_ms = _now_ms()
            for child in self._children.values():
                if child.due_ms is not None and now_ms >= child.due_ms and not self._is_stopping:
                    self._start(child, entry_points)
            if not self._is_ready:
                self._announce_when_ready()
            if now_ms >= next_look_ms:
                next_look_ms = now_ms + LOOK_INTERVAL_MS
                self._look_at_heartbeats()
        self._stop()
        signal.set_wakeup_fd(-1)
        os.close(reading)
        os.close(writing)

    def _on_stop(self, number: int, _frame: object) -> None:
        if not self._is_stopping:
            _log.info("stopping signal=%s", signal.Signals(number).name)
        self._is_stopping = True

    def _start(self, child: Child, entry_points: dict[Role, EntryPoint]) -> None:
        child.due_ms = None
        child.started_ms = _now_ms()
        role = self.wiring.role(child.process_id)
        child.pid = fork_child(self.wiring, child.process_id, entry_points[role], self._listeners)
        self._fabric.processes.set_started(child.process_id, child.pid)

    def _has_due(self) -> bool:
        return any(child.due_ms is not None for child in self._children.values())

    def _reap(self) -> None:
        """Take the exits of our own children; void what they held."""
        for child in self._children.values():
            if not child.pid:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if not pid:
                continue
            code = os.waitstatus_to_exitcode(status)
            self._fabric.processes.set_exited(child.process_id, code if code >= 0 else 128 - code)
            child.exit_codes.append(code)
            del child.exit_codes[:-10]
            child.pid = 0
            title = self.wiring.title(child.process_id)
            if self._is_stopping:
                if code != EXIT_CLEAN:
                    _log.warning("process did not stop cleanly role=%s exit_code=%d", title, code)
                continue
            if code == EXIT_CONFIG:
                _log.error("node stops: %s found a setting that can't work", title)
                self._exit_code = EXIT_CONFIG
                self._is_stopping = True
                continue
            generation = self._fabric.renew(child.process_id)
            now_ms = _now_ms()
            child.deaths = restart_policy.deaths_in_a_row(child.deaths, now_ms - child.started_ms)
            wait_ms = restart_policy.backoff_ms(child.deaths)
            child.due_ms = now_ms + wait_ms
            reason = f"signal {-code}" if code < 0 else f"exit code {code}"
            _log.warning("process died role=%s pid=%d reason=%s generation=%d restart_in_ms=%d",
                         title, pid, reason, generation, wait_ms)  # fmt: skip

    def _announce_when_ready(self) -> None:
        """Say that the node serves, once every process does."""
        processes = self._fabric.processes
        if all(processes.state(process_id) in _READY_STATES for process_id in self._children):
            self._is_ready = True
            wiring = self.wiring
            print(
                f"ready bootstrap={wiring.host}:{wiring.port} zookeeper={self._settings['zookeeper.connect']} "
                f"dir={self._settings['log.dirs'][0]}",
                flush=True,
            )
            if self._on_ready is not None:
                self._on_ready(f"{wiring.host}:{wiring.port}")
            self._notifier.send("READY=1", f"STATUS=serving on {wiring.host}:{wiring.port}")

    def _look_at_heartbeats(self) -> None:
        now_ns = time.monotonic_ns()
        timeout_ms = self._settings["headrace.worker.hang.timeout.ms"]
        for child in self._children.values():
            heartbeat_ns = self._fabric.processes.heartbeat_ns(child.process_id)
            if child.pid and restart_policy.is_hung(heartbeat_ns, now_ns, timeout_ms):
                _log.error("process hangs role=%s pid=%d silent_ms=%d: killed", self.wiring.title(child.process_id),
                           child.pid, (now_ns - heartbeat_ns) // 1_000_000)  # fmt: skip
                os.kill(child.pid, signal.SIGKILL)
                return
        self._notifier.send("WATCHDOG=1" if self._is_ready else "EXTEND_TIMEOUT_USEC=30000000")

    def _stop(self) -> None:
        """SIGTERM role by role, each waited for, all within STOP_DEADLINE_MS."""
        self._notifier.send("STOPPING=1")
        deadline_ms = _now_ms() + STOP_DEADLINE_MS
        for role in STOP_ORDER:
            group = [child for child in self._children.values() if self.wiring.role(child.process_id) is role]
            if role is Role.HOUSEKEEPER:
                self._fabric.processes.set_clean_stop(self._is_clean())
            for child in group:
                if child.pid:
                    os.kill(child.pid, signal.SIGTERM)
            while any(child.pid for child in group) and _now_ms() < deadline_ms:
                time.sleep(0.002)
                self._reap()
        late = [self.wiring.title(child.process_id) for child in self._children.values() if child.pid]
        if late:
            _log.error("not stopped in time, killed: %s", " ".join(late))
            self._exit_code = self._exit_code or EXIT_FAILED
        _log.info("stopped exit_code=%d", self._exit_code)

    def _is_clean(self) -> bool:
        """Whether every partition worker closed its logs in this stop."""
        return all(
            not child.pid and child.exit_codes[-1:] == [EXIT_CLEAN]
            for child in self._children.values()
            if self.wiring.role(child.process_id) is Role.PARTITION
        )

    def _kill_all(self) -> None:
        for child in self._children.values():
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                child.pid = 0


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000

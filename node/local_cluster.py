"""Several nodes on one machine, for trying: `headrace dev --nodes 3`.

Runs in: the process that the command began. It forks one supervisor for each node, each in a process group of its own, and
treats them as systemd would under the shipped unit (Restart=on-failure):

    killed, or ended with a failure      started again after a second, doubled each time while it dies soon; on its port
    78, an invalid setting               all stop, with 78
    a failure before it ever served      all stop, with its code: a port in use would be in use again
    SIGTERM by hand, ended with 0        stays stopped, so that a cluster without it can be tried; a log line says how to
                                         start it: `headrace start` with the file below; when all have, so does this

A stop goes to all nodes at once, each takes what a node takes. What SIGKILL left of one in /dev/shm is swept at the end. Should
this process be killed, the kernel sends its nodes SIGTERM.

    DIR/node-1/logs                 node 1's log directory
    DIR/node-1/server.properties    its settings, written when it serves, ports chosen
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from headrace import exit_codes
from headrace.backoff import pause_after
from headrace.errors import ConfigError, HeadraceError
from headrace.limits import (
    DEATHS_BEFORE_READY_MAX,
    LEAVE_MS_MAX,
    LOCAL_NODES_MAX,
    LOCAL_RESTART_FIRST_MS,
    LOCAL_RESTART_MAX_MS,
    LOCAL_STOP_MAX_MS,
    PORT_WAIT_MS,
    STOP_DEADLINE_MS,
)
from headrace.node.children import EntryPoint, load_entry_points
from headrace.node.log_dirs import LogDirs
from headrace.node.logging_setup import set_up_logging
from headrace.node.notify import Notifier
from headrace.node.signals import SignalInbox, blocked
from headrace.node.supervisor import Supervisor
from headrace.properties import write_properties_file
from headrace.settings import Settings, parse_listener
from headrace.shm.region import region_prefix, sweep
from headrace.shm.wiring import Role

STARTING_POLL_MS = 20
TICK_INTERVAL_MS = 250
QUIET_MS = 10_000  # a node that serves that long has recovered from its deaths
ADDRESS_BYTES = 1024
STDOUT_FD = 1
SETTINGS_FILE = "server.properties"
OWN_SETTINGS = ("broker.id", "listeners", "log.dirs")  # each node has its own
# One worker of each kind and small tables: some 25 MB of shared memory and four processes a node
SMALL = {
    "headrace.network.workers": "1",
    "headrace.partition.workers": "1",
    "headrace.partitions.max": "1024",
    "headrace.cluster.partitions.max": "4096",
    "headrace.request.ring.bytes": str(2 << 20),
    "headrace.receive.arena.bytes": str(1 << 20),
}
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15

assert LOCAL_STOP_MAX_MS > LEAVE_MS_MAX + STOP_DEADLINE_MS

_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class LocalNode:
    """One node over all its lives. Written by the loop only."""

    settings: Settings
    directory: Path
    pid: int = 0  # of its supervisor; 0 while it does not run
    reading: int = -1  # where it tells its address; -1: told, or not running
    bootstrap: str = ""  # once it has served
    ready_ms: int = 0  # when this life began to serve; 0: it does not yet
    deaths: int = 0  # in a row
    due_ms: int | None = None  # when it starts again
    exit_code: int | None = None  # of its last life; -n for signal n

    @property
    def node_id(self) -> int:
        return int(self.settings["broker.id"])


def settings_of_nodes(directory: Path, count: int, port: int, given: Mapping[str, str]) -> list[dict[str, str]]:
    """What each node is given: ids from 0, ports from `port` (0: any free ones), directories below `directory`.

    given    settings of all nodes, which win
    raises   ConfigError, for one that each node has for itself, or ports beyond the last
    """
    assert 1 <= count <= LOCAL_NODES_MAX
    for key in OWN_SETTINGS:
        if key in given:
            raise ConfigError(key, given[key], f"can't be set for {count} nodes: each has its own")
    if port and port + count - 1 >= 1 << 16:
        raise ConfigError("--port", port, f"{count} nodes need the ports up to {port + count - 1}")
    return [
        {
            "broker.id": str(node_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{port and port + node_id}",
            "log.dirs": str(directory / f"node-{node_id}" / "logs"),
            **SMALL,
            **given,
        }
        for node_id in range(count)
    ]


class LocalCluster:
    """The nodes, from their first start to their end.

    nodes          settings of each, as `settings_of_nodes` has them, checked
    entry_points   what the roles run; the real ones where None
    on_ready       called once, when all serve, with their addresses in order
    on_tick        called with the monotonic time (ms) at every tick; must not wait
    """

    def __init__(
        self,
        nodes: Sequence[Settings],
        *,
        entry_points: dict[Role, EntryPoint] | None = None,
        on_ready: Callable[[list[str]], None] | None = None,
        on_tick: Callable[[int], None] | None = None,
    ) -> None:
        self._nodes = [LocalNode(settings, Path(settings["log.dirs"][0]).parent) for settings in nodes]
        self._entry_points = entry_points
        self._on_ready = on_ready
        self._on_tick = on_tick
        self._inbox: SignalInbox
        self._is_ready = False
        self._exit_code = exit_codes.CLEAN
        self._next_tick_ms = 0

    def run(self) -> int:
        """Run the nodes until told to stop, or until none is left; returns the exit code.

        raises   BrokenInstallation
        """
        self._entry_points = self._entry_points or load_entry_points()  # before the forks: nodes share it
        with SignalInbox() as self._inbox:
            try:
                for node in self._nodes:
                    self._start(node)
                self._supervise()
            finally:
                self._stop()
                self._sweep()
        return self._exit_code

    def _supervise(self) -> None:
        while self._exit_code == exit_codes.CLEAN and self._inbox.stop_signal is None:
            if not any(node.pid or node.due_ms is not None for node in self._nodes):
                return  # each was stopped by hand
            self._inbox.wait(TICK_INTERVAL_MS if self._is_settled() else STARTING_POLL_MS)
            now_ms = _now_ms()
            self._reap(now_ms)
            for node in self._nodes:
                self._hear(node, now_ms)
                if node.due_ms is not None and now_ms >= node.due_ms:
                    self._start(node)
            if not self._is_ready and all(node.bootstrap for node in self._nodes):
                self._announce()
            if self._on_tick is not None and now_ms >= self._next_tick_ms:
                self._next_tick_ms = now_ms + TICK_INTERVAL_MS
                self._on_tick(now_ms)

    def _is_settled(self) -> bool:
        """Whether nothing starts: readiness comes by a pipe that does not wake us."""
        return all(node.reading < 0 for node in self._nodes)

    def _announce(self) -> None:
        self._is_ready = True
        try:
            if self._on_ready is not None:
                self._on_ready([node.bootstrap for node in self._nodes])
        except OSError as failure:  # the reader of our standard output is gone: no reason to stop serving
            _log.warning("ready line not printed reason=%s", failure)

    # A node's life

    def _start(self, node: LocalNode) -> None:
        node.due_ms = None
        node.ready_ms = 0
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        sys.stdout.flush()
        parent = os.getpid()
        with blocked():
            pid = os.fork()
            if not pid:
                self._inbox.forget_in_child()
        if not pid:
            self._be_node(node, reading, writing, parent)
        os.close(writing)
        node.pid, node.reading = pid, reading
        _log.info("node started node=%d pid=%d", node.node_id, pid)

    def _be_node(self, node: LocalNode, reading: int, writing: int, parent: int) -> NoReturn:
        code = exit_codes.CRASHED
        try:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(exit_codes.CLEAN)
            os.setpgid(0, 0)  # Ctrl-C reaches our parent alone
            _libc.prctl(_PR_SET_NAME, f"hr-node-{node.node_id}".encode())
            os.close(reading)
            for other in self._nodes:
                if other.reading >= 0:
                    os.close(other.reading)
            os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT_FD)  # the ready line is our parent's
            set_up_logging(prefix=f"[node {node.node_id}] ")
            code = self._run_node(node, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            try:
                sys.stderr.flush()
            finally:
                os._exit(code)

    def _run_node(self, node: LocalNode, writing: int) -> int:
        supervisor = Supervisor(
            node.settings,
            entry_points=self._entry_points,
            notifier=Notifier({}),
            on_ready=lambda bootstrap: _tell(writing, bootstrap),
            port_wait_ms=PORT_WAIT_MS if node.bootstrap else 0,
        )
        try:
            return supervisor.run()
        except HeadraceError as failure:
            _log.error("node exits reason=%s", failure)
            return exit_codes.CONFIG if isinstance(failure, ConfigError) else exit_codes.FAILED

    def _hear(self, node: LocalNode, now_ms: int) -> None:
        """Take a node's address when it tells it. It serves from then on, on that port in all its lives."""
        if node.reading < 0:
            return
        try:
            told = os.read(node.reading, ADDRESS_BYTES)
        except BlockingIOError:
            return
        self._forget_pipe(node)
        if not told:
            return  # it ended
        node.bootstrap, node.ready_ms = told.decode().strip(), now_ms
        protocol, host, _port = parse_listener(node.settings["listeners"][0])
        node.settings = node.settings.with_values(
            {"listeners": f"{protocol}://{host}:{node.bootstrap.rpartition(':')[2]}"}
        )
        _log.info("node serves node=%d bootstrap=%s", node.node_id, node.bootstrap)
        try:
            path = node.directory / SETTINGS_FILE
            write_properties_file(path, node.settings.explicit, "written by `headrace dev` at each start")
        except OSError as failure:
            _log.warning("settings not written node=%d reason=%s", node.node_id, failure)

    def _forget_pipe(self, node: LocalNode) -> None:
        os.close(node.reading)
        node.reading = -1

    def _reap(self, now_ms: int) -> None:
        for node in self._nodes:
            if not node.pid:
                continue
            pid, status = os.waitpid(node.pid, os.WNOHANG)
            if pid:
                self._hear(node, now_ms)
                if node.reading >= 0:
                    self._forget_pipe(node)
                node.pid, node.exit_code = 0, os.waitstatus_to_exitcode(status)
                self._note_end(node, pid, now_ms)

    def _note_end(self, node: LocalNode, pid: int, now_ms: int) -> None:
        """What follows from the end of a node that nobody of us stopped."""
        code = node.exit_code
        assert code is not None
        if code in (exit_codes.CLEAN, -signal.SIGTERM):
            _log.warning(
                "node stopped node=%d pid=%d start_again_with='headrace start %s'",
                node.node_id, pid, node.directory / SETTINGS_FILE,
            )  # fmt: skip
            return
        if code == exit_codes.CONFIG or (code > 0 and not node.bootstrap):
            _log.error("node exited, stopping all nodes node=%d pid=%d exit_code=%d", node.node_id, pid, code)
            self._exit_code = code
            return
        node.deaths = 1 if node.ready_ms and now_ms - node.ready_ms >= QUIET_MS else node.deaths + 1
        if not node.bootstrap and node.deaths >= DEATHS_BEFORE_READY_MAX:
            _log.error(
                "node never became ready, stopping all nodes node=%d deaths_in_a_row=%d", node.node_id, node.deaths
            )
            self._exit_code = exit_codes.FAILED
            return
        wait_ms = restart_wait_ms(node.deaths)
        node.due_ms = now_ms + wait_ms
        _log.warning("node died node=%d pid=%d exit_code=%d restart_in_ms=%d", node.node_id, pid, code, wait_ms)

    # The stop

    def _stop(self) -> None:
        """SIGTERM to all at once; SIGKILL to who has not ended when even the last share of a stop is over."""
        running = [node for node in self._nodes if node.pid]
        for node in running:
            os.kill(node.pid, signal.SIGTERM)
        deadline_ms = _now_ms() + LOCAL_STOP_MAX_MS
        while any(node.pid for node in running):
            left_ms = deadline_ms - _now_ms()
            for node in running:
                if node.pid and left_ms <= 0:
                    _log.error("node not stopped in time, killed node=%d pid=%d", node.node_id, node.pid)
                    os.kill(node.pid, signal.SIGKILL)
                if node.pid:
                    self._note_stopped(node, os.WNOHANG if left_ms > 0 else 0)
            if any(node.pid for node in running):
                self._inbox.wait(min(STARTING_POLL_MS, max(0, left_ms)))
        _log.info("all nodes stopped exit_code=%d", self._exit_code)

    def _note_stopped(self, node: LocalNode, flags: int) -> None:
        pid, status = os.waitpid(node.pid, flags)
        if not pid:
            return
        node.pid, node.exit_code = 0, os.waitstatus_to_exitcode(status)
        if node.reading >= 0:
            self._forget_pipe(node)
        if node.exit_code not in (exit_codes.CLEAN, -signal.SIGTERM):
            _log.warning("node did not stop cleanly node=%d exit_code=%d", node.node_id, node.exit_code)
            self._exit_code = self._exit_code or exit_codes.FAILED

    def _sweep(self) -> None:
        """Shared memory of nodes that were killed and did not start again."""
        for node in self._nodes:
            if node.exit_code in (exit_codes.CLEAN, None):
                continue
            log_dirs = LogDirs(node.settings["log.dirs"])
            try:
                log_dirs.lock()
            except HeadraceError as failure:
                _log.warning("shared memory not swept node=%d reason=%s", node.node_id, failure)
                continue
            sweep(region_prefix(node.node_id, node.settings["log.dirs"][0]))
            log_dirs.unlock()


def restart_wait_ms(deaths_in_a_row: int) -> int:
    """Wait before the next start; `deaths_in_a_row` is 1 for the first death."""
    assert deaths_in_a_row >= 1
    return pause_after(deaths_in_a_row, LOCAL_RESTART_FIRST_MS, LOCAL_RESTART_MAX_MS)


def _tell(writing: int, bootstrap: str) -> None:
    os.write(writing, f"{bootstrap}\n".encode())
    os.close(writing)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000

"""The supervisor: creates the shared memory, forks the node's processes, restarts those that die, stops them in order.

Runs in: the process that `headrace start` or `headrace dev` began. It has no threads and touches no data; of
the process table it writes pids, starts, exit codes, generations, the clean-stop word and the steady date. Its loop sleeps on
the signal inbox:

    SIGCHLD          waitpid of its own pids -> renew the fabric -> restart (restart_policy)
    SIGTERM, SIGINT  stop role by role (stop_plan)
    SIGHUP           reload the settings (`headrace start`), or stop (`headrace dev`: the terminal is gone)
    every tick       heartbeats, watchdog, status, steady date

A child that ends with 78 (EX_CONFIG) ends the node: a restart would not help. One that dies again and again before
the node has served ends it with 1, so that its parent knows. Should the supervisor itself be killed, its children
die with it, and the next start sweeps their shared memory.

Source: blueprint, rules 5 to 7; PostgreSQL's postmaster for the order of things after a death.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Collection

from headrace import exit_codes
from headrace.clock import read_monotonic_ns, read_wall_ns
from headrace.errors import HeadraceError, NotAvailable
from headrace.limits import DEATHS_BEFORE_READY_MAX, FORK_RETRY_MS, LEAVE_MS_MAX, RENEWAL_POLL_MS, STOP_STEP_MS
from headrace.node import restart_policy, status
from headrace.node.children import FIRST_ROLES, Child, EntryPoint, fork_child, load_entry_points
from headrace.node.descriptors import prepare_descriptors
from headrace.node.listeners import Listeners, open_listeners
from headrace.node.log_dirs import LogDirs
from headrace.node.notify import Notifier
from headrace.node.placement import check_cpus, placement
from headrace.node.signals import SignalInbox
from headrace.node.stop_plan import STOP_PLAN, StopClock
from headrace.node.zookeeper_status import is_zookeeper_away, zookeeper_troubles
from headrace.settings import Settings
from headrace.shm.counters import CLOSING_STEPS
from headrace.shm.fabric import Fabric
from headrace.shm.process_table import Leave, ProcessState
from headrace.shm.wiring import Role, Wiring

TICK_INTERVAL_MS = 250
STARTING_POLL_MS = 10  # readiness is seen in the process table, nothing rings for it; more often at first:
STARTING_POLL_SHARE = 100  # a start that has taken 200 ms is looked at after 2 more
LEAVE_POLL_MS = 10  # seen in the process table as well, while the node stops
RESTARTED_POLL_MS = 50  # the same, of one process while the node serves
START_EXTENSION_MS = 30_000  # what systemd grants at a time while a start makes progress
ORDINARY_STOPS = (exit_codes.CLEAN, -signal.SIGTERM)  # the latter: before the child had its handler

_log = logging.getLogger(__name__)


class Supervisor:
    """One node, from its first lock to its last.

    entry_points   what the roles run; the real ones where None
    on_ready       called once with `HOST:PORT`, after the ready line
    on_tick        called with the monotonic time (ms) at every tick; must not wait
    log_dirs       of the same settings, where the caller had to lock them earlier
    directory      what the ready line shows; the first log directory where None
    reload         reads the settings again; where None, SIGHUP is a stop
    port_wait_ms   how long a port that is taken is waited for
    """

    def __init__(
        self,
        settings: Settings,
        *,
        entry_points: dict[Role, EntryPoint] | None = None,
        notifier: Notifier | None = None,
        on_ready: Callable[[str], None] | None = None,
        on_tick: Callable[[int], None] | None = None,
        log_dirs: LogDirs | None = None,
        directory: str | None = None,
        reload: Callable[[], Settings] | None = None,
        port_wait_ms: int = 0,
    ) -> None:
        self._settings = settings
        self._entry_points = dict(entry_points or {})
        self._notifier = notifier or Notifier()
        self._on_ready = on_ready
        self._on_tick = on_tick
        self._log_dirs = log_dirs or LogDirs(settings["log.dirs"])
        self._directory = directory or settings["log.dirs"][0]
        self._load_again = reload
        self._port_wait_ms = port_wait_ms
        self._fabric: Fabric
        self._inbox: SignalInbox
        self._listeners = Listeners([], "", 0, "")
        self._children: list[Child] = []
        self._is_ready = False
        self._watched_ns = self._awake_ns = (
            time.monotonic_ns()
        )  # hung ones: last look, and since when looks are regular
        self._is_stopping = False
        self._exit_code = exit_codes.CLEAN
        self._end_reason = ""
        self._begun_ms = _now_ms()
        self._status = ""  # as it was told last
        self._news: list[str] = []  # of the last reload
        self._furthest = status.NO_PROGRESS
        self._next_tick_ms = 0
        self._next_watchdog_ms = 0

    @property
    def wiring(self) -> Wiring:
        return self._fabric.wiring

    def run(self) -> int:
        """Run the node until it is told to stop; returns the exit code.

        raises   ConfigError, NotAvailable, StorageFailed, BrokenInstallation, where it can't begin
        """
        check_cpus(self._settings)
        prepare_descriptors(self._settings)
        self._log_dirs.lock()
        try:
            with SignalInbox(hang_up_stops=self._load_again is None) as self._inbox:
                self._load(FIRST_ROLES)
                if self._take_port():
                    self._run_fabric()
        finally:
            self._listeners.close()
            self._log_dirs.unlock()
        _log.info("stopped exit_code=%d", self._exit_code)
        return self._exit_code

    def _take_port(self) -> bool:
        """Open the listeners, waiting for a port in use; False if a stop came first.

        raises   NotAvailable, where it takes longer than we may wait
        """
        deadline_ms = _now_ms() + self._port_wait_ms
        while self._inbox.stop_signal is None:
            try:
                self._listeners = open_listeners(self._settings)
                return True
            except NotAvailable as failure:
                if _now_ms() >= deadline_ms:
                    raise
                if not self._status:
                    _log.warning("waiting up to %d s: %s", self._port_wait_ms // 1000, failure)
                self._tell(f"waiting: {failure}")
                self._notifier.extend(START_EXTENSION_MS)
            self._inbox.wait(TICK_INTERVAL_MS)
        return False

    def _run_fabric(self) -> None:
        self._make_fabric()
        try:
            self._supervise()
        finally:
            self._kill_all()
            self._fabric.destroy()

    def _make_fabric(self) -> None:
        """All shared memory, as the log directories were found."""
        clean_directories = self._log_dirs.take_clean_markers()
        self._fabric = Fabric.create(
            self._settings,
            host=self._listeners.host,
            port=self._listeners.port,
            clean_directories=clean_directories,
            suspect_directories=self._log_dirs.suspect,
            new_directories=self._log_dirs.new,
            offline_directories=self._log_dirs.offline,
        )

    def _supervise(self) -> None:
        self._begin()
        while self._exit_code == exit_codes.CLEAN and self._inbox.stop_signal is None:
            self._inbox.wait(self._sleep_bound_ms(_now_ms()))
            self._turn()
        self._stop(self._inbox.stop_signal or self._end_reason)

    def _begin(self) -> None:
        """Fork every process, those of FIRST_ROLES before the others' code is imported."""
        self._children = [Child(process_id) for process_id in range(self.wiring.process_count)]
        self._tell_placement()
        later = [role for role in Role if role not in FIRST_ROLES]
        for roles in (FIRST_ROLES, later):
            self._load(roles)
            for child in self._children:
                if self.wiring.role(child.process_id) in roles:
                    self._start(child)

    def _turn(self) -> None:
        """What is due after a sleep: who died, who starts, how the node is."""
        self._reap()
        now_ms = _now_ms()
        for child in self._children:
            if child.due_ms is not None and now_ms >= child.due_ms:
                self._start(child)
        self._note_ready()
        if not self._is_ready:
            self._announce_when_ready()
        elif self._inbox.take_reload():
            self._reload()
        if now_ms >= self._next_tick_ms:
            self._next_tick_ms = now_ms + TICK_INTERVAL_MS
            self._look(now_ms)

    def _sleep_bound_ms(self, now_ms: int) -> int:
        """Time until the next tick or the next start, whichever is earlier."""
        if not self._is_ready:
            return min(STARTING_POLL_MS, max(1, (now_ms - self._begun_ms) // STARTING_POLL_SHARE))
        dues_ms = [child.due_ms for child in self._children if child.due_ms is not None]
        if any(child.pid and not child.ready_ns for child in self._children):
            dues_ms.append(now_ms + RESTARTED_POLL_MS)
        return max(0, min([self._next_tick_ms, *dues_ms]) - now_ms)

    # Children

    def _load(self, roles: Collection[Role]) -> None:
        """Have the code of these roles imported. raises BrokenInstallation"""
        missing = [role for role in roles if role not in self._entry_points]
        if missing:
            self._entry_points.update(load_entry_points(missing))

    def _start(self, child: Child) -> None:
        if not self._fabric.settle(child.process_id):  # no room for rings, and peers still hold its old ones
            child.due_ms = _now_ms() + RENEWAL_POLL_MS
            self._end_holders(child)
            return
        entry_point = self._entry_points[self.wiring.role(child.process_id)]
        started_ns = time.monotonic_ns()
        try:
            child.pid = fork_child(self.wiring, child.process_id, entry_point, self._listeners.sockets, self._inbox)
        except OSError as failure:  # no memory, or too many processes
            _log.error("process not started, retrying role=%s reason=%s", self.wiring.title(child.process_id), failure)
            child.due_ms = _now_ms() + FORK_RETRY_MS
            return
        child.due_ms = None
        child.is_killed = False
        child.ready_ns = 0
        child.started_ns = started_ns
        self._fabric.processes.set_started(child.process_id, child.pid)

    def _end_holders(self, child: Child) -> None:
        """Kill the peers that hold a dead process's rings for too long: it can't start without them."""
        timeout_ms = self._settings["headrace.worker.hang.timeout.ms"]
        if _now_ms() - child.died_ms <= timeout_ms:
            return
        for peer in (self._children[process_id] for process_id in self._fabric.holders(child.process_id)):
            if peer.pid and not peer.is_killed:
                role, pid = self.wiring.title(peer.process_id), peer.pid
                _log.error(
                    "process still holds replaced rings, killed role=%s pid=%d timeout_ms=%d", role, pid, timeout_ms
                )
                os.kill(pid, signal.SIGKILL)
                peer.is_killed = True

    def _reap(self) -> None:
        """Reap our own children, and no other processes."""
        for child in self._children:
            if not child.pid:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if not pid:
                continue
            child.pid = 0
            child.exit_code = os.waitstatus_to_exitcode(status)
            code = child.exit_code if child.exit_code >= 0 else 128 - child.exit_code
            self._fabric.processes.set_exited(child.process_id, code)
            if self._is_stopping:
                self._note_stopped(child)
            else:
                self._note_death(child, pid)

    def _note_death(self, child: Child, pid: int) -> None:
        """Void what a dead process held, and say when its successor starts."""
        assert child.exit_code is not None
        title = self.wiring.title(child.process_id)
        if child.exit_code == exit_codes.CONFIG:
            _log.error("stopping, invalid setting role=%s pid=%d exit_code=%d", title, pid, child.exit_code)
            self._exit_code, self._end_reason = exit_codes.CONFIG, "EX_CONFIG"
            return
        generation = self._fabric.renew(child.process_id)
        now_ns = time.monotonic_ns()
        lived_ms = (now_ns - child.started_ns) // 1_000_000
        child.deaths = restart_policy.deaths_in_a_row(child.deaths, child.served_ms(now_ns))
        if not self._is_ready and child.deaths >= DEATHS_BEFORE_READY_MAX:
            self._give_up(child, title)
            return
        wait_ms = restart_policy.backoff_ms(child.deaths)
        child.died_ms = now_ns // 1_000_000
        child.due_ms = child.died_ms + wait_ms
        _log.warning(
            "process died role=%s pid=%d %s lived_ms=%d restarts=%d generation=%d restart_in_ms=%d",
            title,
            pid,
            _reason(child.exit_code),
            lived_ms,
            self._fabric.processes.starts(child.process_id),
            generation,
            wait_ms,
        )

    def _give_up(self, child: Child, title: str) -> None:
        assert child.exit_code is not None
        last = _reason(child.exit_code)
        _log.error(
            "giving up, a process never became ready role=%s deaths_in_a_row=%d last=%s", title, child.deaths, last
        )
        self._exit_code, self._end_reason = (
            exit_codes.FAILED,
            f"{title} died {child.deaths} times before it became ready",
        )

    def _note_stopped(self, child: Child) -> None:
        assert child.exit_code is not None
        if child.exit_code != exit_codes.CLEAN:
            title = self.wiring.title(child.process_id)
            _log.warning("process did not stop cleanly role=%s %s", title, _reason(child.exit_code))
        if child.exit_code not in ORDINARY_STOPS:
            self._exit_code = self._exit_code or exit_codes.FAILED

    # Health

    def _note_ready(self) -> None:
        """When each process began to serve, as far as we saw it."""
        for child in self._children:
            if (
                child.pid
                and not child.ready_ns
                and self._fabric.processes.state(child.process_id) is ProcessState.READY
            ):
                child.ready_ns = time.monotonic_ns()
                self._fabric.doorbell(child.process_id).force()  # it turns once, and is settled

    def _announce_when_ready(self) -> None:
        """Say that the node serves, once every process does, and none of them died of its first work."""
        processes, now_ns = self._fabric.processes, time.monotonic_ns()
        for child in self._children:
            heartbeat_ns = processes.heartbeat_ns(child.process_id)
            if not child.pid or not restart_policy.is_settled(child.deaths, child.ready_ns, heartbeat_ns, now_ns):
                return
        self._is_ready = True
        bootstrap, bound = self._listeners.bootstrap, self._listeners.bound
        listening = "" if bound == bootstrap else f" listening={bound}"
        zookeeper = self._settings["zookeeper.connect"]
        line = f"ready bootstrap={bootstrap}{listening} zookeeper={zookeeper} dir={self._directory}"
        self._status = self._serving_line()
        self._notifier.ready(self._status)
        try:
            print(line, flush=True)
            if self._on_ready is not None:
                self._on_ready(bootstrap)
        except OSError as failure:  # the reader of our standard output is gone: no reason to stop serving
            _log.warning("ready line not printed reason=%s", failure)
        _log.info("serving bootstrap=%s listening=%s processes=%d", bootstrap, bound, len(self._children))

    def _look(self, now_ms: int) -> None:
        """End what hangs; tell the service manager how we are, unless something hangs."""
        self._fabric.date.turn(read_wall_ns(), read_monotonic_ns())
        if self._on_tick is not None:
            self._on_tick(now_ms)
        if self._kill_hung():
            return
        if self._is_ready:
            self._tell(self._serving_line())
        else:
            self._tell_start()
        interval_ms = self._notifier.watchdog_interval_ms
        if interval_ms is not None and now_ms + TICK_INTERVAL_MS > self._next_watchdog_ms:  # due before the next tick
            self._next_watchdog_ms = now_ms + interval_ms
            self._notifier.watchdog()

    def _tell_start(self) -> None:
        """What the start is at; more time only for as long as it gets on."""
        now = status.progress(self._fabric.processes, self.wiring)
        self._tell(status.start_line(now, self.wiring.process_count, self._troubles()))
        if now.beyond(self._furthest) or is_zookeeper_away(self._fabric.processes, self.wiring):
            self._furthest = now.furthest(self._furthest)
            self._notifier.extend(START_EXTENSION_MS)

    def _serving_line(self) -> str:
        return status.serving_line(self._listeners.bootstrap, self._listeners.bound, self._troubles(), self._news)

    def _troubles(self) -> list[str]:
        return [
            *status.child_troubles(self._children, self.wiring, time.monotonic_ns()),
            *status.directory_troubles(self._fabric.processes, self.wiring),
            *zookeeper_troubles(self._fabric.processes, self.wiring),
        ]

    def _tell(self, line: str) -> None:
        if line != self._status:
            self._status = line
            self._notifier.status(line)

    def _tell_placement(self) -> None:
        places = placement(self._settings)
        if places:
            _log.info("workers pinned %s", " ".join(f"{self.wiring.title(one)}={core}" for one, core in places.items()))

    def _reload(self) -> None:
        """Read the settings again, and say which of them only a restart applies: all, for now."""
        assert self._load_again is not None
        self._notifier.reloading(time.monotonic_ns() // 1000)
        try:
            settings = self._load_again()
        except HeadraceError as failure:
            _log.error("reload refused, settings unchanged reason=%s", failure)
            self._news = [f"reload refused: {failure}"]
        else:
            changed = sorted(key for key in settings if settings.text(key) != self._settings.text(key))
            _log.info("settings reloaded changed=%s", ",".join(changed) or "none")
            for key in changed:
                _log.warning("setting changed, takes effect after a restart key=%s", key)
            self._news = [f"effective after a restart: {', '.join(changed)}"] if changed else []
        self._status = self._serving_line()
        self._notifier.ready(self._status)

    def _kill_hung(self) -> bool:
        """SIGKILL to processes without a sign of life; True while one of them is there."""
        now_ns = time.monotonic_ns()
        timeout_ms = self._settings["headrace.worker.hang.timeout.ms"]
        if now_ns - self._watched_ns > timeout_ms * 1_000_000 // 2:
            self._awake_ns = now_ns  # we were stopped ourselves, most likely the whole node: all have their time again
        self._watched_ns = now_ns
        found = False
        for child in self._children:
            heartbeat_ns = self._fabric.processes.heartbeat_ns(child.process_id)
            since_ns = max(child.started_ns, self._awake_ns)
            if not child.pid or not restart_policy.is_hung(since_ns, heartbeat_ns, now_ns, timeout_ms):
                continue
            found = True
            if not child.is_killed:
                title = self.wiring.title(child.process_id)
                _log.error("process hung, killed role=%s pid=%d timeout_ms=%d", title, child.pid, timeout_ms)
                os.kill(child.pid, signal.SIGKILL)
                child.is_killed = True
        return found

    # The stop

    def _stop(self, reason: str) -> None:
        """SIGTERM role by role; who is late, and does not get on, is killed, so that the next role has its time."""
        self._is_stopping = True
        _log.info("stopping reason=%s", reason)
        self._notifier.stopping(f"stopping: {reason}")
        self._leave(_now_ms())
        clock = StopClock(_now_ms())
        for role in STOP_PLAN:
            children = [child for child in self._children if self.wiring.role(child.process_id) is role]
            if role is Role.HOUSEKEEPER:
                self._fabric.processes.set_clean_stop(self._may_mark_clean())
            for child in children:
                if child.pid:
                    os.kill(child.pid, signal.SIGTERM)
            if role is Role.NETWORK:
                self._listeners.close()  # a client that found them open would wait for an answer until the node has ended
            clock.begin(role, self._closing_steps(children))
            while any(child.pid for child in children):
                left_ms = clock.left_ms(_now_ms())
                if left_ms > 0:
                    self._inbox.wait(left_ms)
                    self._reap()
                elif clock.extend(steps := self._closing_steps(children)):
                    _log.info("still stopping, progress seen role=%s steps=%d", role.name.lower(), steps)
                    self._notifier.extend(2 * STOP_STEP_MS)
                else:
                    break
            self._kill_late(children)

    def _closing_steps(self, children: list[Child]) -> int:
        counters = [self._fabric.processes.counters(child.process_id) for child in children]
        return sum(one.get(CLOSING_STEPS) for one in counters)

    def _leave(self, begun_ms: int) -> None:
        """Where other brokers are alive, let the controller process have leaders moved to them: clients find them at once."""
        controller_id = self.wiring.controller_id
        child, processes = self._children[controller_id], self._fabric.processes
        if not child.pid or processes.leave(controller_id) is not Leave.WANTED:
            return
        processes.set_leaving()
        self._fabric.doorbell(controller_id).force()
        while child.pid and processes.leave(controller_id) is Leave.WANTED:
            left_ms = begun_ms + LEAVE_MS_MAX - _now_ms()
            if left_ms <= 0:
                _log.warning("leaders not moved in time, stopping anyway timeout_ms=%d", LEAVE_MS_MAX)
                return
            self._inbox.wait(min(left_ms, LEAVE_POLL_MS))
            self._reap()

    def _may_mark_clean(self) -> bool:
        """Whether what the rows say of who had a log open is true: then the housekeeper may judge each directory by it."""
        workers = [child for child in self._children if self.wiring.role(child.process_id) is Role.PARTITION]
        in_order = [self._left_in_order(child) for child in workers]  # each of them says so where it is not
        return all(in_order)

    def _left_in_order(self, child: Child) -> bool:
        """A partition worker closed what its rows show, or they are of a generation that is void. Says so where not."""
        if child.exit_code is None:
            return True  # it was never forked, and had nothing open
        title, ended = self.wiring.title(child.process_id), _reason(child.exit_code)
        if child.due_ms is not None:
            _log.warning(
                "stopped before a dead process was restarted role=%s %s: directories with logs that it had open get "
                "no clean-shutdown marker, the next start recovers their logs",
                title, ended,
            )  # fmt: skip
            return True
        if child.exit_code in ORDINARY_STOPS:
            return True
        _log.warning("no clean-shutdown marker in any directory: logs were not closed role=%s %s", title, ended)
        return False

    def _kill_late(self, children: list[Child]) -> None:
        late = [child for child in children if child.pid]
        for child in late:
            _log.error("not stopped in time, killed role=%s pid=%d", self.wiring.title(child.process_id), child.pid)
        self._kill(late)
        if late:
            self._exit_code = self._exit_code or exit_codes.FAILED

    def _kill_all(self) -> None:
        self._kill(self._children)

    def _kill(self, children: list[Child]) -> None:
        running = [child for child in children if child.pid]
        for child in running:
            os.kill(child.pid, signal.SIGKILL)
        for child in running:
            os.waitpid(child.pid, 0)
            child.pid = 0
            child.exit_code = -signal.SIGKILL


def _reason(exit_code: int) -> str:
    return f"signal={-exit_code} ({signal.strsignal(-exit_code)})" if exit_code < 0 else f"exit_code={exit_code}"


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000

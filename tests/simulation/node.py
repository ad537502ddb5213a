"""One simulated node: the real supervisor's decisions over simulated processes.

    begin -> [turn]* -> killed, or without power -> begin ...         stop: the real plan of a stop, while all others go on

The supervisor's loop is `Supervisor._turn`; what waits, forks, reaps and signals is the simulation's.
"""

import signal
from types import SimpleNamespace

from headrace.controller import process as controller_process
from headrace.node.listeners import Listeners, address
from headrace.node.supervisor import Supervisor
from headrace.settings import Settings
from headrace.shm.wiring import Role
from headrace.workers.housekeeper import worker as housekeeper_worker
from headrace.workers.network import worker as network_worker
from headrace.workers.partition import worker as partition_worker
from tests.simulation.kernel import MS, Killed
from tests.simulation.network import Listener
from tests.simulation.process import SimulatedProcess

PORT = 9092
SOONEST_MS = 1  # between two turns of a supervisor
ENTRY_POINTS = {
    Role.NETWORK: network_worker.run,
    Role.PARTITION: partition_worker.run,
    Role.CONTROLLER: controller_process.run,
    Role.HOUSEKEEPER: housekeeper_worker.run,
}


class SteppedSupervisor(Supervisor):
    """The supervisor, a turn at a time."""

    def begin(self, machine, wait):
        """As `run` and `_run_fabric` do, up to the loop."""
        self._log_dirs.lock()
        self._inbox = SimpleNamespace(wait=wait, stop_signal=None, take_reload=lambda: False)
        host, port = machine.host, PORT
        machine.listener = Listener(machine.kernel.network, (host, port))
        sockets = [SimpleNamespace(close=machine.listener.close)]
        self._listeners = Listeners(sockets, host, port, address(host, port))
        self._make_fabric()

    def start_children(self):
        self._begin()

    def turn(self):
        """Returns the ms until the next one."""
        self._turn()
        return self._sleep_bound_ms(self.machine_ms())

    def machine_ms(self):
        return self._fabric.wiring and self.kernel.now_ms

    @property
    def has_ended(self):
        return bool(self._exit_code)

    @property
    def is_ready(self):
        return self._is_ready

    def finish(self):
        """A stop, to its end."""
        self._stop("SIGTERM")
        self._kill_all()
        self._fabric.destroy()
        self._listeners.close()
        self._log_dirs.unlock()
        return self._exit_code


class Node:
    """One node over all its lives. It runs as a process of its machine: the supervisor's."""

    def __init__(self, cluster, node_id, machine, settings):
        self.cluster = cluster
        self.node_id = node_id
        self.machine = machine
        self.kernel = machine.kernel
        self.name = f"{node_id}/supervisor"
        self.settings = Settings(settings)
        machine.node = self
        self.supervisor = None
        self.children = {}  # by pid
        self._next_pid = 1000 * (node_id + 1)
        self._is_new = False
        self.is_stopping = False
        self.is_asked_to_stop = False
        self.wake_ns = 0
        self.paused_until_ns = 0
        # as a process
        self.is_dead = True
        self.calls_left = 0
        self.files = {}
        self.sockets = {}

    @property
    def is_up(self):
        return self.supervisor is not None

    @property
    def is_serving(self):
        return self.supervisor is not None and self.supervisor.is_ready and not self.is_stopping

    def start(self):
        """The node begins: at its first step."""
        assert self.supervisor is None
        self.kernel.note(self.name, "starts")
        self.is_dead = False
        self._is_new = True
        self.is_asked_to_stop = False
        self.wake_ns = 0
        self.supervisor = SteppedSupervisor(self.settings, entry_points=dict(ENTRY_POINTS))
        self.supervisor.kernel = self.kernel

    def is_runnable(self, now_ns):
        return self.supervisor is not None and not self.is_stopping and now_ns >= self.due_ns

    @property
    def due_ns(self):
        return max(self.wake_ns, self.paused_until_ns)

    def step(self):
        kernel = self.kernel
        before, kernel.running = kernel.running, self
        try:
            if self._is_new:
                self._is_new = False
                self.supervisor.begin(self.machine, self._wait)
                self.supervisor.start_children()
                wait_ms = 0
            elif self.is_asked_to_stop:
                self._finish()
                return
            else:
                wait_ms = self.supervisor.turn()
            if self.supervisor.has_ended:
                kernel.anomaly(f"{self.name} ends by itself")
                self._finish()
                return
            self.wake_ns = kernel.now_ns + max(SOONEST_MS, wait_ms) * MS
            kernel.note(self.name, f"sleeps {wait_ms}")
        except Killed:
            pass
        finally:
            kernel.running = before

    def kill(self):
        """SIGKILL to all of the node."""
        self.kernel.note(self.name, "is killed with all its processes")
        self._drop()
        self.machine.kill_all("node killed")

    def lose_power(self):
        self.kernel.note(self.name, "loses power")
        self._drop()
        self.machine.lose_power()

    def power_on(self):
        self.machine.power_on()
        self.start()

    def stop(self):
        """SIGTERM to the supervisor."""
        if self.supervisor is not None and not self._is_new:
            self.kernel.note(self.name, "is asked to stop")
            self.is_asked_to_stop = True
            self.wake_ns = 0

    def _finish(self):
        self.is_stopping = True
        try:
            code = self.supervisor.finish()
            self.kernel.note(self.name, f"has stopped with {code}")
            self.machine.listener = None
            self._drop()
        finally:
            self.is_stopping = False

    def _drop(self):
        self.supervisor = None
        self.is_asked_to_stop = False
        self.is_dead = True
        self.children.clear()
        self.kernel.files.bury(self)

    def _wait(self, timeout_ms):
        """The supervisor sleeps in the middle of a stop: everybody else goes on."""
        supervisor = self.supervisor
        before, self.kernel.running = self.kernel.running, None
        try:
            pids = [pid for pid, child in self.children.items() if not child.is_dead]
            self.cluster.run(
                timeout_ms,
                lambda: self.supervisor is not supervisor or any(self.children[pid].is_dead for pid in pids),
            )
        finally:
            self.kernel.running = before
        if self.supervisor is not supervisor:
            raise Killed

    # What the supervisor asks of the system

    def fork(self, process_id, entry_point):
        self._next_pid += 1
        pid = self._next_pid
        child = SimulatedProcess(self, process_id, entry_point, pid)
        self.children[pid] = child
        self.kernel.note(child.name, "is forked")
        return pid

    def waitpid(self, pid):
        child = self.children[pid]
        if not child.is_dead:
            return 0, 0
        del self.children[pid]
        code = child.exit_code
        return pid, -code if code < 0 else code << 8

    def signal(self, pid, number):
        child = self.children.get(pid)
        if child is None or child.is_dead:
            return
        if number == signal.SIGKILL:
            child.die("killed by its supervisor")
        else:
            child.terminate()

    def child_died(self):
        """SIGCHLD."""
        self.wake_ns = 0

    def process(self, role):
        """The running process of a role, or None."""
        for child in self.children.values():
            if child.role is role and not child.is_dead:
                return child
        return None

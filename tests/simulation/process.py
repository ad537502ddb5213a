"""One simulated process: the real role under the real duty cycle, a cycle at a time.

    fork -> Seat -> entry point -> begin -> [cycle, or the first half of a sleep | its end]* -> exit code

A process may die between any two of its steps, and right before any system call that others see (`Kernel.system_call`). The duty
cycle's sleep is in two halves, so that others run between "parked" and the wake-up.
"""

import gc
import traceback

from headrace import exit_codes
from headrace.errors import ConfigError, Fenced
from headrace.runtime.duty_cycle import DutyCycle
from headrace.runtime.stop_flag import Stopped
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role
from tests.simulation.kernel import MS, Killed
from tests.simulation.poller import SimulatedPoller

AT_ONCE = 0


class SimulatedClock:
    def __init__(self, kernel):
        self._kernel = kernel

    def now_ms(self):
        return self._kernel.wall_ns // MS

    def monotonic_ns(self):
        return self._kernel.now_ns


class SimulatedStop:
    """What stands for StopFlag."""

    def __init__(self):
        self.is_set = False

    def check(self):
        if self.is_set:
            raise Stopped("SIGTERM")


class SteppedCycle(DutyCycle):
    """The duty cycle, given back to the scheduler after each turn."""

    def steps(self):
        """Yields how long it may sleep, in ms; 0: it wants to go on. Returns whether it ended cleanly."""
        try:
            self._process.start()
            while not self._stop.is_set:
                yield from self._step()
        except Stopped:
            pass
        self._is_starting = False
        self._seat.set_state(ProcessState.DRAINING)
        if self._process.drain():
            self._done = 1
            deadline_ns = self._clock.monotonic_ns() + 2_000 * MS
            while self._clock.monotonic_ns() < deadline_ns:
                yield from self._step()
                if not self._done and self._process.is_drained():
                    break
        is_clean = self._process.close()
        self._seat.set_state(ProcessState.STOPPED)
        return is_clean

    def _step(self):
        if not self._done:
            self._seat.doorbell.park()
            bound_ms = 0 if self._process.look_again() else self._process.sleep_bound_ms()
            yield bound_ms
        self._turn()
        if self._done:
            yield AT_ONCE

    def _sleep(self):
        """Its second half."""
        self._seat.doorbell.unpark(self._poller.wait(0))


class SimulatedProcess:
    """One life of a process of a node."""

    def __init__(self, node, process_id, entry_point, pid):
        self.node = node
        self.machine = node.machine
        self.kernel = node.machine.kernel
        self.process_id = process_id
        self.pid = pid
        wiring = node.supervisor.wiring
        self.role = wiring.role(process_id)
        self.name = f"{node.node_id}/{wiring.title(process_id)[3:]}"
        self.is_dead = False
        self.exit_code = None
        self.calls_left = 0  # system calls, until it dies; 0: it does not
        self.paused_until_ns = 0
        self.wake_ns = 0
        self.is_asleep = False
        self.files = {}
        self.sockets = {}
        self.on_death = []
        self.process = None  # the role
        self.seat = None
        self.stop = SimulatedStop()
        self.poller = None
        self._bell = self.kernel.files.bell(wiring.eventfds[process_id])
        self._life = self._live(wiring, entry_point)
        self.machine.processes.append(self)

    def is_runnable(self, now_ns):
        if now_ns < self.paused_until_ns:
            return False
        return not self.is_asleep or now_ns >= self.wake_ns or self._bell.count > 0 or self.poller.is_ready

    @property
    def due_ns(self):
        """When it runs by itself."""
        return max(self.paused_until_ns, self.wake_ns if self.is_asleep else 0)

    def step(self):
        """One step of its life."""
        kernel = self.kernel
        self.is_asleep = False
        before, kernel.running = kernel.running, self
        try:
            bound_ms = next(self._life)
        except StopIteration as end:
            self.exit(end.value)
        except Killed:
            self.die("killed")
        except Exception:
            kernel.running = None
            kernel.anomaly(f"{self.name} crashed: {traceback.format_exc()}")
            self.exit(exit_codes.CRASHED)
        else:
            if bound_ms:
                self.is_asleep = True
                self.wake_ns = kernel.now_ns + bound_ms * MS
            kernel.note(self.name, f"sleeps {bound_ms}" if bound_ms else "turns")
        finally:
            kernel.running = before

    def terminate(self):
        """SIGTERM."""
        self.stop.is_set = True
        self._bell.count += 1

    def exit(self, code):
        self.kernel.note(self.name, f"exits with {code}")
        self._end(code)

    def die(self, reason):
        """SIGKILL, whatever it was doing."""
        if self.is_dead:
            return
        self.kernel.note(self.name, f"dies: {reason}")
        self._end(-9)

    def _end(self, exit_code):
        self.is_dead = True
        self.exit_code = exit_code
        before, self.kernel.running = self.kernel.running, None
        try:
            for call in self.on_death:
                call()
            for sock in list(self.sockets.values()):
                sock.close()
        finally:
            self.kernel.running = before
        if self in self.machine.processes:
            self.machine.processes.remove(self)
        if self.poller is not None:
            self.poller.close()
        self._life = self.process = self.seat = self.poller = None
        self.on_death.clear()
        gc.collect()
        self.kernel.files.bury(self)
        self.node.child_died()

    def _live(self, wiring, entry_point):
        """From the fork to the exit code."""
        yield AT_ONCE
        clock = SimulatedClock(self.kernel)
        seat = Seat(wiring, self.process_id)
        if self.role is Role.NETWORK:
            _seat, _clock, begin, restarts = entry_point(seat, self.machine.listener.share(self), clock=clock)
        else:
            _seat, _clock, begin, restarts = entry_point(seat, clock=clock)
        poller = self.poller = SimulatedPoller(self.kernel, self._bell)
        try:
            self.process = process = begin(poller, self.stop)
            self.seat = seat
            is_clean = yield from SteppedCycle(seat, clock, poller, self.stop, process).steps()
            return exit_codes.CLEAN if is_clean else exit_codes.FAILED
        except ConfigError as failure:
            self.kernel.anomaly(f"{self.name} refuses a setting: {failure}")
            return exit_codes.CONFIG
        except Fenced:
            return exit_codes.FAILED
        except restarts as failure:
            self.kernel.note(self.name, f"exits for a restart: {failure}")
            return exit_codes.FAILED

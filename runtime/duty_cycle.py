"""The duty cycle: the only loop of the node's processes.

Runs in: every process that the supervisor forks. One cycle:

    nothing done in the last one?    spin, where that is set -> park -> look again -> sleep on the doorbell and the sockets -> unpark
    then                             beat -> peers that changed -> do_work -> READY, once

    SIGTERM      DRAINING -> drain -> cycles, until it is drained or DRAIN_MAX_MS are over -> close -> STOPPED

The second look after "parked" loses no wake-up (`shm/doorbell.py`): a store before it is seen by it, and a writer that stores after
it sees "parked" and rings. No sleep is longer than IDLE_WAIT_MAX_MS besides. A process that spins is not parked: it looks for what it
would be rung for, and a process that has some makes no system call; what is missed at the end of the spin is found by the second look.

Exit codes are chosen here, and only here (`headrace/exit_codes.py`):

    closed cleanly                                            CLEAN
    close() said that something was left unclean              FAILED
    Fenced, or an error that a restart cures (`restarts`)     FAILED
    ConfigError                                               CONFIG
    anything else                                             leaves with its traceback (`node/children.py`: CRASHED)

Source: Agrona `AgentRunner`, `Agent.doWork`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Final

from headrace import exit_codes
from headrace.clock import Clock
from headrace.errors import ConfigError, Fenced
from headrace.limits import DRAIN_MAX_MS, IDLE_WAIT_MAX_MS
from headrace.runtime.poller import Poller
from headrace.runtime.stop_flag import StopFlag, Stopped
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role

_log: Final = logging.getLogger(__name__)


class Process:
    """A role, as the duty cycle calls it. `do_work` is required; the other methods have these defaults."""

    def start(self) -> None:
        """Before the first cycle."""

    def do_work(self) -> int:
        """One cycle's work, without a wait; 0 lets the process sleep.

        A role with sockets calls `Poller.dispatch` in it.
        """
        raise AssertionError(f"{type(self).__name__} does not define do_work")

    def look_again(self) -> int:
        """Poll everything that peers ring for once more, now that they see us parked; 0: sleep.

        A role may work here, or only see that there is something: `do_work` follows in any case.
        """
        return self.do_work()

    def sleep_bound_ms(self) -> int:
        """How long a sleep may last before something is due, IDLE_WAIT_MAX_MS at most."""
        return IDLE_WAIT_MAX_MS

    def peers_changed(self, process_ids: frozenset[int]) -> None:
        """Peers died or were replaced: what was in flight to them is lost."""

    def is_ready(self) -> bool:
        """Whether the process is ready. Called in each cycle until it is."""
        return True

    def drain(self) -> bool:
        """The node stops: accept nothing new. Returns whether further cycles are needed to finish accepted work."""
        return False

    def is_drained(self) -> bool:
        """Whether all accepted work is finished. Called after a cycle that did nothing."""
        return True

    def close(self) -> bool:
        """Release everything at the end of a stop. Returns whether what is left on disk is clean."""
        return True


# Called with the process's poller and its stop flag, makes the role's part; may raise what `run` maps, but not Stopped.
Begin = Callable[[Poller, StopFlag], Process]


def run(seat: Seat, clock: Clock, begin: Begin, restarts: tuple[type[Exception], ...] = ()) -> int:
    """Start a role and run its cycle until SIGTERM.

    restarts   errors that a restart may cure: one log line, no traceback
    returns    the process's exit code
    """
    role = seat.wiring.title(seat.process_id)
    stop = StopFlag(seat.doorbell.force)
    poller = Poller(seat.doorbell)
    try:
        is_clean = DutyCycle(seat, clock, poller, stop, begin(poller, stop), _spin_us(seat)).run()
        return exit_codes.CLEAN if is_clean else exit_codes.FAILED
    except ConfigError as failure:
        _log.error("process can't start, invalid setting role=%s reason=%s", role, failure)
        return exit_codes.CONFIG
    except Fenced as failure:
        _log.warning("process fenced role=%s reason=%s", role, failure)
        return exit_codes.FAILED
    except restarts as failure:
        _log.error("process exits for a restart role=%s reason=%s", role, failure)
        return exit_codes.FAILED
    finally:
        poller.close()


def _spin_us(seat: Seat) -> int:
    """Workers alone: no client waits for the others."""
    is_worker = seat.role in (Role.NETWORK, Role.PARTITION)
    spin_us: int = seat.wiring.settings["headrace.worker.spin.us"] if is_worker else 0
    return spin_us


class DutyCycle:
    """One process's cycle, and the states that it goes through.

    spin_us   before each sleep
    """

    def __init__(
        self, seat: Seat, clock: Clock, poller: Poller, stop: StopFlag, process: Process, spin_us: int = 0
    ) -> None:
        self._seat = seat
        self._clock = clock
        self._poller = poller
        self._stop = stop
        self._process = process
        self._spin_ns = spin_us * 1_000
        self._is_starting = True
        self._done = 1  # in the last cycle

    def run(self) -> bool:
        """Until SIGTERM; returns whether the process ended cleanly. raises what ends it otherwise"""
        try:
            self._process.start()
            while not self._stop.is_set:
                self._turn()
        except Stopped:
            pass
        self._is_starting = False
        self._seat.set_state(ProcessState.DRAINING)
        if self._process.drain():
            self._finish()
        is_clean = self._process.close()
        self._seat.set_state(ProcessState.STOPPED)
        return is_clean

    def _finish(self) -> None:
        """Run cycles until accepted work is finished, or DRAIN_MAX_MS are over."""
        self._done = 1
        deadline_ns = self._clock.monotonic_ns() + DRAIN_MAX_MS * 1_000_000
        while self._clock.monotonic_ns() < deadline_ns:
            self._turn()
            if not self._done and self._process.is_drained():
                return

    def _turn(self) -> None:
        """One cycle: at once while there is work, else after a sleep."""
        poller, process = self._poller, self._process
        if not self._done:
            self._sleep()
        elif poller.has_sockets:
            poller.wait(0)
        self._seat.beat(self._clock.monotonic_ns())
        changed = self._seat.changed()
        if changed:
            process.peers_changed(changed)
        self._done = process.do_work()
        if self._is_starting and process.is_ready():
            self._is_starting = False
            self._seat.set_state(ProcessState.READY)

    def _sleep(self) -> None:
        """Sleep until a peer, a socket or SIGTERM has something for us; don't if there is something already."""
        if self._spin_ns and self._spin():
            return
        doorbell, poller = self._seat.doorbell, self._poller
        doorbell.park()
        bound_ms = 0 if self._process.look_again() else self._process.sleep_bound_ms()
        is_rung = poller.wait(bound_ms) if bound_ms or poller.has_sockets else True  # for all we know
        doorbell.unpark(is_rung)

    def _spin(self) -> bool:
        """Look for work for a while; whether there was some. Who rang when we were parked last is heard, not taken for work."""
        clock, poller, process = self._clock, self._poller, self._process
        ends_ns = clock.monotonic_ns() + self._spin_ns
        while clock.monotonic_ns() < ends_ns:
            if process.look_again():
                return True
            if poller.has_sockets:
                if poller.wait(0):
                    self._seat.doorbell.unpark()
                if poller.has_events:
                    return True
            os.sched_yield()
        return False

"""The network worker: one listener, its connections, no data of its own.

Runs in: one process per network core, forked by the supervisor with a listening socket that shares its port
with the others (SO_REUSEPORT: the kernel spreads connections).
"""

from __future__ import annotations

import logging
import resource
import socket

from headrace import exit_codes
from headrace.clock import Clock, SystemClock
from headrace.errors import Fenced
from headrace.limits import IDLE_WAIT_MAX_MS
from headrace.shm.process_table import ProcessState
from headrace.shm.seat import Seat
from headrace.stop_flag import StopFlag
from headrace.workers.network.context import Context
from headrace.workers.network.loop import NetworkLoop

DRAIN_MAX_MS = 3_000

_log = logging.getLogger(__name__)


def run(seat: Seat, listener: socket.socket, clock: Clock | None = None) -> int:
    """Serve until SIGTERM, then drain: what is in flight is answered, new requests are not taken."""
    clock = clock or SystemClock()
    stop = StopFlag()
    try:
        context = Context(seat, clock, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        loop = NetworkLoop(seat, context, listener)
        while not stop.is_set:
            if seat.view.version() > 0:
                loop.begin_accepting()
                seat.set_state(ProcessState.READY)
                break
            _cycle(seat, loop, 0)
        done = 0
        while not stop.is_set:
            done = _cycle(seat, loop, done)
        seat.set_state(ProcessState.DRAINING)
        loop.stop_accepting()
        deadline_ns = clock.monotonic_ns() + DRAIN_MAX_MS * 1_000_000
        while clock.monotonic_ns() < deadline_ns:
            done = _cycle(seat, loop, done)
            if loop.is_drained():
                break
        loop.close()
        context.files.close()
        seat.set_state(ProcessState.STOPPED)
        return exit_codes.CLEAN
    except Fenced as reason:
        _log.warning("network worker fenced process=%d reason=%s", seat.process_id, reason)
        return exit_codes.FAILED


def _cycle(seat: Seat, loop: NetworkLoop, done_before: int) -> int:
    """One cycle: at once while there is work, else parked on the doorbell and the sockets."""
    if done_before:
        return loop.do_work(0.0)
    doorbell = seat.doorbell
    doorbell.park()
    wait_ms = 0 if loop.take_answers() else loop.sleep_bound_ms(IDLE_WAIT_MAX_MS)
    done = loop.do_work(wait_ms / 1000)
    doorbell.unpark()
    return done

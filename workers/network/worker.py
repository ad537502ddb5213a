"""The network worker: one listener, its connections, no data of its own.

Runs in: one process per network core, forked by the supervisor with a listening socket that shares its port
with the others (SO_REUSEPORT: the kernel spreads connections).
"""

from __future__ import annotations

import resource
import socket

from headrace.clock import Clock, SystemClock
from headrace.runtime import duty_cycle
from headrace.runtime.poller import Poller
from headrace.runtime.stop_flag import StopFlag
from headrace.shm.seat import Seat
from headrace.workers.network.context import Context
from headrace.workers.network.loop import NetworkLoop


def run(seat: Seat, listener: socket.socket, clock: Clock | None = None) -> int:
    """Serve until SIGTERM, then drain: what is in flight is answered, new requests are not taken."""
    clock = clock or SystemClock()

    def begin(poller: Poller, _stop: StopFlag) -> NetworkLoop:
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return NetworkLoop(seat, Context(seat, clock, descriptors), listener, poller)

    return duty_cycle.run(seat, clock, begin)

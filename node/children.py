"""Forking: what happens between the supervisor and the entry point of a child.

Runs in: the supervisor (`fork_child`), then the child. The supervisor has no threads, so a fork is safe; what
it imported is shared.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable

from headrace.settings import parse_cpus
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role, Wiring

EXIT_CRASHED = 70  # EX_SOFTWARE
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15

_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)

EntryPoint = Callable[..., int]

ENTRY_MODULES = {
    Role.NETWORK: "headrace.workers.network.worker",
    Role.PARTITION: "headrace.workers.partition.worker",
    Role.CONTROLLER: "headrace.controller.process",
    Role.HOUSEKEEPER: "headrace.workers.housekeeper.worker",
}


def load_entry_points() -> dict[Role, EntryPoint]:
    """Import every role's code now, so that all children share it, and freeze it against the collector."""
    points = {role: importlib.import_module(name).run for role, name in ENTRY_MODULES.items()}
    gc.collect()
    gc.freeze()
    return points


def fork_child(wiring: Wiring, process_id: int, entry_point: EntryPoint, listeners: list[socket.socket]) -> int:
    """Start one process; returns its pid, in the supervisor only."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = EXIT_CRASHED
    try:
        code = _be_child(wiring, process_id, entry_point, listeners, parent)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _be_child(
    wiring: Wiring, process_id: int, entry_point: EntryPoint, listeners: list[socket.socket], parent: int
) -> int:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return EXIT_CRASHED  # the supervisor died before the line above
    os.setpgid(0, 0)  # a signal to the supervisor's group must not upset the order of a stop
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _libc.prctl(_PR_SET_NAME, wiring.title(process_id).encode())
    _pin(wiring, process_id)
    role = wiring.role(process_id)
    own = None
    for index, listener in enumerate(listeners):
        if role is Role.NETWORK and index == process_id:
            own = listener
        else:
            listener.close()
    seat = Seat(wiring, process_id)
    return entry_point(seat, own) if role is Role.NETWORK else entry_point(seat)


def _pin(wiring: Wiring, process_id: int) -> None:
    """Give a network or partition worker its core of `headrace.worker.cpus`, in turn."""
    text = wiring.settings["headrace.worker.cpus"]
    if text is None or process_id >= wiring.controller_id:
        return
    cpus = parse_cpus(text)
    try:
        os.sched_setaffinity(0, {cpus[process_id % len(cpus)]})
    except OSError as failure:
        _log.warning("worker not pinned process=%s cpus=%s reason=%s", wiring.title(process_id), text, failure)

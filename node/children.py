"""The node's processes: what each one runs, and what happens between a fork and its entry point.

Runs in: the supervisor (`load_entry_points`, `fork_child`), then the child. The supervisor has no threads, so
a fork is safe; what it imported before is shared by all. At a start the controller process is forked before the others' code
is imported (FIRST_ROLES); a process that is forked later, this one too after a death, shares everything.

    fork -> die with the parent -> own process group -> default signals -> name -> core -> seat -> entry point

A child returns its exit code: 0 clean, 78 an invalid setting, anything else is a crash.
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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

from headrace import exit_codes
from headrace.errors import HeadraceError
from headrace.node.placement import placement
from headrace.node.signals import SignalInbox, blocked
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role, Wiring

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15

_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)

COLLECTOR_THRESHOLDS = (20_000, 20, 20)  # allocations, then generations; Python's are 700, 10, 10
EntryPoint = Callable[..., int]  # (seat, listener) of a network worker, (seat) of the others

ENTRY_MODULES = {
    Role.NETWORK: "headrace.workers.network.worker",
    Role.PARTITION: "headrace.workers.partition.worker",
    Role.CONTROLLER: "headrace.controller.process",
    Role.HOUSEKEEPER: "headrace.workers.housekeeper.worker",
}
assert ENTRY_MODULES.keys() == set(Role)
# Forked before the others' code is imported: meanwhile it talks to ZooKeeper, for as long as that import takes
FIRST_ROLES = (Role.CONTROLLER,)


class BrokenInstallation(HeadraceError):
    """A process's code can't be imported."""


@dataclass(slots=True)
class Child:
    """One process of the node, over all its lives. Written by the supervisor's loop only."""

    process_id: int
    pid: int = 0  # 0 while it does not run
    started_ns: int = 0
    ready_ns: int = 0  # when we saw that it serves; 0 while it does not
    deaths: int = 0  # in a row
    died_ms: int = 0  # the last time
    due_ms: int | None = None  # when it starts again
    exit_code: int | None = None  # of the last life; -n for signal n
    is_killed: bool = False  # by us, because it hung

    def served_ms(self, now_ns: int) -> int:
        """How long it has been ready, or was in its last life."""
        return (now_ns - self.ready_ns) // 1_000_000 if self.ready_ns else 0


def load_entry_points(roles: Iterable[Role] = Role) -> dict[Role, EntryPoint]:
    """Import roles' code, so that all children forked after share it, and freeze it against the collector.

    The children collect rarely: few of their objects are in a cycle, and a coordinator's groups are a large heap to
    go over (commits of offsets take an eighth less CPU with 2,000 groups in memory).

    raises   BrokenInstallation, naming role and module
    """
    gc.disable()  # imports leave nothing to collect, and would be searched again and again
    try:
        points = {role: _entry_point(role) for role in roles}
    finally:
        gc.enable()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    return points


def _entry_point(role: Role) -> EntryPoint:
    """raises   BrokenInstallation"""
    name = ENTRY_MODULES[role]
    try:
        entry_point: EntryPoint = importlib.import_module(name).run
        return entry_point
    except (ImportError, AttributeError) as failure:
        raise BrokenInstallation(f"the {role.value} process can't be imported from {name}: {failure}") from failure


def fork_child(
    wiring: Wiring, process_id: int, entry_point: EntryPoint, listeners: list[socket.socket], inbox: SignalInbox
) -> int:
    """Start one process; returns its pid, in the supervisor only."""
    parent = os.getpid()
    with blocked():
        pid = os.fork()
        if not pid:
            inbox.forget_in_child()
    if pid:
        return pid
    code = exit_codes.CRASHED
    try:
        code = _be_child(wiring, process_id, entry_point, listeners, parent)
    except BaseException:
        traceback.print_exc()
    finally:
        _leave(code)


def _leave(code: int) -> NoReturn:
    """End without the supervisor's clean-up; a closed standard output is no reason for another code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def _be_child(
    wiring: Wiring, process_id: int, entry_point: EntryPoint, listeners: list[socket.socket], parent: int
) -> int:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return exit_codes.CRASHED  # the supervisor died before the line above
    os.setpgid(0, 0)  # a signal to the supervisor's group must not upset the order of a stop
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
    core = placement(wiring.settings).get(process_id)
    if core is None:
        return
    try:
        os.sched_setaffinity(0, {core})
    except OSError as failure:  # taken from the cgroup since the start
        _log.warning("worker not pinned role=%s core=%d reason=%s", wiring.title(process_id), core, failure)

"""The node's processes: what each one runs, and what happens between a fork and its entry point.

Runs in: the supervisor (`load_entry_points`, `fork_child`), then the child. The supervisor has no threads, so
a fork is safe; what it imported before is shared by all.

    fork -> die with the parent -> own process group -> default signals -> name -> cores -> seat -> entry point

A child returns its exit code: 0 clean, 78 a setting that can't work, anything else is a crash.
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
from dataclasses import dataclass
from typing import NoReturn

from headrace.errors import ConfigError, HeadraceError
from headrace.node.signals import SignalInbox, blocked
from headrace.settings import Settings, parse_cpus
from headrace.shm.seat import Seat
from headrace.shm.wiring import Role, Wiring

EXIT_CRASHED = 70  # EX_SOFTWARE
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


class BrokenInstallation(HeadraceError):
    """A process's code can't be imported."""


@dataclass(slots=True)
class Child:
    """One process of the node, over all its lives. Written by the supervisor's loop only."""

    process_id: int
    pid: int = 0  # 0 while it does not run
    started_ns: int = 0
    deaths: int = 0  # in a row
    due_ms: int | None = None  # when it starts again
    exit_code: int | None = None  # of the last life; -n for signal n
    is_killed: bool = False  # by us, because it hung


def load_entry_points() -> dict[Role, EntryPoint]:
    """Import every role's code, so that all children share it, and freeze it against the collector.

    The children collect seldom: hardly anything they make is in a cycle, and a coordinator's groups are a large heap to
    go over (commits of offsets take an eighth less CPU with 2,000 groups in memory).

    raises   BrokenInstallation, naming role and module
    """
    points = {}
    for role, name in ENTRY_MODULES.items():
        try:
            points[role] = importlib.import_module(name).run
        except (ImportError, AttributeError) as failure:
            raise BrokenInstallation(f"the {role.value} process can't be loaded from {name}: {failure}") from failure
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    return points


def check_cpus(settings: Settings) -> None:
    """Refuse cores that this process may not use; raises ConfigError."""
    text = settings["headrace.worker.cpus"]
    if text is None:
        return
    usable = os.sched_getaffinity(0)
    missing = sorted(set(parse_cpus(text)) - usable)
    if missing:
        raise ConfigError(
            "headrace.worker.cpus", text, f"core {missing[0]} can't be used, only {sorted(usable)} (sched_getaffinity)"
        )


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
    code = EXIT_CRASHED
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
        return EXIT_CRASHED  # the supervisor died before the line above
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
    """Give a network or partition worker its core of `headrace.worker.cpus`, in turn."""
    text = wiring.settings["headrace.worker.cpus"]
    if text is None or process_id >= wiring.controller_id:
        return
    cpus = parse_cpus(text)
    try:
        os.sched_setaffinity(0, {cpus[process_id % len(cpus)]})
    except OSError as failure:  # taken from the cgroup since the start
        _log.warning("worker not pinned role=%s cpus=%s reason=%s", wiring.title(process_id), text, failure)

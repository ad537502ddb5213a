"""A mirror as a program: its lock, its processes, their loops, and how they end.

`mirror.consumer.numthreads` of Kafka 0.7 is a number of processes here: threads of Python share one core. Each process copies the
partitions whose hash falls to it, and has connections of its own; nothing is shared. Process 0 keeps topics and groups in step as well.

The lock is a file of this machine, so that one mirror is not started twice by accident. On two machines the journal decides: the mirror
that was started last goes on (`journal.py`).

Exit codes: 0 stopped or done, 1 a partition is stopped or a process died, 78 another mirror of this name was started (a restart would not
help).
"""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Protocol

from headrace import exit_codes
from headrace.client.cluster import Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import HeadraceError, KafkaError, NotAvailable
from headrace.mirror.copier import Copier
from headrace.mirror.journal import NotAlone
from headrace.mirror.partition_copy import CopyState
from headrace.mirror.settings import MirrorSettings
from headrace.mirror.status import status_of, write_status
from headrace.mirror.steward import Steward

CLIENT_ID = "headrace-mirror"
STATUS_S = 1.0
CAUGHT_UP_S = 1.0  # for which nothing came, with `until_caught_up`
TIMEOUT_S = 15.0
PATIENCE_S = 30.0
POLL_S = 0.2
STOP_S = 20.0  # of all processes, before they are killed

log = logging.getLogger("headrace.mirror")


class Stop(Protocol):
    """Whether the mirror is to end."""

    def __bool__(self) -> bool: ...


def boot_clock_s() -> float:
    """Seconds since the machine started, those in which it was suspended included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_ms() -> int:
    return int(time.time() * 1000)


def run(settings: MirrorSettings, stop: Stop, until_caught_up: bool = False) -> int:
    """Run a mirror until it is stopped; returns the exit code.

    until_caught_up   end once each partition is copied to its present end
    raises            NotAvailable, if it runs already on this machine
    """
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    with _locked(settings):
        if settings.workers == 1:
            return run_worker(settings, 0, stop, until_caught_up)
        return _run_processes(settings, stop, until_caught_up)


@contextmanager
def _locked(settings: MirrorSettings) -> Iterator[None]:
    path = settings.state_dir / f"{settings.name}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise NotAvailable(f"mirror {settings.name} is already running: {path} is locked") from None
        yield
    finally:
        os.close(descriptor)


def run_worker(settings: MirrorSettings, number: int, stop: Stop, until_caught_up: bool = False) -> int:
    """One process of a mirror; returns its exit code."""
    copier = Copier(settings, number, _open_cluster, lambda: bool(stop), boot_clock_s, wall_ms)
    try:
        return _loop(copier, stop, until_caught_up)
    except NotAlone as failure:
        log.error("mirror exits name=%s reason=%s", settings.name, failure)
        return exit_codes.CONFIG
    except (ConnectionFailed, KafkaError) as failure:
        log.error("mirror exits name=%s reason=%s", settings.name, failure)
        return 1
    finally:
        copier.close()


def _open_cluster(bootstrap: str) -> Cluster:
    return Cluster(bootstrap, TIMEOUT_S, CLIENT_ID, patience_s=PATIENCE_S)


def _loop(copier: Copier, stop: Stop, until_caught_up: bool) -> int:
    """raises   NotAlone, ConnectionFailed, KafkaError"""
    copier.start(needs_all=until_caught_up)
    steward = Steward(copier) if copier.number == 0 else None
    log.info(
        "mirror started name=%s worker=%d workers=%d target=%s sources=%s",
        copier.settings.name, copier.number, copier.settings.workers, copier.target.cluster_id,
        ",".join(source.source_id or source.bootstrap for source in copier.sources),
    )  # fmt: skip
    begun_s = boot_clock_s()
    status_s, quiet_since_s = 0.0, begun_s
    while not stop:
        now_s = boot_clock_s()
        if steward is not None:
            steward.turn(now_s)
        copier.turn()
        if now_s >= status_s:
            status_s = now_s + STATUS_S
            _write(copier, steward, True)
        if not copier.is_caught_up():
            quiet_since_s = now_s
        elif until_caught_up and now_s - quiet_since_s >= CAUGHT_UP_S:
            break
    copier.stop()
    if steward is not None:
        steward.carry_groups()
    _write(copier, steward, False)
    stopped = [copy for copy in copier.copies if copy.state is CopyState.STOPPED]
    log.info(
        "mirror stopped name=%s worker=%d stopped_partitions=%d", copier.settings.name, copier.number, len(stopped)
    )
    return int(bool(stopped))


def _write(copier: Copier, steward: Steward | None, is_running: bool) -> None:
    refused = steward.refused if steward is not None else {}
    carried = steward.groups_carried if steward is not None else 0
    try:
        write_status(copier.settings.state_dir, status_of(copier, wall_ms(), is_running, refused, carried))
    except OSError as failure:
        log.warning("status not written reason=%s", failure)


# Several processes


class _SignalStop:
    """A flag that SIGTERM and SIGINT set, in a child."""

    def __init__(self) -> None:
        self._is_set = False
        self._parent = os.getppid()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, _number: int, _frame: object) -> None:
        self._is_set = True

    def __bool__(self) -> bool:
        return self._is_set or os.getppid() != self._parent


def _child(settings: MirrorSettings, number: int, until_caught_up: bool) -> None:
    try:
        code = run_worker(settings, number, _SignalStop(), until_caught_up)
    except HeadraceError as failure:
        log.error("mirror exits name=%s worker=%d reason=%s", settings.name, number, failure)
        code = 1
    os._exit(code)


def _run_processes(settings: MirrorSettings, stop: Stop, until_caught_up: bool) -> int:
    """A process for each share; where one dies, all end."""
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=_child, args=(settings, number, until_caught_up), name=f"mirror-{number}")
        for number in range(settings.workers)
    ]
    for child in children:
        child.start()
    try:
        while not stop and all(child.exitcode is None for child in children):
            time.sleep(POLL_S)
        if until_caught_up and not stop:
            while not stop and not _has_failed(children) and any(child.exitcode is None for child in children):
                time.sleep(POLL_S)
    finally:
        _end(children, boot_clock_s)
    codes = [child.exitcode or 0 for child in children]
    return next((code for code in codes if code == exit_codes.CONFIG), int(any(codes)))


def _has_failed(children: Sequence[BaseProcess]) -> bool:
    return any(child.exitcode not in (None, 0) for child in children)


def _end(children: Sequence[BaseProcess], clock_s: Callable[[], float]) -> None:
    for child in children:
        if child.exitcode is None and child.pid is not None:
            os.kill(child.pid, signal.SIGTERM)
    deadline_s = clock_s() + STOP_S
    for child in children:
        child.join(max(0.0, deadline_s - clock_s()))
        if child.exitcode is None:
            child.kill()
            child.join()

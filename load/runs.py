"""Which loaders of a target are alive: each has a file that it, and its task workers, hold locked.

    _headrace/runs/1f2e3d4c    {"host": ..., "machine": ..., "boot": ..., "pid": ..., "is_local": true}, flock

The kernel drops the lock when the last process that holds it is gone, however it ended: who can take the lock of a file of this host
has the proof that the run, its workers included, is dead. A lock that is held is never taken for dead, whatever the file says: over
NFS, and of a virtual file system, it may be held elsewhere.

A file is of this host if it has its name, and its boot or the id of its machine: containers of one compose file may have one name, and
several hosts may be called localhost. Where that is not so, and for tasks that Spark ran elsewhere, there is no proof, only age.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.load.durable import make_directory, sync_directory

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def runs_of(control: Path) -> Path:
    return control / "runs"


class Run:
    """This loader's own file.

    id           8 hex digits, in the name of every file that its tasks write
    descriptor   of the lock, for workers to inherit
    """

    def __init__(self, control: Path, is_local: bool = True) -> None:
        self.id = uuid.uuid4().hex[:8]
        directory = runs_of(control)
        make_directory(directory)
        self._path = directory / self.id
        temporary = directory / f".{self.id}"
        self.descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)  # before its name is there: never seen unlocked
        os.write(self.descriptor, json.dumps(_identity() | {"is_local": is_local}).encode())
        os.fsync(self.descriptor)
        os.rename(temporary, self._path)
        sync_directory(directory)

    def close(self, keeps_file: bool = False) -> None:
        """keeps_file   there may be files of it that no commit names: the next loader cleans up"""
        if not keeps_file:
            self._path.unlink(missing_ok=True)
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class OtherRun:
    """Another loader's file, as it is found; `is_dead` is a proof, False none of life."""

    id: str
    is_dead: bool


@contextmanager
def other_runs(control: Path, own: str) -> Iterator[list[OtherRun]]:
    """All but our own. Within the context the locks of dead ones are held, so that only one loader cleans up."""
    held: list[int] = []
    found = []
    try:
        for path in sorted(runs_of(control).glob("*")):
            if path.name.lstrip(".") == own:
                continue
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            held.append(descriptor)
            found.append(OtherRun(path.name.lstrip("."), _is_dead(descriptor)))
        yield found
    finally:
        for descriptor in held:
            os.close(descriptor)


def forget_run(control: Path, run_id: str) -> None:
    for name in (run_id, f".{run_id}"):
        (runs_of(control) / name).unlink(missing_ok=True)


def _identity() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "machine": _machine(),
        "boot": BOOT_ID.read_text().strip(),
        "pid": os.getpid(),
    }


def _machine() -> str:
    """The id that a machine gets when it is installed; '' where it has none, as in most containers."""
    for path in MACHINE_IDS:
        try:
            if found := path.read_text().strip():
                return found
        except OSError:
            continue
    return ""


def _is_dead(descriptor: int) -> bool:
    """Whether that is proven. The lock is held from then on."""
    try:
        found = json.loads(os.read(descriptor, 4096) or b"{}")
    except ValueError:
        return False
    if not isinstance(found, dict) or not found.get("is_local") or not _is_of_this_host(found):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_of_this_host(found: dict[str, Any]) -> bool:
    """Of this boot, or of an earlier one of the same machine; a file of an earlier version names no machine."""
    mine = _identity()
    if found.get("host") != mine["host"]:
        return False
    if found.get("boot") == mine["boot"]:
        return True
    return bool(mine["machine"]) and found.get("machine") == mine["machine"]

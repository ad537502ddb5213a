"""The ZooKeeper session on disk, and the boot of the machine in which a log directory was used last. Each log directory has its own file.

Runs in: the controller process; the supervisor, at its start, before anything else runs.

    {log directory}/.headrace-session    {"serial": 3, "boot": "0b1d...", "is_empty": false,
                                          "id": 72057..., "password": "9f3c...", "life": "77aa..."}    mode 0600

**The session** is for the successor of a killed controller process. `serial` tells the latest of several files. `life` is that of the
supervisor, empty while it has not begun: in another life the session is resumed, but not the registration (`agent/new_life.py`). Only a
controller process that was restarted alone, in the same life, resumes both. Without `id` there is no session: a clean stop ended it.

**The boot.** What was not synced before another boot of the machine may be gone, and the session is not resumed. A proof that exists
once, and whose absence reads as "nothing happened", is none: a directory with logs is suspect where its file is missing or names
another boot, unless the last stop closed its logs in order. Replicas in it that are in sync are held until they are compared (decisions
013, 014). It stays suspect until the holds are in ZooKeeper, over any number of starts.

A directory without logs is new where the file is missing, or was written when there were no logs: its disk may not be mounted.

A file that can't be written is a warning: a successor then begins another session, and the next start compares these logs.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.durable_file import replace_file
from headrace.limits import SESSION_PASSWORD_BYTES_MAX

SESSION_FILE = ".headrace-session"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

Session = tuple[int, bytes]  # id and password

_log = logging.getLogger(__name__)


class SessionFile:
    """One session, in each of the log directories.

    boot_id          of this machine's kernel; empty where it can't be read: then no session is of this boot
    life             of the supervisor; empty: no session is of this life
    is_of_this_boot  whether the session that was read is: else the machine was started again since
    is_of_this_life  whether a controller process of this life wrote it, and had begun the life
    """

    def __init__(self, log_dirs: Sequence[Path], boot_id: str | None = None, life: str = "") -> None:
        self.is_of_this_boot = False
        self.is_of_this_life = False
        self._life = life
        self._boot_id = _boot_id() if boot_id is None else boot_id
        self._log_dirs = list(log_dirs)
        self._kept: tuple[Session | None, str] | None = None
        self._refused: set[Path] = set()  # reported already
        self._serial = 0

    def read(self) -> Session | None:
        """The latest that can be read; None where there is none, or it was ended."""
        latest: Session | None = None
        for log_dir in self._log_dirs:
            stored = _read(log_dir)
            try:
                serial, session = int(stored.get("serial", 0)), _session_in(stored)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                continue
            if serial > self._serial or (latest is None and session is not None and serial == self._serial):
                latest, self._serial = session, serial
                self.is_of_this_boot = self._boot_id != "" and stored.get("boot") == self._boot_id
                self.is_of_this_life = self._life != "" and stored.get("life") == self._life
        return latest

    def write(self, session: Session, has_begun: bool = True) -> bool:
        """Keep a session; False where no directory takes it.

        has_begun   whether this life has begun, and no directory is suspect any more: else the process that reads the file begins
                    it again, and the boots stay as they are
        """
        return self._write(session, self._life if has_begun else "", has_begun)

    def remove(self, has_begun: bool = True) -> None:
        """The session is over."""
        self._write(None, "", has_begun)

    def _write(self, session: Session | None, life: str, has_begun: bool) -> bool:
        if (session, life) == self._kept:
            return True
        fields: dict[str, Any] = {"serial": self._serial + 1}
        if session is not None:
            fields |= {"id": session[0], "password": session[1].hex(), "life": life}
        is_kept = False
        for log_dir in self._log_dirs:
            stored = _read(log_dir)
            boot = self._boot_id if has_begun else stored.get("boot", "")
            try:
                is_empty = bool(stored.get("is_empty", True)) and not has_logs(log_dir)
                _replace(log_dir, {**fields, "boot": boot, "is_empty": is_empty})
            except OSError as failure:
                if log_dir not in self._refused:
                    path = log_dir / SESSION_FILE
                    _log.warning("ZooKeeper session not saved in a log directory path=%s reason=%s", path, failure)
                self._refused.add(log_dir)
                continue
            self._refused.discard(log_dir)
            is_kept = True
        if is_kept:
            self._serial += 1
            self._kept = (session, life)
        return is_kept


def is_suspect(log_dir: Path, is_closed: bool, boot_id: str | None = None) -> bool:
    """Whether logs in a directory may have lost what was not synced.

    is_closed   whether the last stop closed all of them in order
    boot_id     of this boot of the machine, "": it can't be read
    raises      OSError
    """
    boot_id = _boot_id() if boot_id is None else boot_id
    is_known = boot_id != "" and _read(log_dir).get("boot") == boot_id
    return has_logs(log_dir) and not (is_closed or is_known)


def is_new(log_dir: Path) -> bool:
    """Whether nothing shows that this node ever had logs in a directory. raises OSError"""
    return not has_logs(log_dir) and bool(_read(log_dir).get("is_empty", True))


def note_boot(log_dir: Path, is_suspect: bool) -> None:
    """Note that a directory was used in this boot of the machine; of one that is suspect, that it stays so. raises OSError"""
    stored = _read(log_dir)
    boot = "" if is_suspect else _boot_id()
    if not stored or stored.get("boot") != boot:
        _replace(log_dir, {**stored, "boot": boot, "is_empty": is_new(log_dir)})


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _read(log_dir: Path) -> dict[str, Any]:
    """Empty: there is no file that can be read."""
    try:
        fields = json.loads((log_dir / SESSION_FILE).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _session_in(fields: dict[str, Any]) -> Session | None:
    """None: it was ended. raises ValueError, KeyError, TypeError, AttributeError, OverflowError"""
    if "id" not in fields:
        return None
    session = int(fields["id"]), bytes.fromhex(fields["password"])
    if not (-(2**63) <= session[0] < 2**63 and len(session[1]) <= SESSION_PASSWORD_BYTES_MAX):
        raise ValueError("id or password out of range")
    return session


def has_logs(log_dir: Path) -> bool:
    """Whether it has a directory `topic-partition`. raises OSError"""
    with os.scandir(log_dir) as entries:
        return any(
            "-" in entry.name and entry.name.rpartition("-")[2].isdecimal() and entry.is_dir() for entry in entries
        )


def _replace(log_dir: Path, fields: dict[str, Any]) -> None:
    """raises OSError"""
    replace_file(log_dir / SESSION_FILE, json.dumps(fields).encode(), mode=0o600)

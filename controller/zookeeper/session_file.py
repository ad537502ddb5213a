"""The ZooKeeper session on disk, for the successor of a killed controller process.

Runs in: the controller process. The file lies in the first log directory that takes it, and is looked for in all: a
directory that is full or has failed costs no session. `serial` tells the latest of several.

    {log directory}/.headrace-session    {"serial": 3, "id": 72057..., "password": "9f3c...", "boot": "0b1d..."}    mode 0600

`boot` is the kernel's boot id. After another boot the session is not to be resumed: what was not synced of the logs may be gone,
and a node that resumes stays leader in the same leader epoch, and in sync. A new session makes it a broker that went and came.

A session that can't be kept is a warning: a successor then begins another one, and waits until this one has expired.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from headrace.durable_file import replace_file
from headrace.limits import SESSION_PASSWORD_BYTES_MAX

SESSION_FILE = ".headrace-session"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

Session = tuple[int, bytes]  # id and password

_log = logging.getLogger(__name__)


class SessionFile:
    """One session, in one of the log directories.

    boot_id          of this machine's kernel; empty where it can't be read: then no session is of this boot
    is_of_this_boot  whether the session that was read is: else the machine was started again since
    """

    def __init__(self, log_dirs: Sequence[Path], boot_id: str | None = None) -> None:
        self.is_of_this_boot = False
        self._boot_id = _read_boot_id() if boot_id is None else boot_id
        self._paths = [log_dir / SESSION_FILE for log_dir in log_dirs]
        self._kept: Session | None = None
        self._refused: set[Path] = set()  # told already
        self._serial = 0

    def read(self) -> Session | None:
        """The latest that can be read."""
        latest = None
        for path in self._paths:
            try:
                stored = json.loads(path.read_text())
                serial, session = int(stored.get("serial", 0)), (int(stored["id"]), bytes.fromhex(stored["password"]))
            except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                continue
            if not (-(2**63) <= session[0] < 2**63 and len(session[1]) <= SESSION_PASSWORD_BYTES_MAX):
                continue
            if latest is None or serial > self._serial:
                latest, self._serial = session, serial
                self.is_of_this_boot = self._boot_id != "" and stored.get("boot") == self._boot_id
        return latest

    def write(self, session: Session) -> bool:
        """Keep a session; False where no directory takes it."""
        if session == self._kept:
            return True
        text = json.dumps(
            {"serial": self._serial + 1, "id": session[0], "password": session[1].hex(), "boot": self._boot_id}
        )
        for path in self._paths:
            try:
                replace_file(path, text.encode(), mode=0o600)
            except OSError as failure:
                if path not in self._refused:
                    _log.warning("ZooKeeper session not kept, another place is tried path=%s reason=%s", path, failure)
                self._refused.add(path)
                continue
            self._refused.discard(path)
            self._serial += 1
            self._kept = session
            return True
        return False

    def remove(self) -> None:
        """The session is over."""
        for path in self._paths:
            try:
                path.unlink(missing_ok=True)
            except OSError as failure:
                _log.warning("ZooKeeper session not forgotten path=%s reason=%s", path, failure)


def _read_boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""

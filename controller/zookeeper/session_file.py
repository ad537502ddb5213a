"""The ZooKeeper session on disk, for the successor of a killed controller process.

Runs in: the controller process. The file lies in the first log directory that takes it, and is looked for in all: a
directory that is full or has failed costs no session. `serial` tells the latest of several.

    {log directory}/.headrace-session    {"serial": 3, "id": 72057..., "password": "9f3c..."}    mode 0600

A session that can't be kept is a warning: a successor then begins another one, and waits until this one has expired.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from headrace.limits import SESSION_PASSWORD_BYTES_MAX

SESSION_FILE = ".headrace-session"

Session = tuple[int, bytes]  # id and password

_log = logging.getLogger(__name__)


class SessionFile:
    """One session, in one of the log directories."""

    def __init__(self, log_dirs: Sequence[Path]) -> None:
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
        return latest

    def write(self, session: Session) -> bool:
        """Keep a session; False where no directory takes it."""
        if session == self._kept:
            return True
        text = json.dumps({"serial": self._serial + 1, "id": session[0], "password": session[1].hex()})
        for path in self._paths:
            try:
                _replace(path, text)
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


def _replace(path: Path, text: str) -> None:
    temporary = path.with_suffix(".tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise

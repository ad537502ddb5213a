"""The log directories before anything runs: made, locked, asked whether the last stop was clean.

`.lock` is locked as Kafka locks it, so that two nodes, or a node and a Kafka broker, never share a directory.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from headrace.errors import ConfigError
from headrace.log.checkpoints import take_clean_shutdown

LOCK_FILE = ".lock"


class LogDirs:
    """The locks of one node's log directories."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = [Path(path) for path in paths]
        self._fds: list[int] = []

    def lock(self) -> None:
        """Make and lock every directory.

        raises   ConfigError, where one can't be made, or is locked by a process that is named
        """
        for path in self.paths:
            try:
                path.mkdir(mode=0o750, parents=True, exist_ok=True)
                fd = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            except OSError as failure:
                raise ConfigError("log.dirs", str(path), failure.strerror or str(failure)) from None
            try:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.read(fd, 32).decode(errors="replace").strip() or "another process"
                os.close(fd)
                raise ConfigError("log.dirs", str(path), f"in use by {holder}: stop it first") from None
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"pid {os.getpid()}\n".encode(), 0)
            self._fds.append(fd)

    def take_clean_markers(self) -> frozenset[str]:
        """Directories that were left clean; their markers are gone now."""
        return frozenset(str(path) for path in self.paths if take_clean_shutdown(path))

    def unlock(self) -> None:
        for fd in self._fds:
            os.ftruncate(fd, 0)
            os.close(fd)
        self._fds.clear()

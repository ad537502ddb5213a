"""The log directories before anything runs: made, locked, asked whether the last stop was clean.

Runs in: the supervisor, which alone writes `.lock`. Two locks on that file, because they end at different times:

    fcntl    as Kafka locks it: excludes another node and a Kafka broker; ends when the supervisor does
    flock    inherited by every child: ends when the last process of the node does, so that no one opens a log
             that a dying partition worker is still writing

Source: Kafka `LogManager.lockLogDirs`, `FileLock`; fcntl_locking(2), flock(2).
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from headrace.controller.agent import meta_properties
from headrace.controller.zookeeper import session_file
from headrace.errors import ConfigError, NotAvailable, StorageFailed, is_exhausted
from headrace.limits import LOCK_HOLDER_BYTES_MAX
from headrace.log.state.checkpoints import take_clean_shutdown
from headrace.log.state.topic_checkpoints import seal

_log = logging.getLogger(__name__)

LOCK_FILE = ".lock"
ORPHANS_DEADLINE_MS = 10_000  # the kernel ends a killed supervisor's children at once, unless disk or load hold them
ORPHANS_POLL_MS = 5


class LogDirs:
    """The locks of one node's log directories.

    offline   those that can't be used: the node serves the others
    suspect   those whose logs may have lost what was not synced
    new       those that nothing shows to have been used by this node
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in paths]
        self.offline: frozenset[str] = frozenset()
        self.suspect: frozenset[str] = frozenset()
        self.new: frozenset[str] = frozenset()
        self._fds: list[int] = []

    def lock(self) -> None:
        """Make and lock every directory; nothing happens where that is done already.

        raises   ConfigError, if one is listed twice; NotAvailable, if none can be created or written now, or one
                 is locked by a process that is named; StorageFailed, where processes of a killed node won't go
        """
        if self._fds:
            return
        real_paths = [os.path.realpath(path) for path in self.paths]
        for path, real_path in zip(self.paths, real_paths, strict=True):
            if real_paths.count(real_path) > 1:
                raise ConfigError("log.dirs", str(path), "the same directory is listed twice")
        try:
            failures = []
            for path in self.paths:
                try:
                    self._fds.append(_lock_directory(path))
                except OSError as failure:
                    failures.append(NotAvailable(f"log.dirs: {path} can't be used: {_reason(failure)}"))
                    self._take_offline(path, failure)
            if not self._fds:
                raise failures[0]
        except BaseException:
            self.unlock()
            raise

    def take_clean_markers(self) -> frozenset[str]:
        """Directories with a clean-shutdown marker, which is removed; `suspect` and `new` are known then."""
        assert self._fds
        clean, suspect, new = set(), set(), set()
        for path in self.paths:
            if str(path) in self.offline:
                continue
            try:
                # Without the ids of their topics checkpoints are trusted as they are; without the boot the next start compares logs.
                _note_where_room(path, "topic checkpoints", partial(seal, path))
                is_closed = take_clean_shutdown(path)
                if session_file.is_new(path):
                    new.add(str(path))
                if session_file.is_suspect(path, is_closed) or _is_nameless(path):
                    suspect.add(str(path))
                elif is_closed:
                    clean.add(str(path))
                is_suspect = str(path) in suspect
                _note_where_room(path, "boot of the machine", partial(session_file.note_boot, path, is_suspect))
            except OSError as failure:
                self._take_offline(path, failure)
        self.suspect, self.new = frozenset(suspect), frozenset(new)
        return frozenset(clean)

    def unlock(self) -> None:
        for fd in self._fds:
            try:
                os.ftruncate(fd, 0)
            except OSError as failure:
                _log.warning("lock file not emptied reason=%s", failure)
            os.close(fd)
        self._fds.clear()

    def _take_offline(self, path: Path, failure: OSError) -> None:
        _log.error("log directory offline path=%s reason=%s", path, _reason(failure))
        self.offline |= {str(path)}


def _reason(failure: OSError) -> str:
    """The reason; for a read-only file system, with the likely cause under our own unit."""
    reason = failure.strerror or str(failure)
    if failure.errno == errno.EROFS and "INVOCATION_ID" in os.environ:
        return f"{reason} (under ProtectSystem=strict only paths in the unit's ReadWritePaths= are writable)"
    return reason


def _make_directory(path: Path, mode: int = 0o750) -> None:
    """It and those above it, with their entries on the disk: what is synced in it must not go with its own name. raises OSError"""
    if path.is_dir():
        return
    if path.parent != path:
        _make_directory(path.parent, 0o777)  # as Python's makedirs
    path.mkdir(mode, exist_ok=True)
    _sync_names(path.parent)


def _sync_names(path: Path) -> None:
    """raises OSError"""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return  # this process may make directories in it, and not read it
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _lock_directory(path: Path) -> int:
    """The descriptor that holds both locks. raises OSError, where the directory can't be used"""
    _make_directory(path)
    os.listdir(path)
    fd = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        _take_locks(path, fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _take_locks(path: Path, fd: int) -> None:
    """Both of them on a directory's lock file, which says by whom. raises NotAvailable, StorageFailed, OSError"""
    holder = os.pread(fd, LOCK_HOLDER_BYTES_MAX, 0).decode(errors="replace").strip() or "another process"
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise NotAvailable(f"log.dirs: {path} is in use by {holder}: stop it first ({LOCK_FILE} is locked)") from None
    if not _orphans_are_gone(fd):
        raise StorageFailed(f"log.dirs {path}: processes of a killed node ({holder}) are still running")
    os.ftruncate(fd, 0)
    _note_where_room(path, "holder of the lock", lambda: os.pwrite(fd, f"pid {os.getpid()}\n".encode(), 0))


def _note_where_room(path: Path, what: str, write: Callable[[], object]) -> None:
    """Write what a directory can be used without, where there is room: the node starts. raises OSError, for another reason"""
    try:
        write()
    except OSError as failure:
        if not is_exhausted(failure):
            raise
        _log.warning("%s not written path=%s reason=%s", what, path, failure)


def _is_nameless(path: Path) -> bool:
    """Whether a directory has logs, and nothing says of which cluster and broker they are. raises OSError"""
    return session_file.has_logs(path) and not (path / meta_properties.FILE).exists()


def _orphans_are_gone(fd: int) -> bool:
    """Take the second lock; False where children of an earlier supervisor hold it for too long."""
    for _ in range(ORPHANS_DEADLINE_MS // ORPHANS_POLL_MS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as failure:
            if failure.errno != errno.EWOULDBLOCK:
                return True  # a file system without flock
            time.sleep(ORPHANS_POLL_MS / 1000)
    return False

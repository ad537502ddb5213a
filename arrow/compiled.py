"""`compiled`: Numba's njit, cached on disk if a directory for it is writable.

Runs in: Spark's driver and Python workers, when a module with kernels is imported. Numba caches beside the source, in the user's
cache directory or in NUMBA_CACHE_DIR, and refuses to decorate where none of them can be written (a container with a random user id,
a read-only image). Then a directory of our own below the temporary one serves, and if another user owns that, none is used:
each process compiles for itself.

A cache holds code that is executed: a directory that others may write is not used.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import config as numba_config

config: Any = numba_config  # its attributes are made at run time


def compiled(**options: Any) -> Callable[[Any], Any]:
    """njit(nogil=True, **options), cached if possible."""

    def decorate(function: Any) -> Any:
        for directory in _directories():
            before = config.CACHE_DIR
            if directory is not None:
                config.CACHE_DIR = directory
            try:
                return njit(cache=True, nogil=True, **options)(function)
            except RuntimeError:  # no locator: nothing can be written there
                continue
            finally:
                config.CACHE_DIR = before
        return njit(nogil=True, **options)(function)

    return decorate


def _directories() -> list[str | None]:
    """Where to try: Numba's own places, then ours."""
    own = private_directory(Path(tempfile.gettempdir()))
    return [None] if own is None else [None, str(own)]


def private_directory(parent: Path) -> Path | None:
    """A directory below `parent` that is this user's alone; None if there is none and it can't be created."""
    directory = parent / f"headrace-numba-{os.getuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return directory if is_ours else None

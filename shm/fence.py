"""A full memory fence for Python.

x86-64 may let a load pass an earlier store of the same core ("set parked, then look again" needs that it does
not). A locked instruction forbids it; acquiring and releasing an uncontended lock executes one (glibc's
semaphore: `lock cmpxchg`). Stores among themselves and loads among themselves stay in order on x86-64 without
a fence: the node runs on x86-64 only.
"""

from __future__ import annotations

import platform
import threading
from typing import Final

from headrace.errors import ConfigError

_lock: Final = threading.Lock()
_acquire: Final = _lock.acquire
_release: Final = _lock.release


def fence() -> None:
    """Every store before it is visible before any load after it. Some 100 ns."""
    _acquire()
    _release()


def check_machine(machine: str | None = None) -> None:
    """Refuse machines whose memory order the shared words don't allow for.

    raises   ConfigError, anywhere but on x86-64
    """
    machine = machine or platform.machine()
    if machine not in ("x86_64", "AMD64"):
        raise ConfigError("machine", machine, "the shared-memory rings rely on the memory order of x86-64")

"""systemd's notification protocol, without libsystemd.

Runs in: the supervisor. A datagram of `NAME=value` lines to $NOTIFY_SOCKET; where that is not set, nothing
happens. A service manager that does not listen is ignored.

Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

WATCHDOG_SHARE = 2  # a sign of life each half of WATCHDOG_USEC, as sd_watchdog_enabled(3) advises


class Notifier:
    """Sends states to the service manager.

    watchdog_interval_ms   how often WATCHDOG=1 is due; None if not requested
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address  # @: an abstract socket
        self.watchdog_interval_ms = _watchdog_interval_ms(environment)

    def ready(self, status: str) -> None:
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        self._send(f"STATUS={status}")

    def reloading(self, monotonic_us: int) -> None:
        """Settings are read again; `ready` ends it."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={monotonic_us}")

    def extend(self, more_ms: int) -> None:
        """Still starting or stopping, and getting on: the manager waits `more_ms` longer."""
        self._send(f"EXTEND_TIMEOUT_USEC={more_ms * 1000}")

    def watchdog(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self, status: str) -> None:
        self._send("STOPPING=1", f"STATUS={status}")

    def _send(self, *states: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as sock:
                sock.sendto("\n".join(states).encode(), self._address)
        except OSError:
            pass


def _watchdog_interval_ms(environment: Mapping[str, str]) -> int | None:
    watchdog_us = environment.get("WATCHDOG_USEC", "")
    watched_pid = environment.get("WATCHDOG_PID", "")
    if not watchdog_us.isdigit() or watched_pid not in ("", str(os.getpid())):
        return None
    return max(1, int(watchdog_us) // (WATCHDOG_SHARE * 1000))

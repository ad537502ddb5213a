"""systemd's notification protocol, without libsystemd.

A datagram to $NOTIFY_SOCKET; where that is not set, nothing happens. Source: sd_notify(3).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


class Notifier:
    """Sends states to the service manager."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        watchdog_us = environment.get("WATCHDOG_USEC", "")
        self.watchdog_interval_s = int(watchdog_us) / 2_000_000 if watchdog_us.isdigit() else None

    def send(self, *states: str) -> None:
        """`READY=1`, `STATUS=...`, `WATCHDOG=1`: several in one datagram. Failures are not our concern."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
                sock.sendto("\n".join(states).encode(), self._address)
        except OSError:
            pass

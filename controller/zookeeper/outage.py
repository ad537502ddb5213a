"""What is said of ZooKeeper while it is away: once when it goes, again at growing intervals, once when it is back.

Runs in: the controller process, at each look at the connection. The word in the process table tells the supervisor, for
the line that it shows to the service manager.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from headrace.log_rate_limit import GrowingInterval

START_PATIENCE_S = 1  # a first connection takes a moment
_NS = 1_000_000_000

_log = logging.getLogger(__name__)


class Outage:
    """The connection's history. It begins with an outage: nobody is connected yet.

    set_away   called with since when (ms of the date) ZooKeeper is away, 0 when it is back
    """

    def __init__(self, connect: str, set_away: Callable[[int], None], now_ns: int, now_ms: int) -> None:
        self._connect = connect
        self._set_away = set_away
        self._reminder = GrowingInterval()
        self._drops = 0
        self._has_served = False  # by a connection of this process
        self._begin(now_ns, now_ms)

    @property
    def is_on(self) -> bool:
        return self._since_ms > 0

    def away_s(self, now_ns: int) -> float:
        """How long ZooKeeper has been away; 0 while it is there."""
        return (now_ns - self._since_ns) / _NS if self.is_on else 0.0

    def look(self, is_connected: bool, drops: int, now_ns: int, now_ms: int) -> None:
        """Say what is new.

        drops   how often the connection was lost so far
        """
        lost, self._drops = drops - self._drops, drops
        if is_connected:
            if self.is_on:
                self._end(now_ns)
            elif lost:
                _log.warning("connection to ZooKeeper lost and restored at=%s times=%d", self._connect, lost)
            return
        if not self.is_on:
            self._begin(now_ns, now_ms)
        if (self._has_served or self.away_s(now_ns) >= START_PATIENCE_S) and self._reminder.is_due(now_ns):
            if self._has_served:
                _log.warning(
                    "connection to ZooKeeper lost, the node serves its last known state; topic changes and producer ids wait at=%s"
                    " since=%s",
                    self._connect, clock_text(self._since_ms),
                )  # fmt: skip
            else:
                _log.warning("waiting for ZooKeeper at=%s since=%s", self._connect, clock_text(self._since_ms))

    def _begin(self, now_ns: int, now_ms: int) -> None:
        self._since_ns, self._since_ms = now_ns, max(1, now_ms)
        self._reminder.reset()
        self._set_away(self._since_ms)

    def _end(self, now_ns: int) -> None:
        away_s = self.away_s(now_ns)
        is_news = self._has_served or away_s >= START_PATIENCE_S
        self._since_ms = 0
        self._has_served = True
        self._set_away(0)  # who reads the line finds it so
        if is_news:
            _log.warning("connected to ZooKeeper again at=%s away_s=%.1f", self._connect, away_s)


def clock_text(date_ms: int) -> str:
    """`hh:mm:ss` of the local time."""
    return time.strftime("%H:%M:%S", time.localtime(date_ms / 1000))

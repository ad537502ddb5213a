"""Which peers were already named in a log line, so that one that asks again and again fills no log.

Runs in: a network worker. A peer is a host with a client id: two applications of one host are distinguished. Client ids
are chosen by clients, so the lines of one interval are bounded in all, and so are the names that are kept.
"""

from __future__ import annotations

from collections import OrderedDict

from headrace.limits import NOTICE_INTERVAL_MS, NOTICES_PER_INTERVAL_MAX


class PeerNotices:
    """One of these for one kind of line."""

    def __init__(self) -> None:
        self._told_ms: OrderedDict[tuple[str, str], int] = OrderedDict()  # peer -> when its last line was, oldest first

    def is_due(self, host: str, client_id: str | None, now_ms: int) -> bool:
        """Whether to write a line now; a line that is due counts as written.

        now_ms   monotonic
        """
        told = self._told_ms
        while told and now_ms - next(iter(told.values())) >= NOTICE_INTERVAL_MS:
            told.popitem(last=False)
        peer = (host, client_id or "")
        if peer in told or len(told) >= NOTICES_PER_INTERVAL_MAX:
            return False
        told[peer] = now_ms
        return True

"""A bound on the log lines that peers cause: a client must not be able to fill the disk with requests.

Runs in: every process, on the handler that they inherit; each counts for itself. Lines of these modules are reported
PEER_LINES_MAX times in an interval, by what they say without its values, those with a traceback PEER_TRACES_MAX times. The
last one says that more are left out, the first of the next interval how many were.
"""

from __future__ import annotations

import logging

from headrace.limits import PEER_LINES_INTERVAL_MS, PEER_LINES_MAX, PEER_TRACES_MAX
from headrace.log_rate_limit import LinesPerInterval

PEER_MODULES = (
    "headrace.workers.network.",
    "headrace.workers.coordinators.",
    "headrace.controller.admin.",
    "headrace.runtime.mailbox",
)


class LogRateFilter(logging.Filter):
    """Lets through what is not too much. There are as many counts as there are log calls in these modules."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = LinesPerInterval(PEER_LINES_INTERVAL_MS / 1_000)

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith(PEER_MODULES):
            return True
        most = PEER_TRACES_MAX if record.exc_info else PEER_LINES_MAX
        number, before = self._lines.count((record.name, str(record.msg)), record.created)
        if number > most:
            return False
        notes = [str(record.msg)]
        if before > most:
            notes.append(f"left_out_before={before - most}")
        if number == most:
            notes.append(f"more_left_out_for_ms={PEER_LINES_INTERVAL_MS}")
        record.msg = " ".join(notes)
        return True

"""Where log lines go: standard error, one line a change of state, `key=value` after a few words.

Runs in: the supervisor before it forks; the children inherit it. Where standard error is systemd's journal, a
line begins with its syslog priority, and the journal adds time and pid.

Source: sd-daemon(3) for the prefix, systemd.exec(5) for $JOURNAL_STREAM.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from headrace.errors import ConfigError
from headrace.node.log_rate_filter import LogRateFilter

LEVEL_VARIABLE = "HEADRACE_LOG_LEVEL"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
TERMINAL_FORMAT = "%(asctime)s %(levelname)s [%(process)d] %(name)s: %(message)s"
JOURNAL_FORMAT = "%(name)s: %(message)s"
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class LineFormatter(logging.Formatter):
    """One record, one line: what a peer sent can't begin another. Tracebacks follow on lines of their own.

    prefix   what each line begins with, where several nodes write to one terminal
    """

    def __init__(self, text_format: str, prefix: str = "") -> None:
        super().__init__(text_format)
        self._prefix = prefix

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(self._prefix + line for line in super().format(record).split("\n"))

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")


class JournalFormatter(LineFormatter):
    """Every line with its priority, those of a traceback too."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = f"<{_PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(prefix + line for line in super().format(record).split("\n"))


def set_up_logging(level: str = "", stream: TextIO | None = None, prefix: str = "") -> None:
    """Log to standard error; `level` or $HEADRACE_LOG_LEVEL, INFO where neither is set.

    prefix   of each line, for example "[node 1] "
    raises   ConfigError, for a level that does not exist
    """
    level = (level or os.environ.get(LEVEL_VARIABLE, "INFO")).upper()
    if level not in LEVELS:
        raise ConfigError(LEVEL_VARIABLE, level, f"must be one of {', '.join(LEVELS)}")
    stream = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(stream)
    is_journal = _is_journal(stream, os.environ.get("JOURNAL_STREAM", ""))
    handler.setFormatter(
        JournalFormatter(JOURNAL_FORMAT, prefix) if is_journal else LineFormatter(TERMINAL_FORMAT, prefix)
    )
    handler.addFilter(LogRateFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def _is_journal(stream: TextIO, journal_stream: str) -> bool:
    """Whether `stream` is what $JOURNAL_STREAM (device:inode) names; a shell started by a unit inherits the variable."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return journal_stream == f"{found.st_dev}:{found.st_ino}"

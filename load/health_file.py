"""How a load is, in a file that a service manager, a probe of Kubernetes or a check of Nagios reads.

    {"state": "ok", "time": "2026-11-21T00:00:00.000Z", "stale_after_s": 360.0, "last_commit": {...}, "lag": {...}, "last_error": null, ...}

    state     ok        the last round was right, or the first one is in progress
              failing   the last round failed, and the next one retries
              stopped   it ended as it was asked to
              failed    it ended with last_error

The file is replaced at once, so no reader sees half of it: after each commit and each round, also one that failed, and at times while a
round reads. A load that hangs, or was killed, writes no more: its file is stale when `time`, by the wall clock, is more than
`stale_after_s` ago, whatever its state says. A file that can't be written is a warning, and no reason to end a load.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.load.events import Event

PROGRESS_EVERY_S = 10.0  # between two writings within a round
STALE_AFTER_S = 300.0  # beside the pause between two rounds: a task, a merge or a commit takes less

_log = logging.getLogger("headrace.load")


class HealthFile:
    """A listener of a load's events."""

    def __init__(
        self, path: str | os.PathLike[str], every_s: float | None, steady: Callable[[], float] = time.monotonic
    ) -> None:
        """raises   ValueError, where the directory is none, so that nothing waits for a file that never comes"""
        self._path = Path(path).absolute()
        if not self._path.parent.is_dir():
            raise ValueError(f"health_file {path}: {self._path.parent} is not a directory")
        self._steady = steady
        self._written_s = -PROGRESS_EVERY_S
        self._fails = False
        self._found: dict[str, Any] = {
            "state": "ok",
            "time": None,
            "stale_after_s": STALE_AFTER_S + (every_s or 0.0),
            "target": None,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": None,
            "rounds": 0,
            "failed_rounds": 0,  # in a row
            "last_commit": None,
            "lag": None,
            "left": [],
            "last_error": None,
        }

    def __call__(self, event: Event) -> None:
        found, kind = self._found, event["event"]
        found["time"], found["target"] = event["time"], event["target"]
        found["started"] = found["started"] or event["time"]
        if kind == "progress" and self._steady() - self._written_s < PROGRESS_EVERY_S:
            return
        if kind == "commit":
            found["last_commit"] = {name: event[name] for name in ("commit", "time", "reason", "records")}
            found["lag"] = event["lag"]
        if kind in ("round", "end"):
            self._ended(event, kind == "end")
        self._write()

    def _ended(self, event: Event, is_last: bool) -> None:
        found, is_ok = self._found, event["state"] == "ok"
        found["lag"] = found["lag"] if event["lag"] is None else event["lag"]
        found["left"] = event["left"]
        if not is_ok:
            found["last_error"] = {"time": event["time"], **event["error"]}
        if is_last:
            found["state"] = "stopped" if is_ok else "failed"
            return
        found["rounds"] += 1
        found["state"] = "ok" if is_ok else "failing"
        found["failed_rounds"] = 0 if is_ok else found["failed_rounds"] + 1

    def _write(self) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps(self._found) + "\n")
            os.replace(temporary, self._path)
        except OSError as failure:
            if not self._fails:
                _log.warning("the health file %s can't be written: %s", self._path, failure)
            self._fails = True
            return
        self._fails = False
        self._written_s = self._steady()

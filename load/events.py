"""What happens in a load, for programs: an event for each commit, each round, and the end.

    commit    {"event": "commit", "commit": 42, "reason": "load", "records": 1000, ...}
    round     {"event": "round", "state": "ok" | "failed", "lag": {"clicks": 0}, "error": ..., ...}
    end       {"event": "end", "state": "ok" | "failed", ...}
    progress  while a round reads; of no use but to say that the load is alive (`health_file.py`)

Each is a dictionary that JSON takes. Names of fields stay as they are; later versions may add some. Times are UTC by the wall clock;
durations are by a monotonic clock. `lag` counts the records between the commit and the end of the log as it was when the round was
planned, by topic; partitions without a leader are not in it, but in `left`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.ids import TopicPartition
from headrace.load.commits import Snapshot

Event = dict[str, Any]
Listener = Callable[[Event], None]


def no_listener(_event: Event) -> None:
    """For a load whose events no program reads."""


def both(first: Listener, second: Listener) -> Listener:
    """A listener that has two hear each event."""

    def listener(event: Event) -> None:
        first(event)
        second(event)

    return listener


class LoadEvents:
    """Events of one load, as its loader has them."""

    def __init__(
        self, target: str, listener: Listener, clock: Callable[[], float], steady: Callable[[], float]
    ) -> None:
        """clock    seconds since 1970
        steady   seconds, for durations
        """
        self._target = target
        self._listener = listener
        self._clock = clock
        self._steady = steady
        self._begun_s = self._round_s = steady()
        self._ends: Mapping[TopicPartition, int] | None = None
        self._left: Sequence[TopicPartition] = ()
        self._lag: dict[str, int] | None = None
        self._total = {"commits": 0, "records": 0, "dead_letters": 0}
        self._of_round = dict(self._total)

    def round_begins(self) -> None:
        self._round_s = self._steady()
        self._of_round = dict.fromkeys(self._total, 0)
        self._ends, self._lag = None, None

    def planned(self, ends: Mapping[TopicPartition, int], left: Sequence[TopicPartition], snapshot: Snapshot) -> None:
        """ends   of the log, of the partitions that are read"""
        self._ends, self._left = ends, sorted(left)
        self._lag = _lag(ends, snapshot)

    def progressed(self) -> None:
        self._send("progress", {})

    def committed(
        self,
        snapshot: Snapshot,
        reason: str,
        records: int = 0,
        bad: int = 0,
        files: int = 0,
        size: int = 0,
        gaps: int = 0,
    ) -> None:
        """records   that were loaded, or dropped, dead letters among them"""
        if reason == "load":
            for some in (self._total, self._of_round):
                some["commits"] += 1
                some["records"] += records
                some["dead_letters"] += bad
        if self._ends is not None:
            self._lag = _lag(self._ends, snapshot)
        self._send(
            "commit",
            {
                "commit": snapshot.number,
                "reason": reason,
                "records": records,
                "dead_letters": bad,
                "files": files,
                "bytes": size,
                "gaps": gaps,
                "lag": self._lag,
            },
        )

    def round_ends(self, failure: BaseException | None = None) -> None:
        self._send("round", {**self._of_round, **self._outcome(failure, self._round_s)})

    def ends(self, failure: BaseException | None = None) -> None:
        self._send("end", {**self._total, **self._outcome(failure, self._begun_s)})

    def _outcome(self, failure: BaseException | None, since_s: float) -> Event:
        return {
            "state": "ok" if failure is None else "failed",
            "lag": self._lag,
            "left": [str(name) for name in self._left],
            "duration_s": round(self._steady() - since_s, 3),
            "error": None if failure is None else {"type": type(failure).__name__, "message": str(failure)},
        }

    def _send(self, event: str, found: Event) -> None:
        self._listener({"event": event, "time": time_text(self._clock()), "target": self._target, **found})


def time_text(now_s: float) -> str:
    """Of seconds since 1970: 2026-11-21T00:00:00.000Z."""
    return (
        datetime.datetime.fromtimestamp(now_s, datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _lag(ends: Mapping[TopicPartition, int], snapshot: Snapshot) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, end in sorted(ends.items()):
        found[name.topic] = found.get(name.topic, 0) + max(0, end - (snapshot.next_offset(name) or 0))
    return found

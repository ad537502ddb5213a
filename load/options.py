"""What a load is asked to do, checked before anything starts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.ids import TopicPartition
from headrace.limits import LOAD_WORKERS_MAX
from headrace.load.contents import Contents

OUT_OF_RANGE = ("fail", "earliest", "skip")
RECREATED = ("refuse", "load")
COMPRESSIONS = ("snappy", "gzip", "brotli", "zstd", "lz4", "none")
RECORDS_PER_TASK = 1_000_000
RECORDS_PER_COMMIT = 20_000_000
GRACE_S = 86_400.0
RETIRED_S = 3_600.0
COMPACT_EVERY = 16  # commits, where a load repeats

Start = str | int | Mapping[TopicPartition, int]


def never() -> bool:
    return False


@dataclass(frozen=True)
class LoadOptions:
    """All of it.

    pattern              a topic is loaded if all of its name matches
    start                of partitions that the target has nothing of: "earliest", "latest", an offset, "@" and milliseconds
                         since 1970, or offsets by partition
    every_s              None: what is there now, and no more
    out_of_range         the log no longer has what comes after the last commit: "fail", "earliest" (continue with what there
                         is; the gap is in the commit), "skip" (leave the partition as it is)
    recreated            a topic that was deleted and created again: "refuse", "load" (from its beginning, beside the old records)
    group                whose offsets follow the commits; "" none
    records_per_task     a range is at most this long
    records_per_commit   of all partitions; a longer backlog takes several commits
    workers              processes, or None: one a core
    spark                a session whose executors run the tasks instead
    compact_every        commits between two merges of small files; None: COMPACT_EVERY where the load repeats, else none; 0: none
    grace_s              age at which files are removed that no commit names, of a loader whose death has no proof
    retired_s            for which files that a commit removed stay for readers of earlier snapshots
    keep_s               hours that ended longer ago are dropped after each round (`expiring.py`); None: none are
    """

    bootstrap_servers: str
    pattern: str
    contents: Contents
    start: Start = "earliest"
    every_s: float | None = None
    out_of_range: str = "fail"
    recreated: str = "refuse"
    group: str = ""
    compression: str = "snappy"
    records_per_task: int = RECORDS_PER_TASK
    records_per_commit: int = RECORDS_PER_COMMIT
    workers: int | None = None
    read_committed: bool = False
    spark: Any = None
    compact_every: int | None = None
    grace_s: float = GRACE_S
    retired_s: float = RETIRED_S
    is_stopped: Callable[[], bool] = never
    keep_s: float | None = None

    def __post_init__(self) -> None:
        """raises   ValueError, naming what is wrong"""
        _check_word("out_of_range", self.out_of_range, OUT_OF_RANGE)
        _check_word("recreated", self.recreated, RECREATED)
        _check_word("compression", self.compression, COMPRESSIONS)
        try:
            re.compile(self.pattern)
        except re.error as failure:
            raise ValueError(f"topics {self.pattern!r} is not a regular expression: {failure}") from None
        for name, value, least in (
            ("records_per_task", self.records_per_task, 1),
            ("records_per_commit", self.records_per_commit, 1),
            ("compact_every", self.compact_every or 0, 0),
            ("grace_s", self.grace_s, 0),
            ("retired_s", self.retired_s, 0),
        ):
            if value < least:
                raise ValueError(f"{name} {value} must be at least {least}")
        if self.workers is not None and not 1 <= self.workers <= LOAD_WORKERS_MAX:
            raise ValueError(f"workers {self.workers} must be 1 to {LOAD_WORKERS_MAX}")
        if self.every_s is not None and self.every_s <= 0:
            raise ValueError(f"every_s {self.every_s} must be more than 0")
        if self.keep_s is not None and not 0 < self.keep_s < float("inf"):
            raise ValueError(f"keep_s {self.keep_s} must be more than 0")
        start_of(self.start)

    @property
    def files_merged_min(self) -> int:
        """How many small files side by side, of one partition and hour, are merged: each commit adds one. 0: none are."""
        if self.compact_every is None:
            return 0 if self.every_s is None else COMPACT_EVERY
        return self.compact_every

    def worker_count(self) -> int:
        return self.workers or min(len(os.sched_getaffinity(0)), LOAD_WORKERS_MAX)


def pattern_of(topics: str | Sequence[str]) -> str:
    """A pattern from one, or from a sequence of names. raises ValueError"""
    if isinstance(topics, str):
        found = topics.strip()
    else:
        found = "|".join(re.escape(name) for name in topics)
    if not found:
        raise ValueError("topics: expected a pattern, or names of topics")
    return found


def start_of(start: Start) -> tuple[str, int]:
    """("earliest" | "latest" | "offset" | "time" | "offsets", number). raises ValueError"""
    if isinstance(start, Mapping):
        return "offsets", 0
    if isinstance(start, int):
        if start < 0:
            raise ValueError(f"start {start}: expected an offset of 0 or more")
        return "offset", start
    if start in ("earliest", "latest"):
        return start, 0
    if start.startswith("@") and start[1:].isdigit():
        return "time", int(start[1:])
    raise ValueError(f"start {start!r}: earliest, latest, an offset, or @ and milliseconds since 1970")


def _check_word(name: str, text: str, words: Sequence[str]) -> None:
    if text not in words:
        raise ValueError(f"{name} {text!r} must be one of {', '.join(words)}")

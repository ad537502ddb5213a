"""Whole hours dropped when they ended long ago: `headrace load expire`.

    now 14:20, older than 2h    cutoff 12:20    hours 11 and before go, hour 12 stays

Our files have one hour each, and go whole; so do files of others whose partition says the hour. Rows of other files go by their time. Rows
without a time have no hour, and stay. Offsets stay: the load continues, and records of these hours don't come back, though the
log may have them. A record that is loaded later with an old time goes with the next expiry.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.limits import LOAD_UPKEEP_TRIES_MAX
from headrace.load.commits import EXPIRE, DataFile, LiveFile, Snapshot
from headrace.load.errors import LoadFenced
from headrace.load.hour_files import HOUR_US, NO_HOUR
from headrace.load.orphans import remove_uncommitted
from headrace.load.row_removal import Chosen, Removal, choose, remove, removed
from headrace.load.target import Target, open_target

HOUR_S = 3600

_log = logging.getLogger("headrace.load")


@dataclass(frozen=True, slots=True)
class ExpiredHour:
    """What of a topic's hour goes: rows, dead letters among them, files and their bytes."""

    topic: str
    hour: str
    rows: int
    dead_letters: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Expired:
    """What an expiry took, or would take.

    before    the first hour that stays, YYYY-MM-DD-HH
    hours     '' for rows of others whose hours only their times say
    removal   all together
    """

    before: str
    hours: tuple[ExpiredHour, ...]
    removal: Removal
    is_dry_run: bool = False


def expire(
    to: str | os.PathLike[str] | Target,
    older_than: timedelta | float,
    *,
    dry_run: bool = False,
    now_s: float | None = None,
) -> Expired:
    """Drop the hours that ended before now less `older_than` (a timedelta, or seconds), in one commit.

    now_s    since 1970; None: the clock's
    raises   ValueError; LoadFenced, where other programs replaced the files again and again; BrokenTarget, OSError
    """
    target = open_target(to)
    choice = OldHours(first_kept(older_than, time.time() if now_s is None else now_s))
    removal, chosen, _snapshot = removed(target, EXPIRE, choice, dry_run)
    return Expired(_text(choice.first_kept), _by_hour(chosen), removal, dry_run)


def expired(target: Target, run_id: str, snapshot: Snapshot, hour: int) -> tuple[Removal | None, Snapshot]:
    """The same by a load, between two rounds.

    hour     the first that stays, since 1970
    returns  what was dropped, None where there was nothing; the table's snapshot after it
    raises   as `expire` does
    """
    choice = OldHours(hour)
    for tries_left in range(LOAD_UPKEEP_TRIES_MAX - 1, -1, -1):
        chosen = choose(target, snapshot, choice)
        if not chosen:
            return None, snapshot
        try:
            removal, snapshot = remove(target, run_id, snapshot, EXPIRE, chosen, choice)
        except LoadFenced:
            remove_uncommitted(target, run_id)
            if not tries_left:
                raise
            snapshot = target.read()
            continue
        _log.info("expired rows=%d dead_letters=%d files=%d", removal.rows, removal.dead_letters, removal.files)
        return removal, snapshot
    raise AssertionError("unreachable")


def first_kept(older_than: timedelta | float, now_s: float) -> int:
    """The first hour that stays, since 1970. raises ValueError"""
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else float(older_than)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"older_than {older_than}: expected 0 or more")
    return int((now_s - seconds) // HOUR_S)


@dataclass(frozen=True, slots=True)
class OldHours:
    """The choice of rows whose hours are before one."""

    first_kept: int

    def of_ours(self, _target: Target, one: DataFile, _schema: pa.Schema) -> np.ndarray | None:
        return np.ones(one.rows, bool) if self._is_old(one.hour) else None

    def of_others(self, target: Target, one: LiveFile, _schema: pa.Schema) -> np.ndarray | None:
        if _number(one.hour) is not None:
            if not self._is_old(one.hour):
                return None
            return np.ones(pq.read_metadata(target.root / one.path).num_rows, bool)
        with pq.ParquetFile(target.root / one.path) as file:
            if "timestamp" not in file.schema_arrow.names:
                return None
            times = file.read(columns=["timestamp"])["timestamp"]
        numbers = pc.fill_null(times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()), 2**63 - 1)
        return np.asarray(numbers.to_numpy() < self.first_kept * HOUR_US)

    def takes_gone(self, one: DataFile) -> bool:
        return self._is_old(one.hour)

    def _is_old(self, hour: str) -> bool:
        number = _number(hour)
        return number is not None and number < self.first_kept


def _number(hour: str) -> int | None:
    """Hours since 1970 of YYYY-MM-DD-HH; None where there is no time, or something else, by another program."""
    day, _, rest = hour.rpartition("-")
    try:
        return None if hour in ("", NO_HOUR) else int(np.datetime64(f"{day}T{rest}", "h").astype(np.int64))
    except ValueError:
        return None


def _text(hour: int) -> str:
    return str(np.datetime64(hour, "h")).replace("T", "-")


def _by_hour(chosen: Iterable[Chosen]) -> tuple[ExpiredHour, ...]:
    found: dict[tuple[str, str], ExpiredHour] = {}
    for one in chosen:
        key = (one.file.topic, one.file.hour)
        known = found.get(key) or ExpiredHour(*key, 0, 0, 0, 0)
        found[key] = replace(
            known,
            rows=known.rows + one.rows,
            dead_letters=known.dead_letters + one.rows * one.is_bad,
            files=known.files + 1,
            bytes=known.bytes + one.file.bytes,
        )
    return tuple(found[key] for key in sorted(found))

"""Versions of a Delta table given up: VACUUM by deltalake, and what it does not find.

VACUUM goes by the table's tombstones, and passes over `_headrace/`. Beside it go files of ours that no version since the cutoff has
had: whose tombstone a checkpoint has dropped, and dead letters. Where the log no longer says what the versions since then had, they
stay.

Source: the Delta protocol's remove action; VACUUM of delta-rs.
"""

from __future__ import annotations

import json
from urllib.parse import unquote

from headrace.load.delta_history import name_at
from headrace.load.delta_target import DeltaTarget
from headrace.load.errors import BrokenTarget
from headrace.load.vacuuming import Vacuumed, is_live, removed_files, settled, unneeded

HOUR_S = 3600.0


def vacuum_delta(target: DeltaTarget, cutoff_s: float, seconds: float, force: bool, dry_run: bool) -> Vacuumed:
    """raises   BrokenTarget, where VACUUM refuses; OSError"""
    from deltalake.exceptions import DeltaError

    committed = settled(target)
    table = target.table()
    hours = int(seconds // HOUR_S)
    arguments = {"retention_hours": hours, "enforce_retention_duration": not force}
    try:
        names = table.vacuum(dry_run=True, **arguments)
        sizes = [path.stat().st_size for name in names if (path := target.root / unquote(name)).exists()]
        if not dry_run:
            table.vacuum(dry_run=False, **arguments)
    except (DeltaError, OSError) as failure:
        raise BrokenTarget(f"{target.name}: {failure}") from failure
    kept = _since(target, cutoff_s)
    if kept is None:
        return Vacuumed(len(sizes), sum(sizes), 0, dry_run)
    needed, commits = kept
    vacuumed = {unquote(name) for name in names}
    rest = [
        path
        for path in unneeded(target, committed, needed, commits, cutoff_s)
        if str(path.relative_to(target.root)) not in vacuumed
    ]
    more = removed_files(rest, dry_run)
    return Vacuumed(len(sizes) + more.files, sum(sizes) + more.bytes, 0, dry_run)


def _since(target: DeltaTarget, cutoff_s: float) -> tuple[set[str], set[str]] | None:
    """Data files of all versions since a time and of the one at it, and our commits that these are at; None: the log does not say."""
    version = target.table().version()
    needed = is_live(target.read())
    commits = set()
    while version >= 0:
        name = name_at(target.root, version)
        actions = _actions(target, version)
        if name is None or actions is None:
            return None
        if name:
            commits.add(name)
        if _time_s(target, version, actions) < cutoff_s:
            break
        needed.update(unquote(str(one["remove"]["path"])) for one in actions if "remove" in one)
        version -= 1
    return needed, commits


def _actions(target: DeltaTarget, version: int) -> list[dict[str, dict[str, object]]] | None:
    """Of a version's file, those that say what it removed, and when it was made. raises BrokenTarget"""
    path = target.root / "_delta_log" / f"{version:020d}.json"
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if '"remove"' in line or '"commitInfo"' in line]
    except FileNotFoundError:
        return None
    except ValueError as failure:
        raise BrokenTarget(f"{path} can't be read: {failure}") from None


def _time_s(target: DeltaTarget, version: int, actions: list[dict[str, dict[str, object]]]) -> float:
    for one in actions:
        at_ms = one.get("commitInfo", {}).get("timestamp")
        if isinstance(at_ms, int):
            return at_ms / 1000
    return (target.root / "_delta_log" / f"{version:020d}.json").stat().st_mtime

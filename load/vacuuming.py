"""Earlier versions of a table given up: the bytes of what was deleted, expired, merged or rewound go from the disk. `headrace load vacuum`.

                        gives up                                     removes
    Parquet directory   nothing: it has no earlier versions          files that a commit removed before the cutoff
    Delta               versions that ended before the cutoff        their files, by VACUUM and as below
    Iceberg             snapshots from before the cutoff, but for    their files, manifests and manifest lists
                        that of our last commit and those since

A file is removed if a commit named it and no version that is kept has it. So what a running loader wrote, and no commit names yet, is
never among these: orphans have their own rules, which are applied as well (`orphans.py`). Dead letters lie where the tables' own tools
don't look: they go with the commits that no kept version is at.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from headrace.load.commits import Snapshot
from headrace.load.data_files import found_files
from headrace.load.durable import sync_directory
from headrace.load.manifest_chain import ChainedTarget
from headrace.load.options import GRACE_S, RETIRED_S
from headrace.load.orphans import orphans, run_of, sweep
from headrace.load.target import CONTROL, DEAD_LETTERS, Target, open_target

OLDER_THAN_S = 7 * 86_400.0
TABLE_LEAST_S = 7 * 86_400.0  # as the retention check of Delta: a query, or a load, takes less
DIRECTORY_LEAST_S = RETIRED_S
# What is left of a file of others (`others_rows.py`): of a commit that was killed no table's log knows it.
REST = re.compile(r"part-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.parquet\Z")


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What was removed, or would be.

    versions   of the table that can't be read any more, where the table counts them
    files      with their bytes
    """

    files: int
    bytes: int
    versions: int = 0
    is_dry_run: bool = False


def vacuum(
    to: str | os.PathLike[str] | Target,
    older_than: timedelta | float = OLDER_THAN_S,
    *,
    force: bool = False,
    dry_run: bool = False,
    now_s: float | None = None,
) -> Vacuumed:
    """Give up what is older than that.

    older_than   a timedelta, or seconds
    force        also below seven days for a table, one hour for a directory: a query, a RESTORE or a load may still need the files
    dry_run      only count; orphans are left out
    now_s        since 1970; None: the clock's
    raises       ValueError; LoadFenced (another load committed while orphans were fenced); BrokenTarget, OSError, the table's own errors
    """
    target = open_target(to)
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else float(older_than)
    _check(target, seconds, force)
    now_s = time.time() if now_s is None else now_s
    if not target.read().number:
        return Vacuumed(0, 0, 0, dry_run)
    found = _given_up(target, now_s - seconds, seconds, force, dry_run)
    if not dry_run and orphans(target):
        with run_of(target) as run:
            sweep(target, run.id, max(seconds, GRACE_S), now_s)
    return found


def _check(target: Target, seconds: float, force: bool) -> None:
    """raises   ValueError"""
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"older_than {seconds:g}: expected 0 or more")
    least = TABLE_LEAST_S if target.leaves_removal else DIRECTORY_LEAST_S
    if seconds < least and not force:
        raise ValueError(
            f"older_than {seconds:g} s is less than {least:g} s: readers, a RESTORE or a load may still need the files; force allows it"
        )


def _given_up(target: Target, cutoff_s: float, seconds: float, force: bool, dry_run: bool) -> Vacuumed:
    from headrace.load.delta_target import DeltaTarget

    if not isinstance(target, ChainedTarget):
        names = [name for name, at_ms in target.read().retired.items() if at_ms / 1000 < cutoff_s]
        return removed_files([target.root / name for name in names], dry_run)
    if isinstance(target, DeltaTarget):
        from headrace.load.delta_vacuum import vacuum_delta

        return vacuum_delta(target, cutoff_s, seconds, force, dry_run)
    from headrace.load.iceberg_target import IcebergTarget
    from headrace.load.iceberg_vacuum import vacuum_iceberg

    assert isinstance(target, IcebergTarget)
    return vacuum_iceberg(target, cutoff_s, dry_run)


def removed_files(paths: Iterable[Path], dry_run: bool, versions: int = 0) -> Vacuumed:
    """Remove files; those that are gone don't count."""
    count = size = 0
    folders = set()
    for path in paths:
        try:
            size += path.stat().st_size
            count += 1
            if not dry_run:
                path.unlink()
                folders.add(path.parent)
        except FileNotFoundError:
            continue
    for folder in folders:
        sync_directory(folder)
    return Vacuumed(count, size, versions, dry_run)


def settled(target: ChainedTarget) -> set[str]:
    """Files that a commit named, but for those that a loader may be committing: of a table whose early versions are gone it is not
    known whether the table named a commit. raises BrokenTarget"""
    unsure = target.unsure_paths(time.time() - GRACE_S)
    return {path for path in target.committed_paths() if path not in unsure}


def unneeded(
    target: ChainedTarget, committed: Collection[str], needed: Collection[str], names: Collection[str], cutoff_s: float
) -> list[Path]:
    """Files of ours that a commit named, and no version that is kept has; and what is left of files of others, a day old, that none has.

    committed   `settled`; found before `needed`, so that what is committed meanwhile is in neither or in both
    needed      data files of kept versions, below the root
    names       our commits that kept versions are at
    """
    bad = target.dead_letters_of(names)
    found = [
        path
        for path in target.root.rglob("part-*.parquet")
        if REST.match(path.name)
        and str(path.relative_to(target.root)) not in needed
        and _is_older(path, min(cutoff_s, time.time() - GRACE_S))
    ]
    for path, _attempt in found_files(target.root):
        name = str(path.relative_to(target.root))
        is_bad = name.startswith((f"{CONTROL}/{DEAD_LETTERS}/", f"{DEAD_LETTERS}/"))
        if name in committed and name not in (bad if is_bad else needed) and _is_older(path, cutoff_s):
            found.append(path)
    return found


def _is_older(path: Path, cutoff_s: float) -> bool:
    try:
        return path.stat().st_mtime < cutoff_s
    except FileNotFoundError:
        return False


def is_live(snapshot: Snapshot) -> set[str]:
    """Paths of what the table has now, of ours and of others, and of files that delete rows."""
    return {
        *(path for path, one in snapshot.files.items() if not one.is_bad),
        *(one.path for one in snapshot.others),
        *(path for one in snapshot.others for path in one.deletes),
    }

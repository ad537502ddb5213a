"""Files that no commit names, removed when it is proven that none ever will.

    written by                                      removed
    a worker of ours that died, or was ended        after the round, by its loader
    this loader, in a round that failed             by itself, when its tasks have ended
    a loader of this host that is dead (runs.py)    by the next loader, at its start (after such a commit, where a commit that it
                                                    sent to a catalog may still happen)
    a loader elsewhere, or of unknown fate          when they are older than the grace time, after a commit that fences it
    a loader that has no file in runs/              never: it has ended in order, so a commit named them, and it is the commits that
                                                    are missing
    a commit that a later one removed               after `retired_s`: readers of earlier snapshots may have it open

A file that is missing from the commits is no proof: a loader that is alive may be about to commit it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.load.commits import Change, Snapshot
from headrace.load.data_files import Attempt, found_files
from headrace.load.errors import UnknownOutcome
from headrace.load.runs import Run, forget_run, other_runs, runs_of
from headrace.load.target import Target

TEMPORARY_S = 600.0  # a commit takes less

_log = logging.getLogger("headrace.load")


def remove_attempts(root: Path, dead: Collection[Attempt]) -> int:
    """What attempts of this loader left whose workers are gone; returns how many files."""
    found = [path for path, attempt in found_files(root) if attempt in set(dead)] if dead else []
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


@contextmanager
def run_of(target: Target) -> Iterator[Run]:
    """A run that makes one commit. Where that fails its files go; where the outcome is not known the next loader cleans up."""
    run = Run(target.control)
    try:
        yield run
    except UnknownOutcome:
        run.close(keeps_file=True)
        raise
    except BaseException:
        remove_uncommitted(target, run.id)
        run.close()
        raise
    run.close()


def remove_uncommitted(target: Target, own: str) -> int:
    """What this loader wrote and no commit ever named, when none of its tasks runs any more; returns how many files. What a merge or a
    rewind replaced was committed: it stays for readers of earlier snapshots (`remove_retired`). raises BrokenTarget"""
    committed = target.committed_paths()
    found = [
        path
        for path, attempt in found_files(target.root)
        if attempt.run == own and str(path.relative_to(target.root)) not in committed
    ]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def sweep(target: Target, own: str, grace_s: float, now_s: float | None = None) -> Snapshot:
    """Remove what dead loaders left.

    own      id of this loader, whose files stay
    now_s    since 1970
    returns  the snapshot as it is now: it has one more commit if a loader had to be fenced first
    raises   LoadFenced, if another loader commits meanwhile
    """
    now_s = time.time() if now_s is None else now_s
    with other_runs(target.control, own) as others:
        dead = {one.id for one in others if one.is_dead}
        known = {one.id for one in others}
        snapshot = target.read()  # after the proof: what the dead committed, they committed before
        committed = target.committed_paths()
        proven, old, unknown = [], [], []
        for path, attempt in found_files(target.root):
            name = str(path.relative_to(target.root))
            if attempt.run == own or name in committed:
                continue
            if attempt.run in dead:
                proven.append(path)
            elif attempt.run not in known:
                unknown.append(path)
            elif _age_s(path, now_s) > grace_s:
                old.append(path)
        if unknown:
            _log.warning(
                "%s: keeping %d files, first %s: no commit names them although their loader ended normally; check"
                " whether commits are missing in %s",
                target.name,
                len(unknown),
                unknown[0],
                target.control,
            )
        if old or (proven and target.fences_before_removal):
            snapshot = _fenced(target, own, snapshot, now_s)
        for path in (*proven, *old):
            path.unlink(missing_ok=True)
        if proven or old:
            _log.info("orphans removed proven=%d old=%d", len(proven), len(old))
        for run_id in dead:
            forget_run(target.control, run_id)
    target.sweep_temporary(now_s - max(grace_s, TEMPORARY_S))
    for path in runs_of(target.control).glob("*"):
        if path.name.lstrip(".") != own and _age_s(path, now_s) > grace_s and not _has_files(target.root, path.name):
            path.unlink(missing_ok=True)
    return snapshot


def _fenced(target: Target, own: str, snapshot: Snapshot, now_s: float) -> Snapshot:
    """After an empty commit, which no loader that read an earlier snapshot can follow any more. raises LoadFenced"""
    return target.commit(Change(own, int(now_s * 1000), "fence", snapshot.offsets), snapshot)


def _has_files(root: Path, run_id: str) -> bool:
    return any(attempt.run == run_id for _path, attempt in found_files(root))


def remove_retired(target: Target, snapshot: Snapshot, retired_s: float, now_s: float | None = None) -> int:
    """Files that a commit removed, and that no reader should have open any more; returns how many."""
    if target.leaves_removal:
        return 0
    now_s = time.time() if now_s is None else now_s
    found = 0
    for name, at_ms in snapshot.retired.items():
        path = target.root / name
        if now_s - at_ms / 1000 > retired_s and path.exists():
            path.unlink(missing_ok=True)
            found += 1
    return found


def orphans(target: Target) -> list[str]:
    """Files below the root that no commit names, of whichever loader; paths below the root."""
    committed = target.committed_paths()
    found = [str(path.relative_to(target.root)) for path, _attempt in found_files(target.root)]
    return sorted(name for name in found if name not in committed)


def _age_s(path: Path, now_s: float) -> float:
    try:
        return now_s - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0

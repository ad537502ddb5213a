"""A table that an earlier version loaded, made such as other programs may maintain: `headrace load migrate`.

    Delta's paths        the log named files as topic%3Dclicks/...: other writers did not find them, or kept both
    dead letters         lay in dead_letters/, which a VACUUM removes; they move below _headrace/, which none does

Can be run again, and beside a load: nothing is left to do then, or one of both is overtaken.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.limits import LOAD_COMMIT_TRIES_MAX
from headrace.load.commits import COMPACT, Change, DataFile
from headrace.load.durable import make_directory, sync_directory
from headrace.load.errors import LoadFenced
from headrace.load.manifest_chain import Overtaken
from headrace.load.orphans import run_of
from headrace.load.target import CONTROL, Target, open_target


@dataclass(frozen=True, slots=True)
class Migrated:
    """Files whose paths were corrected, and files of dead letters that were moved."""

    paths: int
    dead_letters: int


def migrate(to: str | os.PathLike[str] | Target) -> Migrated:
    """Migrate a target. raises ValueError, BrokenTarget, LoadFenced (loads came in between again and again), OSError"""
    target = open_target(to)
    if not target.read().number:
        return Migrated(0, 0)
    return Migrated(_respelled(target), _moved(target))


def _respelled(target: Target) -> int:
    from headrace.load.delta_target import DeltaTarget

    if not isinstance(target, DeltaTarget):
        return 0
    for _ in range(LOAD_COMMIT_TRIES_MAX):
        try:
            return target.respell()
        except Overtaken:
            continue
    raise LoadFenced(f"{target.name}: lost to other commits {LOAD_COMMIT_TRIES_MAX} times: run it again")


def _moved(target: Target) -> int:
    """Dead letters below _headrace/: copied, then committed; the old files stay for readers, as after a merge."""
    snapshot = target.read()
    old = [one for one in snapshot.files.values() if one.is_bad and not one.path.startswith(f"{CONTROL}/")]
    if not old:
        return 0
    new = tuple(replace(one, path=f"{CONTROL}/{one.path}") for one in old)
    with run_of(target) as run:
        for was, now in zip(old, new, strict=True):
            _copy(target.root, was, now)
        change = Change(
            run.id, int(time.time() * 1000), COMPACT, snapshot.offsets, (), new, tuple(one.path for one in old)
        )
        target.commit(change, snapshot)
    return len(old)


def _copy(root: Path, was: DataFile, now: DataFile) -> None:
    path = root / now.path
    make_directory(path.parent)
    shutil.copyfile(root / was.path, path)
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)

"""The commit log of a Parquet directory: one numbered file for each commit, which two loaders can't both create.

    _headrace/
      00000000000000000041.json             commit 41: files added, ranges, offsets after it (commits.py)
      00000000000000000042.json             commit 42
      checkpoint-00000000000000000040.json  the snapshot after commit 40, so that earlier ones need not be read

A commit is written under a name of its own, synced, and linked to its number: `link` refuses a number that exists, on a local
disk and over NFS, so a loader that read snapshot 41 and was overtaken can't make 42. Then the directory is synced.

    1 write   .42.<unique>.tmp, fsync       a crash before 2 leaves a file that nothing reads
    2 link    to 000...42.json              from here on it is committed
    3 sync    the directory                 and outlives a power loss
    4 unlink  the temporary name

Every CHECKPOINT_EVERY commits a checkpoint is written; commits that an earlier checkpoint has are removed. So that a loader that
slept since then can't make its old number again, a commit counts only where no checkpoint has its number: the writer checks it
after step 3, and readers begin after the newest checkpoint.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.limits import LOAD_COMMIT_TRIES_MAX, LOAD_LIST_TRIES_MAX, LOAD_MANIFEST_BYTES_MAX
from headrace.load.commits import (
    Change,
    Snapshot,
    apply,
    change_from_json,
    change_to_json,
    may_follow,
    rebased,
    snapshot_from_json,
    snapshot_to_json,
)
from headrace.load.durable import make_directory, sync_directory, write_synced
from headrace.load.errors import BrokenTarget, LoadFenced
from headrace.load.target import Step, no_step

CHECKPOINT_EVERY = 100
_COMMIT = re.compile(r"([0-9]{20})\.json\Z")
_CHECKPOINT = re.compile(r"checkpoint-([0-9]{20})\.json\Z")


class ManifestLog:
    """The log in one directory; any number of readers, and of writers of which one wins each number."""

    def __init__(self, directory: Path, step: Step = no_step, checkpoint_every: int = CHECKPOINT_EVERY) -> None:
        self._directory = directory
        self._step = step
        self._checkpoint_every = checkpoint_every
        self._known = Snapshot()

    def read(self) -> Snapshot:
        """The snapshot after the last commit.

        raises   BrokenTarget, where a commit is missing among the others, or can't be read
        """
        missing = ""
        for _ in range(LOAD_LIST_TRIES_MAX):
            commits, checkpoints = self._listed()
            try:
                self._known = self._replayed(commits, checkpoints)
            except FileNotFoundError as gone:  # a checkpoint was made meanwhile, and what it has removed
                missing = str(gone.filename)
                continue
            return self._known
        raise BrokenTarget(f"{self._directory}: {missing} is missing, although later commits exist")

    def append(self, change: Change, expected: Snapshot) -> Snapshot:
        """Commit a change, after upkeep that came first if there was any. raises LoadFenced"""
        before = expected
        for _ in range(LOAD_COMMIT_TRIES_MAX):
            try:
                return self._append(change, before)
            except LoadFenced:
                before = self.read()
                if not may_follow(change, expected, before):
                    raise
        raise LoadFenced(f"{self._directory}: lost to other commits {LOAD_COMMIT_TRIES_MAX} times")

    def _append(self, change: Change, expected: Snapshot) -> Snapshot:
        """raises   LoadFenced"""
        change = rebased(change, expected)
        after = apply(expected, change)
        number = after.number
        temporary = self._directory / f".{number}.{uuid.uuid4().hex}.tmp"
        write_synced(temporary, _encoded(change_to_json(change)))
        self._step("manifest written")
        try:
            self._link(temporary, self._directory / commit_name(number))
            self._step("manifest linked")
            sync_directory(self._directory)
            self._step("manifest synced")
        finally:
            temporary.unlink(missing_ok=True)
        _commits, checkpoints = self._listed()
        if checkpoints and checkpoints[-1] >= number:
            (self._directory / commit_name(number)).unlink(missing_ok=True)
            raise LoadFenced(
                f"{self._directory}: commit {number} was made long ago, {checkpoints[-1]} is the last one known"
            )
        self._known = after
        if number % self._checkpoint_every == 0:
            self._checkpoint(after)
        return after

    def _link(self, temporary: Path, final: Path) -> None:
        try:
            os.link(temporary, final)
        except FileExistsError:
            if temporary.stat().st_nlink == 2:  # an NFS server that heard us twice
                return
            raise LoadFenced(f"{final} exists: another loader committed first, this commit is void") from None

    def _listed(self) -> tuple[list[int], list[int]]:
        """Numbers of the commits and checkpoints that there are, in order."""
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return [], []
        commits = sorted(int(match[1]) for name in names if (match := _COMMIT.match(name)))
        return commits, sorted(int(match[1]) for name in names if (match := _CHECKPOINT.match(name)))

    def _replayed(self, commits: list[int], checkpoints: list[int]) -> Snapshot:
        """raises   FileNotFoundError, for one that is gone; BrokenTarget"""
        snapshot = self._known
        if checkpoints and checkpoints[-1] > snapshot.number:
            snapshot = snapshot_from_json(self._loaded(checkpoint_name(checkpoints[-1])))
        for number in range(snapshot.number + 1, (commits[-1] if commits else 0) + 1):
            snapshot = apply(snapshot, change_from_json(self._loaded(commit_name(number))))
        return snapshot

    def _loaded(self, name: str) -> Any:
        """raises   FileNotFoundError, BrokenTarget"""
        path = self._directory / name
        with open(path, "rb") as file:
            data = file.read(LOAD_MANIFEST_BYTES_MAX + 1)
        if len(data) > LOAD_MANIFEST_BYTES_MAX:
            raise BrokenTarget(f"{path} has more than {LOAD_MANIFEST_BYTES_MAX} bytes")
        try:
            return json.loads(data)
        except ValueError as failure:
            raise BrokenTarget(f"{path} is not JSON: {failure}") from None

    def _checkpoint(self, snapshot: Snapshot) -> None:
        """Write one, and remove what the one before it has."""
        _commits, before = self._listed()
        temporary = self._directory / f".checkpoint.{uuid.uuid4().hex}.tmp"
        write_synced(temporary, _encoded(snapshot_to_json(snapshot)))
        self._step("checkpoint written")
        os.replace(temporary, self._directory / checkpoint_name(snapshot.number))
        sync_directory(self._directory)
        self._step("checkpoint named")
        if not before:
            return
        for number in self._listed()[0]:
            if number <= before[-1]:
                (self._directory / commit_name(number)).unlink(missing_ok=True)
        for number in before[:-1]:
            (self._directory / checkpoint_name(number)).unlink(missing_ok=True)

    def create(self) -> None:
        make_directory(self._directory)

    def sweep_temporary(self, older_than_s: float) -> int:
        """Remove temporary files of loaders that died, older than a time since 1970; returns how many."""
        found = 0
        for path in self._directory.glob(".*.tmp"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < older_than_s:
                    path.unlink()
                    found += 1
        return found


def commit_name(number: int) -> str:
    return f"{number:020d}.json"


def checkpoint_name(number: int) -> str:
    return f"checkpoint-{number:020d}.json"


def _encoded(found: Any) -> bytes:
    return json.dumps(found, separators=(",", ":")).encode()

"""Targets whose own table format has the commit point: what a commit says is a file of ours, and the table's commit names it.

    _headrace/commits/00000000000000000042-<unique>.json   {"previous": "<name of 41>", "change": {...}}
                                                           every FULL_EVERY commits: {"snapshot": {...}, "change": {...}},
                                                           all that came before

    1 write the file, fsync      nothing names it yet
    2 commit to the table        data files and the name of 1, atomic, on condition that nothing was committed since we read
                                 the name before it

The name is in the table's commit and the files are in the same commit, so both count or neither. Other writers of the table
(DELETE, OPTIMIZE) have commits without a name: the last name before them counts. Which files are there after them the table says
(`live_files.py`). A table that was taken back (RESTORE, rollback) is at the name that it had then. Where the table's history no longer
goes back to a name, because it has expired, the rows have to show that the last one that is known counts (`lost_history.py`).
"""

from __future__ import annotations

import json
import uuid
from abc import abstractmethod
from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from headrace.limits import LOAD_COMMIT_TRIES_MAX, LOAD_MANIFEST_BYTES_MAX
from headrace.load.commits import (
    COMPACT,
    Change,
    LiveFile,
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
from headrace.load.live_files import reconciled
from headrace.load.lost_history import check_rows
from headrace.load.table_columns import after_change, with_columns_of
from headrace.load.target import Step, Target, no_step

FULL_EVERY = 50
POINTER = "headrace.commit"


class Overtaken(Exception):
    """The table was committed to since it was read."""


class Head(NamedTuple):
    """Where a table is.

    name        of our last commit, '': none
    condition   what the next table commit is conditional on
    is_certain  the table's own history says so, or its owner
    """

    name: str
    condition: Any
    is_certain: bool = True


class ChainedTarget(Target):
    """A table whose commits name ours."""

    leaves_removal = True
    hidden_columns: tuple[str, ...] = ()  # of the table alone: our rows don't have them

    def __init__(self, root: Path, name: str, step: Step = no_step) -> None:
        super().__init__(root, name, step)
        self._known = ("", Snapshot())
        self._proven: tuple[str, tuple[LiveFile, ...]] = ("", ())  # a commit, and files of others, that were looked at

    @abstractmethod
    def head(self) -> Head:
        """raises   BrokenTarget"""

    def sequence(self, _condition: Any) -> int | None:
        """The number that the table's own history gives its next commit; None: it has none."""
        return None

    @abstractmethod
    def live(self, condition: Any) -> Mapping[str, LiveFile]:
        """The table's data files, by path below the root. raises BrokenTarget"""

    @abstractmethod
    def columns(self, condition: Any) -> pa.Schema:
        """The table's columns. raises BrokenTarget"""

    def column_ids(self, _condition: Any) -> Mapping[str, int]:
        """Numbers of the columns, where files of others may have other names for them; else none."""
        return {}

    def check_view(self, snapshot: Snapshot, condition: Any) -> None:
        """Whether a snapshot of our commits can be read of the table as it is. raises BrokenTarget"""
        return None

    @abstractmethod
    def committed_names(self) -> tuple[Set[str], bool]:
        """Commits that the table names, also those that were taken back, and whether it may have named others before."""

    @abstractmethod
    def publish(self, change: Change, before: Snapshot, name: str, condition: Any) -> None:
        """Commit the change's files and the name to the table. raises Overtaken"""

    def new_name(self, number: int) -> str:
        """Of a commit's file; no other has it."""
        return f"{number:020d}-{uuid.uuid4().hex}.json"

    def sweep_temporary(self, older_than_s: float) -> int:
        """Files of commits that were not made: later numbers than the last one's aside, those that it does not follow from."""
        name = self.head().name
        chain = self._in_chain(name)
        first = min((one for one in chain if one), default="")
        names, has_others = self.committed_names()
        removed = 0
        for path in () if has_others else self._commits.glob("*.json"):
            is_old = path.exists() and path.stat().st_mtime < older_than_s
            if first <= path.name and path.name not in chain and is_old and path.name not in names:
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    @property
    def _commits(self) -> Path:
        return self.control / "commits"

    def read(self) -> Snapshot:
        return self._read()[2]

    def _read(self) -> tuple[str, Snapshot, Snapshot, Any]:
        """Name of our last commit, what our commits say, what the table has of it, and what its next commit is conditional on."""
        name, condition, is_certain = self.head()
        snapshot = self._chained(name)
        self._known = (name, snapshot)
        view = self._viewed(snapshot, condition)
        if not is_certain and self._proven != (name, view.others):
            check_rows(self.name, self.root, name, view, self._last_load(name))
            self._proven = (name, view.others)
        return name, snapshot, view, condition

    def _viewed(self, snapshot: Snapshot, condition: Any) -> Snapshot:
        """What the table has of a snapshot of our commits. raises BrokenTarget"""
        if condition is None:
            return snapshot
        self.check_view(snapshot, condition)
        view = reconciled(snapshot, self.live(condition))
        view = with_columns_of(view, self.columns(condition), self.hidden_columns)
        return replace(view, column_ids=self.column_ids(condition))

    def _last_load(self, name: str) -> Change | None:
        """The last commit up to one that added rows; None: it is no longer known."""
        while name:
            found = self._loaded(name)
            change = change_from_json(found["change"]) if "change" in found else None
            if change is not None and change.reason != COMPACT and not all(one.is_bad for one in change.added):
                return change
            name = found.get("previous", "")
        return None

    def committed_paths(self) -> Set[str]:
        name = self.head().name
        snapshot = self._chained(name)
        found = {*snapshot.files, *snapshot.retired}
        chain = self._in_chain(name)
        names, has_others = self.committed_names()
        for made in (path.name for path in self._commits.glob("*.json")):
            if not (made in chain or has_others or made in names):
                continue
            known = self._loaded(made)
            if "snapshot" in known:
                found.update(snapshot_from_json(known["snapshot"]).files)
            else:
                found.update(one.path for one in change_from_json(known["change"]).added)
        return found

    def unsure_paths(self, since_s: float) -> set[str]:
        """Files of commits that were written since a time, and are not known to be of the table. raises BrokenTarget"""
        known = self._in_chain(self.head()[0]) | self.committed_names()[0]
        found: set[str] = set()
        for path in self._commits.glob("*.json"):
            if path.name not in known and path.exists() and path.stat().st_mtime >= since_s:
                known_to_it = self._loaded(path.name)
                if "change" in known_to_it:
                    found.update(one.path for one in change_from_json(known_to_it["change"]).added)
        return found

    def dead_letters_of(self, names: Collection[str]) -> set[str]:
        """Paths of the dead letters that there are after some of our commits. raises BrokenTarget"""
        found: set[str] = set()
        for name in names:
            known = self._loaded(name)
            if known.get("previous") in names:
                found.update(one.path for one in change_from_json(known["change"]).added if one.is_bad)
            else:
                found.update(path for path, one in self._chained(name).files.items() if one.is_bad)
        return found

    def _in_chain(self, name: str) -> set[str]:
        """Names of the commits up to one, as far as they are read for its snapshot."""
        chain = {name}
        while name and "previous" in (found := self._loaded(name)):
            name = found["previous"]
            chain.add(name)
        return chain

    def _chained(self, name: str) -> Snapshot:
        """The snapshot after the commit of that name. raises BrokenTarget"""
        changes = []
        snapshot = Snapshot()
        while name:
            if name == self._known[0]:
                snapshot = self._known[1]
                break
            found = self._loaded(name)
            if "snapshot" in found:
                snapshot = snapshot_from_json(found["snapshot"])
                break
            changes.append(change_from_json(found["change"]))
            name = found["previous"]
        for change in reversed(changes):
            snapshot = apply(snapshot, change)
        return snapshot

    def _loaded(self, name: str) -> Any:
        """raises   BrokenTarget"""
        path = self._commits / name
        try:
            with open(path, "rb") as file:
                return json.loads(file.read(LOAD_MANIFEST_BYTES_MAX))
        except (OSError, ValueError) as failure:
            raise BrokenTarget(f"{self.name}: its commit names {path}, which can't be read: {failure}") from None

    def commit(self, change: Change, expected: Snapshot) -> Snapshot:
        for one in change.added:
            if not (self.root / one.path).exists():
                raise LoadFenced(f"{one.path} no longer exists: another loader considered this one dead and removed it")
        for _ in range(LOAD_COMMIT_TRIES_MAX):
            name, before, view, condition = self._read()
            if view != expected and not may_follow(change, expected, view):
                raise LoadFenced(
                    f"{self.name}: another loader committed first (commit {before.number}, expected {expected.number}), this one is void"
                )
            change = rebased(change, before)
            after = apply(before, change)
            made = self._write(after, change, name, self.sequence(condition))
            self.step("manifest written")
            try:
                self.publish(change, before, made, condition)
            except Overtaken:
                if not self._is_named(made, name):
                    (self._commits / made).unlink(missing_ok=True)
                    continue
            self._known = (made, after)
            after_view = apply(view, change)
            return after_change(after_view, change.schema) if change.schema else after_view
        raise LoadFenced(f"{self.name}: lost to other commits {LOAD_COMMIT_TRIES_MAX} times")

    def _is_named(self, made: str, before: str) -> bool:
        """Whether the table's commits after `before` have that name: a refusal may be the answer to a request that was sent twice."""
        name = self.head().name
        while name and name not in (made, before):
            name = self._loaded(name).get("previous", "")
        return name == made

    def _write(self, after: Snapshot, change: Change, previous: str, sequence: int | None) -> str:
        make_directory(self._commits)
        name = self.new_name(after.number)
        found: dict[str, Any] = {"change": change_to_json(change)}
        if after.number % FULL_EVERY == 0:
            found["snapshot"] = snapshot_to_json(after)
        else:
            found["previous"] = previous
        if sequence is not None:
            found["sequence"] = sequence
        write_synced(self._commits / name, json.dumps(found, separators=(",", ":")).encode())
        sync_directory(self._commits)
        return name

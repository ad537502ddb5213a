"""What every target of a load is: where its files lie, what is committed, and one commit that is atomic and conditional.

    read()                    the snapshot: committed files and offsets
    commit(change, expected)  all of the change, if nothing was committed since `expected`; else LoadFenced, and nothing of it

Files are written below `root` before they are committed; `control` has the locks of running loaders (`runs.py`) and a target's own
records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Set
from pathlib import Path

import pyarrow as pa

from headrace.load.commits import Change, Snapshot
from headrace.load.record_times import ANY_TIME

CONTROL = "_headrace"
DEAD_LETTERS = "dead_letters"
Step = Callable[[str], None]


def no_step(_name: str) -> None:
    """Between two steps of a commit nothing happens, but in tests."""


class Target(ABC):
    """A table, or a directory.

    root        below which data files are written; paths in commits are below it
    name        as users know it
    time_span   the times that its column timestamp holds
    """

    kind: str
    time_span = ANY_TIME
    leaves_removal = (
        False  # files that a commit replaced are of earlier versions, until the table's owner gives these up (VACUUM)
    )
    fences_before_removal = False  # a commit that a dead loader sent may still happen

    def __init__(self, root: Path, name: str, step: Step = no_step) -> None:
        self.root = root
        self.name = name
        self.step = step

    @property
    def control(self) -> Path:
        return self.root / CONTROL

    @abstractmethod
    def prepare(self, schema: pa.Schema) -> None:
        """Create what a first commit of these columns needs. raises OSError, ValueError, and the target's own errors"""

    @abstractmethod
    def read(self) -> Snapshot:
        """What is committed now; empty where nothing is. raises BrokenTarget"""

    @abstractmethod
    def commit(self, change: Change, expected: Snapshot) -> Snapshot:
        """All of the change, on disk when this returns.

        expected   the snapshot that it follows
        returns    the snapshot after it
        raises     LoadFenced, if another commit came first: nothing of the change counts
        """

    def committed_paths(self) -> Set[str]:
        """Paths of all files that a commit names, or named until it was taken back: no orphan is among them. raises BrokenTarget"""
        snapshot = self.read()
        return snapshot.files.keys() | snapshot.retired.keys()

    def check_columns(self, _was: pa.Schema, _becomes: pa.Schema) -> None:
        """Whether the table can have these columns after those. raises SchemaConflict"""
        return None  # all that `schemas.evolved` allows

    def sweep_temporary(self, _older_than_s: float) -> int:
        """Remove what commits that were never made have left in `control`, older than a time since 1970; returns how many."""
        return 0

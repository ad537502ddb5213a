"""A directory of Parquet files whose commit point is a log of numbered manifests (`manifest_log.py`).

    DIR/topic=clicks/hour=2026-11-23-14/clicks-0-100-200-1f2e3d4c.7.parquet
    DIR/_headrace/dead_letters/topic=clicks/hour=...
    DIR/_headrace/...

Which files are committed only the manifests say: read it by `headrace.load.files` or `headrace.load.dataset`.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from headrace.load.commits import Change, Snapshot
from headrace.load.durable import make_directory
from headrace.load.errors import BrokenTarget, LoadFenced
from headrace.load.manifest_log import CHECKPOINT_EVERY, ManifestLog
from headrace.load.target import Step, Target, no_step


class ParquetTarget(Target):
    """One directory on a disk or mount that all tasks see under the same path."""

    kind = "parquet"

    def __init__(self, root: Path, step: Step = no_step, checkpoint_every: int = CHECKPOINT_EVERY) -> None:
        super().__init__(root, str(root), step)
        self._log = ManifestLog(self.control, step, checkpoint_every)

    def prepare(self, _schema: pa.Schema) -> None:
        """raises   FileNotFoundError, BrokenTarget"""
        if not self.root.parent.is_dir():
            raise FileNotFoundError(f"{self.root.parent} is not a directory: create it first")
        if self.root.is_dir() and not self.control.is_dir() and any(self.root.iterdir()):
            raise BrokenTarget(f"{self.root} is not empty and was not made by a load: name a new directory")
        make_directory(self.root)
        self._log.create()

    def read(self) -> Snapshot:
        return self._log.read()

    def commit(self, change: Change, expected: Snapshot) -> Snapshot:
        for one in change.added:
            try:
                size = (self.root / one.path).stat().st_size
            except FileNotFoundError:
                raise LoadFenced(
                    f"{one.path} no longer exists: another loader considered this one dead and removed it"
                ) from None
            if size != one.bytes:
                raise BrokenTarget(f"{one.path} has {size} bytes, its task wrote {one.bytes}")
        return self._log.append(change, expected)

    def sweep_temporary(self, older_than_s: float) -> int:
        return self._log.sweep_temporary(older_than_s)

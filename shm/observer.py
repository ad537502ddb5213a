"""A running node seen from outside: its regions found by a log directory, mapped read-only.

Runs in: command-line tools of the node's host, as any user of the node's group. Nothing is written, and no process is disturbed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from headrace.shm.fabric import LAG, PARTITIONS, VIEW
from headrace.shm.lag_table import GroupLag, LagTable, lags_of
from headrace.shm.partition_table import PartitionTable
from headrace.shm.region import SHM_DIRECTORY, Region, RegionError, region_prefix
from headrace.shm.view_reader import ClusterViewReader

ANY_BROKER: Final = 0


class Observer:
    """The view, the rows and the lag of the node whose first log directory this is.

    raises   RegionError, if no node runs there, or this user may not read it
    """

    def __init__(self, log_dir: Path) -> None:
        prefix = _find_prefix(log_dir)
        self._regions: list[Region] = []
        try:
            view, partitions, lag = (self._attach(f"{prefix}-{what}") for what in (VIEW, PARTITIONS, LAG))
        except RegionError:
            self.close()
            raise
        self._view = ClusterViewReader(view)
        self._partitions = PartitionTable(partitions, 0)  # its wait bytes are not used here
        self._lag = LagTable(lag)

    def lags(self, now_ms: int) -> Iterator[GroupLag]:
        """The lag of the groups that this node coordinates, in partitions that it leads. raises ViewError"""
        return lags_of(self._lag, self._view.read(), self._partitions, now_ms)

    def close(self) -> None:
        for region in self._regions:
            region.close()

    def __enter__(self) -> Observer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attach(self, name: str) -> Region:
        region = Region.attach(f"/{name}", writable=False)
        self._regions.append(region)
        return region


def _find_prefix(log_dir: Path) -> str:
    """Prefix and boot id of the node that was started last there."""
    digest = region_prefix(ANY_BROKER, log_dir).rpartition("-")[2]
    pattern = re.compile(rf"(headrace-\d+-{digest}-[0-9a-f]+)-{VIEW}")
    found = [match for name in os.listdir(SHM_DIRECTORY) if (match := pattern.fullmatch(name))]
    if not found:
        raise RegionError(f"no node is running on log directory {log_dir}: give the first of the node's log.dirs")
    newest = max(found, key=lambda match: (Path(SHM_DIRECTORY) / match[0]).stat().st_mtime_ns)
    return newest[1]

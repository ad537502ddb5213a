"""Up to where the logs of a Headrace node are synced, as the rows say that its killed processes left in shared memory.

Used by: faults that lose pages. Checkpoint files say it later: what was synced before an acknowledgement may be above them. A log that
was just opened begins with what the checkpoint says, though more was synced in an earlier life.
"""

from __future__ import annotations

from pathlib import Path

from headrace.shm.observer import Observer
from headrace.shm.partition_table import RowState
from headrace.shm.region import RegionError


class SyncedPoints:
    """By name of directory; over all lives of a node: one that is killed before it has opened a log leaves no row of it."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def read(self, log_dir: Path) -> dict[str, int]:
        """Of a node that was just killed; its first log directory."""
        try:
            with Observer(log_dir) as observer:
                for topic in observer._view.read().topics.values():
                    for partition in topic.partitions:
                        row = observer._partitions.read(partition.slot) if partition.slot >= 0 else None
                        if row is None or row.key != partition.key:
                            continue
                        if row.state in (RowState.LEADER, RowState.FOLLOWER):
                            name = f"{topic.name}-{partition.index}"
                            point = max(row.recovery_point, self._known.get(name, 0))
                            self._known[name] = min(point, row.log_end_offset)
        except RegionError:
            pass
        return dict(self._known)

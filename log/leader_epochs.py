"""Where each leader epoch began: the cache behind OffsetForLeaderEpoch, kept in `leader-epoch-checkpoint`.

Epochs and start offsets both grow. Assigning at election time, before the first append, is what KAFKA-7415
was about.

Source: Kafka `LeaderEpochFileCache`; KIP-101, KIP-279.
"""

from __future__ import annotations

from pathlib import Path

from headrace.log.checkpoints import LEADER_EPOCH_FILE, BadCheckpoint, read_leader_epochs, write_leader_epochs
from headrace.log.disk import Disk


class LeaderEpochs:
    """The epochs of one log, in memory and on disk."""

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / LEADER_EPOCH_FILE
        self._disk = disk
        try:
            self._entries = read_leader_epochs(self._path)
        except BadCheckpoint:
            self._entries = []  # rebuilt from the batches that recovery reads

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(self._entries)

    @property
    def latest(self) -> int:
        """-1 where no epoch is known."""
        return self._entries[-1][0] if self._entries else -1

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Begin an epoch, if it is newer than the latest; written before this returns."""
        if epoch < 0 or epoch <= self.latest:
            return False
        while self._entries and self._entries[-1][1] >= start_offset:
            self._entries.pop()  # an epoch in which nothing was written
        self._entries.append((epoch, start_offset))
        self._write()
        return True

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that began at or behind a new log end."""
        kept = [entry for entry in self._entries if entry[1] < end_offset]
        if kept != self._entries:
            self._entries = kept
            self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended at or before a new log start; the one it lies in begins there now."""
        following = [entry for entry in self._entries if entry[1] > start_offset]
        before = self._entries[: len(self._entries) - len(following)]
        if len(before) > 1 or (before and before[0][1] < start_offset):
            self._entries = [(before[-1][0], start_offset), *following]
            self._write()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest epoch at or below `epoch`, offset where it ended); (-1, -1) where none is known."""
        found = -1
        for index, (known, _start) in enumerate(self._entries):
            if known <= epoch:
                found = index
        if found < 0:
            return -1, -1
        is_last = found == len(self._entries) - 1
        return self._entries[found][0], log_end_offset if is_last else self._entries[found + 1][1]

    def _write(self) -> None:
        write_leader_epochs(self._path, self._entries, self._disk)

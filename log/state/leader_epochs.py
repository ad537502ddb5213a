"""Where each leader epoch began: the cache that answers OffsetForLeaderEpoch, kept in `leader-epoch-checkpoint`.

Epochs and start offsets both grow. Assigning at election time, before the first append, is what KAFKA-7415
was about.

An epoch that begins is written at once and synced later (`sync`), before the recovery point passes a batch of it
(`log/writing/sync_state.py`): a broker that dies leaves thousands of epochs that begin, and two fsyncs for each of them
would be what its partitions wait for. What a crash of the machine takes of the file, the batches after the recovery point tell
again; an epoch without a batch, no other log has. What is cut is synced at once: an epoch that comes back would be newer
than those of the batches that followed the cut.

Source: Kafka `LeaderEpochFileCache`; KIP-101, KIP-279.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError, is_exhausted
from headrace.ids import NO_EPOCH
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import (
    LEADER_EPOCH_FILE,
    BadCheckpoint,
    read_leader_epochs,
    sync_file,
    write_leader_epochs,
)

UNDEFINED: Final = (NO_EPOCH, -1)

_log: Final = logging.getLogger(__name__)


class EpochWentBack(HeadraceError):
    """A leader epoch is below the latest one in the log: the state that named it is of the past (decision 015)."""


class LeaderEpochs:
    """The epochs of one log, in memory and on disk.

    is_lost     the file was missing or could not be read: the batches of a log that has some tell them again
    is_synced   whether a crash of the machine leaves the file as it is
    is_behind   the file tells more than it should: of epochs before the log's start. There was no room to write it
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._path = directory / LEADER_EPOCH_FILE
        self._disk = disk
        self._entries: list[tuple[int, int]] = []
        self.is_synced = False  # whoever wrote it may have been killed before
        self.is_behind = False
        try:
            self._entries = read_leader_epochs(self._path)
            self.is_lost = not self._entries and (not self._path.exists() or not self._path.stat().st_size)
        except BadCheckpoint as failure:
            _log.warning("leader epochs rebuilt reason=%s", failure)
            self.is_lost = True

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(self._entries)

    @property
    def latest(self) -> int:
        """-1 where no epoch is known."""
        return self._entries[-1][0] if self._entries else -1

    def written(self, end_offset: int) -> int:
        """The epoch of the last record; see the function."""
        return written(self._entries, end_offset)

    def is_last_empty(self, end_offset: int) -> bool:
        """Whether the latest epoch has no record in a log that ends there."""
        return bool(self._entries) and self._entries[-1][1] >= end_offset

    def assign(self, epoch: int, start_offset: int, *, is_durable: bool = True) -> bool:
        """Begin an epoch that is newer than the latest; written before this returns, and synced if `is_durable`, else by `sync`.

        returns   False, where it is the latest already, or none at all
        raises    EpochWentBack: nobody leads, nor follows, below the latest epoch of its log
        """
        if epoch < 0 or epoch == self.latest:
            return False
        if epoch < self.latest:
            raise EpochWentBack(f"{self._path}: leader epoch {epoch} is below {self.latest}, the latest one in the log")
        while self._entries and self._entries[-1][1] >= start_offset:
            self._entries.pop()  # an epoch in which nothing was written
        self._entries.append((epoch, start_offset))
        self._write(is_durable=is_durable)
        return True

    def sync(self) -> bool:
        """Have the file, as it is, outlive a crash of the machine: `save` comes before. raises OSError, which is final

        returns   whether it was not synced: the caller syncs the directory, which has its name
        """
        if self.is_synced:
            return False
        self.is_synced = sync_file(self._path, self._disk)
        return self.is_synced

    def replace(self, entries: list[tuple[int, int]]) -> None:
        """Take what the batches show; raises OSError."""
        self._entries = list(entries)
        self.is_lost = False
        self._write()

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that began at or after a new log end."""
        kept = [entry for entry in self._entries if entry[1] < end_offset]
        if kept != self._entries:
            self._entries = kept
            self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended at or before a new log start; the one it lies in begins there now. `save` writes it down."""
        following = [entry for entry in self._entries if entry[1] > start_offset]
        before = self._entries[: len(self._entries) - len(following)]
        if len(before) > 1 or (before and before[0][1] < start_offset):
            self._entries = [(before[-1][0], start_offset), *following]
            self.is_behind = True

    def save(self) -> None:
        """Write what `truncate_from_start` forgot, where there is room; else it is written with the next change, or before a sync.

        The file is no worse until then: who opens the log forgets the same. raises OSError, for anything but a lack of room
        """
        if not self.is_behind:
            return
        try:
            self._write(is_durable=False)
        except OSError as failure:
            if not is_exhausted(failure):
                raise

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Where an epoch ended: (the largest known epoch at or below it, its end offset); see the function."""
        return end_offset_for(self._entries, epoch, log_end_offset)

    def _write(self, *, is_durable: bool = True) -> None:
        self.is_synced = False
        write_leader_epochs(self._path, self._entries, self._disk, is_durable=is_durable)
        self.is_synced, self.is_behind = is_durable, False


def end_offset_for(entries: list[tuple[int, int]], epoch: int, log_end_offset: int) -> tuple[int, int]:
    """Where a leader epoch ended, as a leader answers its followers.

    entries   (epoch, start offset), oldest first
    returns   (largest known epoch at or below `epoch`, the start of the next one); the latest ends at the log's end. An
              epoch from before the first known ends where that begins. (-1, -1) for one that is newer than all, and
              for -1
    source    Kafka `LeaderEpochFileCache.endOffsetFor`; KIP-279
    """
    if epoch == NO_EPOCH or not entries or epoch > entries[-1][0]:
        return UNDEFINED
    if epoch == entries[-1][0]:
        return epoch, log_end_offset
    index = bisect_right(entries, (epoch, 2**63))
    return entries[index - 1][0] if index else epoch, entries[index][1]


def written(entries: list[tuple[int, int]], end_offset: int) -> int:
    """The epoch of the last record of a log that ends there: what a log ranks by. The latest one may be assigned, and have no record.

    returns   -1 where nothing was ever written; where all records were deleted, an epoch that none of them is later than
    source    Raft, section 5.4.1: the log whose last entry has the later term is more up-to-date
    """
    for epoch, start_offset in reversed(entries):
        if start_offset < end_offset:
            return epoch
    return entries[0][0] if entries and end_offset > 0 else NO_EPOCH


def epoch_of(entries: list[tuple[int, int]], offset: int) -> int:
    """The epoch in which the record at an offset was written, or would be; -1 where that is not known."""
    index = bisect_right(entries, offset, key=lambda entry: entry[1])
    return entries[index - 1][0] if index else NO_EPOCH

"""The leader epochs of partitions, as their `leader-epoch-checkpoint` has them, read once.

Runs in: a network worker; reads only. The owner writes the file before it appends in a new epoch, and publishes the row after
it; a leader's epochs change otherwise only with its log start. So what was read counts while the row has the same key, leader
epoch and log start offset; a file that is newer than the row says nothing else of the epochs before. A leader whose disk was full
when it was elected notes its epoch with its first append: a file that does not have it yet is read again.

A file that can't be parsed is not read again while it is the same one: its name has the same inode, size and time.

Bound: EPOCH_FILES_MAX partitions of each kind, the least recently used go first.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path

from headrace.errors import ErrorCode, KafkaError
from headrace.limits import EPOCH_FILES_MAX
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, BadCheckpoint, read_leader_epochs
from headrace.log.state.leader_epochs import written
from headrace.shm.partition_table import PartitionRow
from headrace.shm.process_table import ProcessTable
from headrace.workers.network.fetch.partition_files import PartitionFiles
from headrace.workers.network.routes import Route

Epochs = list[tuple[int, int]]  # (epoch, start offset), oldest first
Identity = tuple[int, int, int]  # of a file: inode, size, time


class EpochFiles:
    """By slot."""

    def __init__(self, files: PartitionFiles, processes: ProcessTable) -> None:
        self._files = files
        self._processes = processes
        self._read: OrderedDict[int, tuple[tuple[int, int, int], Epochs]] = OrderedDict()
        self._bad: OrderedDict[Path, tuple[Identity, str]] = OrderedDict()  # and why

    def written(self, route: Route, row: PartitionRow) -> int:
        """The epoch of the last record in a log here, led or not: not remembered, for a follower's change with what it fetches.

        raises   KafkaError, as in `check_owner` too, HeadraceError, OSError
        """
        self.check_owner(route, row)
        return written(self.of_follower(route, row), row.log_end_offset)

    def check_owner(self, route: Route, row: PartitionRow) -> None:
        """Before logs are compared by a row: it says where this one ends only as long as the owner that wrote it runs.

        The next owner may find less. Until it has opened the log, and has reported what is missing, it is unknown where it ends.

        raises   KafkaError NOT_LEADER_OR_FOLLOWER
        """
        if row.generation != self._processes.generation(route.owner):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, "the log's owner was killed, and the next one has not opened it yet"
            )

    def of_follower(self, route: Route, row: PartitionRow) -> Epochs:
        """All epochs of a log here, led or not, in the same way. raises KafkaError, HeadraceError, OSError"""
        reader = self._files.reader(route, row)
        entries = self._read_file(reader.directory / LEADER_EPOCH_FILE)
        reader.confirm()
        return entries

    def entries(self, route: Route, row: PartitionRow) -> Epochs:
        """The epochs of a partition that is led here; the present one is there though it could not be noted yet, for want of room.

        raises   KafkaError, HeadraceError, OSError
        """
        key = (row.key, row.leader_epoch, row.log_start_offset)
        held = self._read.get(route.slot)
        if held is not None and held[0] == key:
            self._read.move_to_end(route.slot)
            return held[1]
        reader = self._files.reader(route, row)
        entries = self._read_file(reader.directory / LEADER_EPOCH_FILE)
        reader.confirm()
        if not entries or entries[-1][0] < row.leader_epoch:
            self._read.pop(route.slot, None)
            return [*entries, (row.leader_epoch, row.log_end_offset)]
        self._read[route.slot] = (key, entries)
        self._read.move_to_end(route.slot)
        if len(self._read) > EPOCH_FILES_MAX:
            self._read.popitem(last=False)
        return entries

    def _read_file(self, path: Path) -> Epochs:
        """raises   BadCheckpoint, OSError"""
        bad = self._bad.get(path)
        if bad is not None:
            if bad[0] == _identity(path):
                raise BadCheckpoint(bad[1])
            del self._bad[path]
        identity = _identity(path)
        try:
            return read_leader_epochs(path)
        except BadCheckpoint as failure:
            self._bad[path] = (identity, str(failure))
            if len(self._bad) > EPOCH_FILES_MAX:
                self._bad.popitem(last=False)
            raise


def _identity(path: Path) -> Identity:
    """Another one after each write: a checkpoint is replaced by a new file. raises OSError"""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns

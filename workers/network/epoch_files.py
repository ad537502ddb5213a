"""The leader epochs of partitions, as their `leader-epoch-checkpoint` has them, read once.

Runs in: a network worker; reads only. The owner writes the file before it appends in a new epoch, and publishes the row after
it; a leader's epochs change otherwise only with its log start. So what was read counts while the row has the same key, leader
epoch and log start offset; a file that is newer than the row says nothing else of the epochs before. A leader whose disk was full
when it was elected notes its epoch with its first append: a file that does not have it yet is read again.

Bound: EPOCH_FILES_MAX partitions, the least recently used go first.
"""

from __future__ import annotations

from collections import OrderedDict

from headrace.limits import EPOCH_FILES_MAX
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, read_leader_epochs
from headrace.log.state.leader_epochs import written
from headrace.shm.partition_table import PartitionRow
from headrace.workers.network.partition_files import PartitionFiles
from headrace.workers.network.routes import Route

Epochs = list[tuple[int, int]]  # (epoch, start offset), oldest first


class EpochFiles:
    """By slot."""

    def __init__(self, files: PartitionFiles) -> None:
        self._files = files
        self._read: OrderedDict[int, tuple[tuple[int, int, int], Epochs]] = OrderedDict()

    def written(self, route: Route, row: PartitionRow) -> int:
        """The epoch of the last record in a log here, led or not: not remembered, for a follower's change with what it fetches.

        raises   KafkaError, HeadraceError, OSError
        """
        return written(self.of_follower(route, row), row.log_end_offset)

    def of_follower(self, route: Route, row: PartitionRow) -> Epochs:
        """All epochs of a log here, led or not, in the same way. raises KafkaError, HeadraceError, OSError"""
        reader = self._files.reader(route, row)
        entries = read_leader_epochs(reader.directory / LEADER_EPOCH_FILE)
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
        entries = read_leader_epochs(reader.directory / LEADER_EPOCH_FILE)
        reader.confirm()
        if not entries or entries[-1][0] < row.leader_epoch:
            self._read.pop(route.slot, None)
            return [*entries, (row.leader_epoch, row.log_end_offset)]
        self._read[route.slot] = (key, entries)
        self._read.move_to_end(route.slot)
        if len(self._read) > EPOCH_FILES_MAX:
            self._read.popitem(last=False)
        return entries

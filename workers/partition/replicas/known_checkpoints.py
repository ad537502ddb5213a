"""What the checkpoint files of all log directories said when this worker started, and what it has learnt since.

Runs in: a partition worker. The housekeeper writes the files; they are read once.

A replica that is deleted leaves its recovery point in a file for a while. Is it back before that goes (a reassignment that was
taken back), the file speaks of another log: how far the former one reached is kept, so that the new one can doubt it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from headrace.errors import is_exhausted
from headrace.ids import PartitionKey, TopicPartition, partition_key
from headrace.limits import DELETED_LOGS_KNOWN_MAX
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    read_partition_metadata,
)
from headrace.log.state.topic_checkpoints import TopicCheckpoints

_log: Final = logging.getLogger(__name__)


class KnownCheckpoints:
    """Entries by log directory, partition and topic id: what a file says, it says of the log that lies beside it.

    raises   OSError, for want of a descriptor: the worker is started again, and reads them then
    """

    def __init__(self, log_dirs: Iterable[Path]) -> None:
        self._by_dir: dict[Path, TopicCheckpoints] = {}
        self._left: dict[PartitionKey, int] = {}  # how far those reached that were deleted, the oldest first
        self._unnamed: dict[
            TopicPartition, tuple[Path, Mapping[str, int]]
        ] = {}  # closed, and their topic id was not read
        for log_dir in log_dirs:
            self._by_dir[log_dir] = TopicCheckpoints({}, {})
            try:
                self._by_dir[log_dir] = TopicCheckpoints.read(log_dir)
            except OSError as failure:
                if is_exhausted(failure):
                    raise
                _log.warning("checkpoints ignored directory=%s reason=%s", log_dir, failure)

    def offset(self, file_name: str, name: TopicPartition, topic_id: str, log_dir: Path) -> int:
        """What a file says of the partition whose log lies in a directory; 0 for nothing.

        A recovery point is true in its own directory alone: it says what was synced there. What was deleted stays deleted in
        whichever directory it is written: a replica that was moved a moment ago has its entry where it came from. So has its high
        watermark, until its own directory has one.
        """
        own = self._entry(file_name, name, topic_id, log_dir)
        if file_name == RECOVERY_POINT_FILE:
            return own or 0
        if own is not None and file_name != LOG_START_OFFSET_FILE:
            return own
        found = [self._entry(file_name, name, topic_id, one) for one in self._by_dir]
        return max([offset for offset in found if offset is not None], default=0)

    def knows(self, file_name: str, name: TopicPartition, topic_id: str) -> bool:
        """Whether a file of any directory says something of a partition."""
        return any(self._entry(file_name, name, topic_id, one) is not None for one in self._by_dir)

    def doubted_until(self, name: TopicPartition, topic_id: str) -> int:
        """How much a file may say, in vain, of a log that begins now: what it says of the one before it."""
        found = [self._entry(RECOVERY_POINT_FILE, name, topic_id, one) or 0 for one in self._by_dir]
        return max([self._left.get(partition_key(*name, topic_id), 0), *found])

    def forget(self, name: TopicPartition, key: PartitionKey, end_offset: int) -> None:
        """The partition was deleted, and reached up to an offset: another of its name starts empty."""
        known = [one.offsets.get(RECOVERY_POINT_FILE, {}).get(name, 0) for one in self._by_dir.values()]
        reached = max([end_offset, self._left.pop(key, 0), *known])
        if reached:
            self._left[key] = reached
            if len(self._left) > DELETED_LOGS_KNOWN_MAX:
                del self._left[next(iter(self._left))]
        self._drop(name)

    def remember(self, name: TopicPartition, directory: Path, offsets: Mapping[str, int]) -> None:
        """Where a partition stood when the log in a directory was closed, by file: newer than what was read.

        Its topic id is read there; where that is refused, `name_closed` reads it later. raises OSError
        """
        self._drop(name)
        self._unnamed[name] = (directory, offsets)
        self.name_closed(name)

    def name_closed(self, name: TopicPartition) -> None:
        """Before anything is asked of a partition: of which topic it was when its log was closed. raises OSError"""
        if name not in self._unnamed:
            return
        directory, offsets = self._unnamed[name]
        topic_id = read_partition_metadata(directory / PARTITION_METADATA_FILE)
        del self._unnamed[name]
        self._by_dir.setdefault(directory.parent, TopicCheckpoints({}, {})).remember(name, topic_id, offsets)

    def _drop(self, name: TopicPartition) -> None:
        self._unnamed.pop(name, None)
        for checkpoints in self._by_dir.values():
            checkpoints.forget(name)

    def _entry(self, file_name: str, name: TopicPartition, topic_id: str, log_dir: Path) -> int | None:
        checkpoints = self._by_dir.get(log_dir)
        return None if checkpoints is None else checkpoints.offset(file_name, name, topic_id)

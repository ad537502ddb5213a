"""What the checkpoint files of all log directories said when this worker started, and what it has learnt since.

Runs in: a partition worker. The housekeeper writes the files; they are read once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from headrace.ids import TopicPartition
from headrace.log.state.topic_checkpoints import TopicCheckpoints

_log: Final = logging.getLogger(__name__)


class KnownCheckpoints:
    """Entries by partition and topic id, in whichever directory they stood: a move may have been cut short."""

    def __init__(self, log_dirs: Iterable[Path]) -> None:
        self._read: list[TopicCheckpoints] = [TopicCheckpoints({}, {})]  # the first: of logs that were closed since
        for log_dir in log_dirs:
            try:
                self._read.append(TopicCheckpoints.read(log_dir))
            except OSError as failure:
                _log.warning("checkpoints ignored directory=%s reason=%s", log_dir, failure)

    def offset(self, file_name: str, name: TopicPartition, topic_id: str) -> int:
        """What a file says of a partition; 0 for nothing."""
        found = (checkpoints.offset(file_name, name, topic_id) for checkpoints in self._read)
        return max((offset for offset in found if offset is not None), default=0)

    def forget(self, name: TopicPartition) -> None:
        """The partition was deleted: another of its name starts empty."""
        for checkpoints in self._read:
            checkpoints.forget(name)

    def remember(self, name: TopicPartition, topic_id: str, offsets: Mapping[str, int]) -> None:
        """Where a partition stood when its log was closed, by file: newer than what was read."""
        self.forget(name)
        self._read[0].remember(name, topic_id, offsets)

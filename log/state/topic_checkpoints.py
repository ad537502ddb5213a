"""Of which topics the offset checkpoints of a log directory speak: Kafka's files know a topic by its name alone.

A topic that is deleted and created again has its old name, and what was written of the old one would be believed of the
new: a log start above its end, a recovery point over batches that were never synced. Beside Kafka's four files lies one of ours

    headrace-checkpoint-topics   version (0), count, then `topic partition topic_id` a line, the id as 32 hex digits

An entry is believed of a topic with the id of its line. Without a line it is believed as Kafka would: the file is Kafka's,
or the topic is from before ids. Where the id of a name changes from A to B, or the partition is deleted:

    1  all checkpoint files without the entry     2  this file with B, or without the line     3  an entry of B

and readers take this file first, so that a crash or a reader between any two steps finds an entry of A under A, or none.

A clean stop, once every entry fits the directory of its partition, removes this file: Apache Kafka may run on the directory
then, and what it writes is believed at the next start. `seal` writes the file again before any process of the node runs.
Beside a clean-shutdown marker it is one that Kafka did not know: Kafka wrote the checkpoints since.

Runs in: the supervisor seals, the housekeeper writes (`workers/housekeeper/checkpoints.py`), partition workers read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    PARTITION_MAX,
    PARTITION_METADATA_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    TOPIC_ID_DIGITS,
    BadCheckpoint,
    is_number,
    read_lines,
    read_offset_checkpoint,
    read_partition_metadata,
    write_lines,
)

CHECKPOINT_TOPICS_FILE: Final = "headrace-checkpoint-topics"
OFFSET_CHECKPOINT_FILES: Final = (
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    CLEANER_OFFSET_FILE,
)

_DISK: Final = Disk()
_log: Final = logging.getLogger(__name__)


class TopicCheckpoints:
    """The contents of the checkpoints of one log directory. A file that is not in its format counts as empty.

    topic_ids   by partition
    offsets     by file, by partition
    """

    def __init__(self, topic_ids: dict[TopicPartition, str], offsets: dict[str, dict[TopicPartition, int]]) -> None:
        self.topic_ids = topic_ids
        self.offsets = offsets

    @classmethod
    def read(cls, log_dir: Path) -> TopicCheckpoints:
        """raises OSError"""
        topic_ids: dict[TopicPartition, str] = {}
        offsets: dict[str, dict[TopicPartition, int]] = {name: {} for name in OFFSET_CHECKPOINT_FILES}
        try:
            topic_ids = read_checkpoint_topics(log_dir / CHECKPOINT_TOPICS_FILE)
        except (HeadraceError, ValueError) as failure:
            _log.warning("checkpoint ignored file=%s reason=%s", log_dir / CHECKPOINT_TOPICS_FILE, failure)
        for file_name in OFFSET_CHECKPOINT_FILES:
            try:
                offsets[file_name] = read_offset_checkpoint(log_dir / file_name)
            except (HeadraceError, ValueError) as failure:
                _log.warning("checkpoint ignored file=%s reason=%s", log_dir / file_name, failure)
        return cls(topic_ids, offsets)

    def names(self) -> set[TopicPartition]:
        """Partitions that any file speaks of."""
        return {name for offsets in self.offsets.values() for name in offsets}

    def offset(self, file_name: str, name: TopicPartition, topic_id: str) -> int | None:
        """An entry, if it speaks of that topic."""
        if self.topic_ids.get(name, topic_id) != topic_id:
            return None
        return self.offsets.get(file_name, {}).get(name)

    def forget(self, name: TopicPartition) -> None:
        """The partition was deleted."""
        for offsets in self.offsets.values():
            offsets.pop(name, None)

    def remember(self, name: TopicPartition, topic_id: str, offsets: Mapping[str, int]) -> None:
        """Where a partition stood when its log was closed, by file: newer than what was read."""
        if topic_id:
            self.topic_ids[name] = topic_id
        else:
            self.topic_ids.pop(name, None)
        for file_name, offset in offsets.items():
            self.offsets.setdefault(file_name, {})[name] = offset


def read_checkpoint_topics(path: Path) -> dict[TopicPartition, str]:
    """Topic ids by partition; empty where the file is not there. raises BadCheckpoint, OSError"""
    topic_ids = {}
    for line in read_lines(path):
        name, _, topic_id = line.rpartition(" ")
        topic, _, partition = name.rpartition(" ")
        if not topic or not is_number(partition, PARTITION_MAX) or len(topic_id) != TOPIC_ID_DIGITS:
            raise BadCheckpoint(f"{path}: line {line[:400]!r} is not `topic partition topic_id`")
        topic_ids[TopicPartition(topic, int(partition))] = topic_id
    return topic_ids


def write_checkpoint_topics(path: Path, topic_ids: Mapping[TopicPartition, str], disk: Disk = _DISK) -> None:
    """Replace the file. raises OSError"""
    lines = [f"{name.topic} {name.partition} {topic_id}" for name, topic_id in sorted(topic_ids.items())]
    write_lines(path, lines, disk)


def ids_in_directories(log_dir: Path, names: Iterable[TopicPartition]) -> dict[TopicPartition, str]:
    """Topic ids as the partitions' directories have them; none of those without one. raises OSError"""
    found = {name: read_partition_metadata(log_dir / str(name) / PARTITION_METADATA_FILE) for name in names}
    return {name: topic_id for name, topic_id in found.items() if topic_id}


def seal(log_dir: Path, disk: Disk = _DISK) -> None:
    """Before anything else happens in a log directory: whose the entries are that a clean stop, or Kafka, left.

    raises   OSError, where that can't be kept
    """
    path = log_dir / CHECKPOINT_TOPICS_FILE
    if path.exists() and not (log_dir / CLEAN_SHUTDOWN_FILE).exists():
        return
    disk.remove_file(path)
    topic_ids = ids_in_directories(log_dir, TopicCheckpoints.read(log_dir).names())
    if topic_ids:
        write_checkpoint_topics(path, topic_ids, disk)

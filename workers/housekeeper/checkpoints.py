"""The offset checkpoints of every log directory, as the housekeeper writes them.

Absence is not deletion: of a partition that is not in service the files keep what they said. An entry goes when its
topic is known to be deleted, when its name is another topic's, or when the replica moved to another log directory. What
could not be read is not written either.

Runs in: the housekeeper, which alone writes these files. Order of the writes: `log/state/topic_checkpoints.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.ids import TopicPartition
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import CLEANER_OFFSET_FILE, write_offset_checkpoint
from headrace.log.state.topic_checkpoints import (
    CHECKPOINT_TOPICS_FILE,
    OFFSET_CHECKPOINT_FILES,
    TopicCheckpoints,
    ids_in_directories,
    write_checkpoint_topics,
)
from headrace.workers.housekeeper.hosted import Hosted

_NOTHING = -1


class Checkpoints:
    """All of them, by log directory. What the files say is read once, when it is first asked for."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()
        self._known: dict[Path, TopicCheckpoints] = {}
        self._gone: dict[Path, set[TopicPartition]] = {}  # whose entries go with the next write
        self._unsealed: set[Path] = set()  # where the start could not say whose the entries are

    def offset(self, file_name: str, hosted: Hosted) -> int:
        """What a file says of this partition, -1 for nothing. raises OSError"""
        if hosted.name in self._gone.get(hosted.log_dir, ()):
            return _NOTHING
        found = self._of(hosted.log_dir).offset(file_name, hosted.name, hosted.topic_id)
        return _NOTHING if found is None else found

    def write(self, log_dir: Path, file_name: str, offsets: Mapping[TopicPartition, tuple[str, int]]) -> None:
        """Bring a file up to date.

        offsets   (topic id, offset) by partition, of those in service; of the others it keeps what it said
        raises    OSError; what was reached by then is in the files
        """
        known = self._of(log_dir)
        others = {name for name, (topic_id, _) in offsets.items() if known.topic_ids.get(name, topic_id) != topic_id}
        gone = self._gone.get(log_dir, set()) | others
        self._drop(log_dir, known, gone)
        self._gone.pop(log_dir, None)
        topic_ids = {name: topic_id for name, (topic_id, _) in offsets.items() if topic_id}
        is_new = any(known.topic_ids.get(name) != topic_id for name, topic_id in topic_ids.items())
        if is_new or log_dir in self._unsealed:
            self._write_topics(log_dir, known, {**known.topic_ids, **topic_ids})
        entries = {**known.offsets[file_name], **{name: offset for name, (_, offset) in offsets.items()}}
        self._write(log_dir, known, file_name, entries)

    def forget(self, log_dir: Path, name: TopicPartition, topic_id: str) -> None:
        """A partition was deleted: its entries go with the next write, if they are not another topic's. raises OSError"""
        if self._of(log_dir).topic_ids.get(name, topic_id) == topic_id:
            self._gone.setdefault(log_dir, set()).add(name)

    def forget_moved(self, log_dir: Path, file_name: str, elsewhere: Iterable[TopicPartition]) -> None:
        """Replicas that lie in another log directory, where this file has been written with what is known of them.

        The other files keep what they say until they were written there as well: a log start that no file knows would
        bring back what clients deleted.

        raises   OSError
        """
        known = self._of(log_dir)
        gone = set(elsewhere)
        for name in (file_name, CLEANER_OFFSET_FILE):
            left = {one: offset for one, offset in known.offsets[name].items() if one not in gone}
            self._write(log_dir, known, name, left)
        self._forget_ids(log_dir, known, (gone & known.topic_ids.keys()) - known.names())

    def hand_over(self, log_dir: Path) -> None:
        """The last write of a clean stop: Apache Kafka may believe every entry. raises OSError"""
        known = self._of(log_dir)
        names = {name for name in known.names() if (log_dir / str(name)).is_dir()}
        found = ids_in_directories(log_dir, names)
        names -= {name for name, topic_id in known.topic_ids.items() if found.get(name, topic_id) != topic_id}
        self._drop(log_dir, known, known.names() - names)
        self._disk.remove_file(log_dir / CHECKPOINT_TOPICS_FILE)
        self._disk.sync_directory(log_dir)

    def _of(self, log_dir: Path) -> TopicCheckpoints:
        known = self._known.get(log_dir)
        if known is None:
            known = TopicCheckpoints.read(log_dir)
            unknown = known.names() - known.topic_ids.keys()
            found = ids_in_directories(log_dir, unknown)
            if found:
                known.topic_ids |= found
                self._unsealed.add(log_dir)
            self._known[log_dir] = known
        return known

    def _drop(self, log_dir: Path, known: TopicCheckpoints, gone: set[TopicPartition]) -> None:
        """Steps 1 and 2, without a new id."""
        if not gone:
            return
        for file_name in OFFSET_CHECKPOINT_FILES:
            left = {name: offset for name, offset in known.offsets[file_name].items() if name not in gone}
            self._write(log_dir, known, file_name, left)
        self._forget_ids(log_dir, known, gone)

    def _forget_ids(self, log_dir: Path, known: TopicCheckpoints, gone: set[TopicPartition]) -> None:
        if not gone.isdisjoint(known.topic_ids):
            left = {name: topic_id for name, topic_id in known.topic_ids.items() if name not in gone}
            self._write_topics(log_dir, known, left)

    def _write(
        self, log_dir: Path, known: TopicCheckpoints, file_name: str, offsets: dict[TopicPartition, int]
    ) -> None:
        if known.offsets[file_name] != offsets:
            write_offset_checkpoint(log_dir / file_name, offsets, self._disk)
            known.offsets[file_name] = offsets

    def _write_topics(self, log_dir: Path, known: TopicCheckpoints, topic_ids: dict[TopicPartition, str]) -> None:
        write_checkpoint_topics(log_dir / CHECKPOINT_TOPICS_FILE, topic_ids, self._disk)
        known.topic_ids = topic_ids
        self._unsealed.discard(log_dir)

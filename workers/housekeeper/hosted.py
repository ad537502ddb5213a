"""The replicas of this node as the housekeeper sees them: directory, row, settings, owner.

Runs in: the housekeeper. The view says what should be, the row what is: only replicas in service, published by an
owner that is alive, are seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headrace.ids import TopicPartition, owner_of
from headrace.log.config import LogConfig
from headrace.settings import topic_values
from headrace.shm.cluster_view import EMPTY_VIEW, ClusterView, PartitionView, TopicView
from headrace.shm.partition_table import IN_SERVICE, NO_LOG_DIR, PartitionRow
from headrace.shm.seat import Seat
from headrace.topic_defaults import TopicDefaults


class Hosted(NamedTuple):
    """One replica in service."""

    name: TopicPartition
    log_dir: Path
    row: PartitionRow
    config: LogConfig
    slot: int
    owner: int  # process id of its partition worker
    topic_id: str  # "" of a topic from before ids

    @property
    def directory(self) -> Path:
        return self.log_dir / str(self.name)


class Serving(NamedTuple):
    """One replica in service, as shared memory has it."""

    topic: TopicView
    partition: PartitionView
    row: PartitionRow

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic.name, self.partition.index)


class HostedReplicas:
    """Goes over the replicas of the current view.

    log_dirs      as they are set, those that failed included: rows name them by their place
    generations   by directory, of the owner that published the row of every replica seen so far
    """

    def __init__(self, seat: Seat, log_dirs: list[Path]) -> None:
        self._seat = seat
        self._log_dirs = log_dirs
        self.generations: dict[Path, int] = {}
        self._view: ClusterView = EMPTY_VIEW
        self._here: dict[str, tuple[TopicView, dict[int, PartitionView]]] = {}  # by topic and index
        self._defaults = TopicDefaults(seat.wiring.settings)
        self._configs: dict[str, tuple[dict[str, str], LogConfig]] = {}  # topic -> overrides, what they make

    def __iter__(self) -> Iterator[Hosted]:
        for serving in self.in_service():
            hosted = self.place(serving)
            if hosted is not None:
                yield hosted

    def in_service(self) -> Iterator[Serving]:
        """Those in service, from shared memory alone: no system call for each."""
        partitions = self._seat.partitions
        self.view()
        for topic, here in list(self._here.values()):
            for partition in list(here.values()):
                row = partitions.read(partition.slot)
                if row is not None and row.key == partition.key and row.state in IN_SERVICE:
                    yield Serving(topic, partition, row)

    def place(self, serving: Serving) -> Hosted | None:
        """Where its directory lies, as its owner says: others may have its name. None where it is gone, or its log directory failed."""
        topic, partition, row = serving
        wiring = self._seat.wiring
        if row.log_dir == NO_LOG_DIR or 1 << row.log_dir & self._seat.offline_dirs():
            return None
        name = TopicPartition(topic.name, partition.index)
        log_dir = self._log_dirs[row.log_dir]
        directory = log_dir / str(name)
        if not directory.is_dir():
            return None
        self.generations[directory] = row.generation
        owner = wiring.network_count + owner_of(topic.name, partition.index, wiring.partition_count)
        config = self._config(topic.name, topic.configs)
        return Hosted(name, log_dir, row, config, partition.slot, owner, topic.topic_id)

    def again(self, hosted: Hosted) -> Hosted | None:
        """The same replica as it is now; None where it is not in service, or its owner can't be asked."""
        self.view()
        topic, here = self._here.get(hosted.name.topic, (None, {}))
        partition = here.get(hosted.name.partition)
        row = self._seat.partitions.read(hosted.slot)
        if topic is None or partition is None or row is None or partition.slot != hosted.slot:
            return None
        if not row.key == partition.key == hosted.row.key or row.state not in IN_SERVICE:
            return None
        found = self.place(Serving(topic, partition, row))
        return found if found is not None and self.is_current(found) else None

    def has(self, name: TopicPartition, topic_id: str) -> bool:
        """Whether the view has a replica here of this partition of this topic, in service or not."""
        self.view()
        topic, here = self._here.get(name.topic, (None, {}))
        return topic is not None and topic.topic_id == topic_id and name.partition in here

    def view(self) -> ClusterView:
        """The current view; what is another than in the last one is visited once."""
        if self._view.version != self._seat.view.version():
            self._view, changes = self._seat.view.follow()
            if self._defaults.follow(self._view.cluster_settings, self._view.node_settings):
                self._configs.clear()
            for name, indexes in changes.items():
                self._follow_topic(name, indexes)
        return self._view

    def _follow_topic(self, name: str, indexes: frozenset[int] | None) -> None:
        """Which of a topic's partitions are hosted here, as far as that changed."""
        topic = self._view.topics.get(name)
        _before, known = self._here.pop(name, (topic, {}))
        here = known if indexes is not None else {}
        if topic is None:
            self._configs.pop(name, None)
            return
        for index in indexes if indexes is not None else range(len(topic.partitions)):
            partition = topic.partitions[index]
            if partition.slot >= 0:
                here[index] = partition
            else:
                here.pop(index, None)
        if here:
            self._here[name] = (topic, here)

    def is_current(self, hosted: Hosted) -> bool:
        """Whether the owner that published the row is the one that runs, so that it can be asked."""
        return hosted.row.generation == self._seat.processes.generation(hosted.owner)

    def is_in_place(self, hosted: Hosted) -> bool:
        """Whether its log is where it was found, as its owner says now, and not about to leave."""
        row = self._seat.partitions.read(hosted.slot)
        is_there = row is not None and (row.key, row.log_dir) == (hosted.row.key, hosted.row.log_dir)
        return is_there and hosted.directory.is_dir()

    def _config(self, topic: str, overrides: dict[str, str]) -> LogConfig:
        known = self._configs.get(topic)
        if known is None or known[0] != overrides:
            values = topic_values(self._defaults.settings, overrides)
            known = self._configs[topic] = (overrides, LogConfig.from_values(values))
        return known[1]

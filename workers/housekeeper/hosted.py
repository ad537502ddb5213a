"""The replicas of this node as the housekeeper sees them: directory, row, settings, owner.

Runs in: the housekeeper. The view says what should be, the row what is: only replicas in service, published by an
owner that is alive, are seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from headrace.ids import TopicPartition, owner_of
from headrace.log.config import LogConfig
from headrace.settings import topic_values
from headrace.shm.cluster_view import EMPTY_VIEW, TopicView
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.shm.seat import Seat
from headrace.topic_defaults import TopicDefaults

_IN_SERVICE = (RowState.LEADER, RowState.FOLLOWER)


class Hosted(NamedTuple):
    """One replica in service."""

    name: TopicPartition
    log_dir: Path
    row: PartitionRow
    config: LogConfig
    slot: int
    owner: int  # process id of its partition worker

    @property
    def directory(self) -> Path:
        return self.log_dir / str(self.name)


class _Topic(NamedTuple):
    """What the view says of a topic, made ready: (name, directory's name, slot, key, owner) of each replica here."""

    view: TopicView
    config: LogConfig
    hosted: list[tuple[TopicPartition, str, int, int, int]]


class HostedReplicas:
    """Goes over the replicas of the current view, which is read when its version moved."""

    def __init__(self, seat: Seat, log_dirs: list[Path]) -> None:
        self._seat = seat
        self._log_dirs = log_dirs
        self._defaults = TopicDefaults(seat.wiring.settings)
        self._view = EMPTY_VIEW
        self._seen: dict[str, _Topic] = {}

    def __iter__(self) -> Iterator[Hosted]:
        seat = self._seat
        wiring = seat.wiring
        if seat.view.version() != self._view.version:
            self._follow_view()
        offline = seat.offline_dirs()
        log_dirs = [(f"{path}/", path) for path in self._log_dirs if not wiring.log_dir_bit(str(path)) & offline]
        for topic in list(self._seen.values()):
            for name, directory_name, slot, key, owner in topic.hosted:
                row = seat.partitions.read(slot)
                if row is None or row.key != key or row.state not in _IN_SERVICE:
                    continue
                for prefix, log_dir in log_dirs:
                    if os.path.isdir(prefix + directory_name):
                        yield Hosted(name, log_dir, row, topic.config, slot, owner)
                        break

    def is_current(self, hosted: Hosted) -> bool:
        """Whether the owner that published the row is the one that runs, so that it can be asked."""
        return hosted.row.generation == self._seat.processes.generation(hosted.owner)

    def _follow_view(self) -> None:
        """What was seen of a topic that did not change holds."""
        view = self._view = self._seat.view.read()
        if self._defaults.follow(view.cluster_settings, view.node_settings):
            self._seen = {}
        seen, self._seen = self._seen, {}
        for topic in view.topics.values():
            known = seen.get(topic.name)
            self._seen[topic.name] = known if known is not None and known.view is topic else self._look_at(topic)

    def _look_at(self, topic: TopicView) -> _Topic:
        wiring = self._seat.wiring
        hosted = []
        for partition in topic.partitions:
            if partition.slot >= 0:
                name = TopicPartition(topic.name, partition.index)
                owner = wiring.network_count + owner_of(topic.name, partition.index, wiring.partition_count)
                hosted.append((name, str(name), partition.slot, partition.key, owner))
        return _Topic(topic, LogConfig.from_values(topic_values(self._defaults.settings, topic.configs)), hosted)

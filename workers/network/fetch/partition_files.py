"""The open log readers of a network worker.

Runs in: a network worker; reads only. A reader is kept per slot while the slot holds the same partition; the
least recently used go when there are more than READERS_MAX. Their descriptors have a bound over all of them.

Files are opened by name, and a topic may be deleted and created again under it. Its owner's order is

    rename to *-delete  ->  row DELETED  ->  (controller: slot free, topic created again)  ->  row of the new key  ->  files

so what was opened is the partition's own if its row, read after that, still says so.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path

from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import READERS_MAX
from headrace.log.reading.open_segments import OpenSegments
from headrace.log.reading.reader import LogReader
from headrace.shm.cluster_view import Changes, ClusterView
from headrace.shm.partition_table import PartitionRow, PartitionTable, RowState
from headrace.workers.network.routes import Route

Held = tuple[Route, LogReader]


class PartitionFiles:
    """Log readers by slot.

    open_segments   what they may have open
    """

    def __init__(self, log_dirs: tuple[str, ...], table: PartitionTable, open_segments: OpenSegments) -> None:
        self._table = table
        self._open_segments = open_segments
        self._log_dirs = [Path(path) for path in log_dirs]
        self._readers: OrderedDict[int, Held] = OrderedDict()
        self._slots: dict[str, dict[int, int]] = {}  # of the readers, by topic and index

    def reader(self, route: Route, row: PartitionRow) -> LogReader:
        """The reader of a partition, with the segment list as of `row`.

        raises   KafkaError KAFKA_STORAGE_ERROR, where the partition's directory is not there; NOT_LEADER_OR_FOLLOWER,
                 where it may be that of another partition of this name, here and from each method of the reader
        """
        held = self._readers.get(route.slot)
        if held is None or held[0].key != route.key:
            held = self._open(route)
        elif len(self._readers) > 1:
            self._readers.move_to_end(route.slot)
        reader = held[1]
        try:
            reader.refresh(row.segments_version)
        except FileNotFoundError:  # the replica moved to another log directory
            reader = self._open(route)[1]
            reader.refresh(row.segments_version)
        return reader

    def follow(self, view: ClusterView, changes: Changes | None = None) -> None:
        """Release what is no partition any more: an open descriptor keeps a deleted file's space.

        changes   what is another than in the last view; None: anything may be
        """
        for name in self._slots.keys() & changes.keys() if changes is not None else list(self._slots):
            indexes = changes[name] if changes is not None else None
            slots = self._slots[name]
            for slot in [slot for index, slot in slots.items() if indexes is None or index in indexes]:
                if not _is_in(view, self._readers[slot][0]):
                    self._close(slot)

    def open_directory(self, route: Route) -> Path | None:
        """Where the reader of a partition reads, whatever else has its name; None: it has none."""
        held = self._readers.get(route.slot)
        return held[1].directory if held is not None and held[0].key == route.key else None

    def directory(self, topic: str, partition: int) -> Path | None:
        """Where a partition's files are. While a replica is moved there may be two of the name."""
        for log_dir in self._log_dirs:
            directory = log_dir / str(TopicPartition(topic, partition))
            if directory.is_dir():
                return directory
        return None

    def close(self) -> None:
        for slot in list(self._readers):
            self._close(slot)

    def _close(self, slot: int) -> None:
        route, reader = self._readers.pop(slot)
        reader.close()
        slots = self._slots[route.topic]
        if slots.get(route.index) == slot:
            del slots[route.index]
            if not slots:
                del self._slots[route.topic]

    def _open(self, route: Route) -> Held:
        if route.slot in self._readers:
            self._close(route.slot)
        directory = self.directory(route.topic, route.index)
        if directory is None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"no directory for {route.topic}-{route.index}")
        held = (route, LogReader(directory, partial(self._confirm, route), self._open_segments))
        self._readers[route.slot] = held
        self._slots.setdefault(route.topic, {})[route.index] = route.slot
        if len(self._readers) > READERS_MAX:
            self._close(next(iter(self._readers)))
        return held

    def _confirm(self, route: Route) -> None:
        """The partition was there when its files were opened. raises KafkaError"""
        row = self._table.read(route.slot)
        if row is None or row.key != route.key or row.state in (RowState.FREE, RowState.DELETED):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{route.topic}-{route.index} was deleted or re-created")


def _is_in(view: ClusterView, route: Route) -> bool:
    """Whether a view has the partition that was routed to, in the same slot."""
    topic = view.topics.get(route.topic)
    if topic is None or route.index >= len(topic.partitions):
        return False
    partition = topic.partitions[route.index]
    return (partition.slot, partition.key) == (route.slot, route.key)

"""The reading end of the cluster view: what changed, and no more, is decoded and read.

Runs in: every process of the node, and its tools. The order of loads, and the formats: view_log.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from headrace.ids import NO_LEADER, PartitionKey
from headrace.limits import VIEW_READ_TRIES_MAX
from headrace.memory import load_word
from headrace.shm.cluster_table import ClusterTable
from headrace.shm.cluster_view import (
    EMPTY_VIEW,
    Changes,
    ClusterView,
    DeletedTopic,
    DoomedReplica,
    PartitionView,
    ReleasedTopic,
    TopicView,
    ViewError,
)
from headrace.shm.layout import VIEW_DESCRIPTOR_WORDS, VIEW_DESCRIPTORS, VIEW_VERSION, WORD, view_halves_start
from headrace.shm.region import Region
from headrace.shm.view_log import UNPUBLISHED, Delta, Departing, Head, Publication, TopicEntry, deltas_of


class Partitions(Sequence[PartitionView]):
    """A topic's partitions: each is read from its row when it is asked for, and kept until `forget`."""

    __slots__ = ("_known", "_table", "entry")

    def __init__(self, entry: TopicEntry, table: ClusterTable) -> None:
        self.entry = entry
        self._table = table
        self._known: list[PartitionView | None] = [None] * len(entry.rows)

    def __len__(self) -> int:
        return len(self._known)

    @overload
    def __getitem__(self, index: int) -> PartitionView: ...
    @overload
    def __getitem__(self, index: slice) -> list[PartitionView]: ...
    def __getitem__(self, index: int | slice) -> PartitionView | list[PartitionView]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        return self._known[index] or self._load(range(len(self))[index])

    def __iter__(self) -> Iterator[PartitionView]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Partitions, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # not hashable: it is not a value

    def __repr__(self) -> str:
        return repr(tuple(self))

    def forget(self, index: int) -> None:
        """A row has changed."""
        self._known[index] = None

    def forget_all(self) -> None:
        """Any row may have changed."""
        self._known = [None] * len(self._known)

    def _load(self, index: int) -> PartitionView:
        """From the row; a row taken over by another topic belonged to one that the next view does not have."""
        entry = self.entry
        row = self._table.read(entry.rows[index])
        if row is None or (row.incarnation, row.index) != (entry.incarnation, index):
            return PartitionView(index, NO_LEADER, 0, (), entry.replicas[index])
        isr, offline = row.isr, row.offline
        if isr is None or offline is None:
            isr, offline = entry.crowded.get(index, ((), ()))
        found = PartitionView(
            index, row.leader, row.leader_epoch, isr, entry.replicas[index], offline, row.slot, PartitionKey(row.key),
            row.is_halted, row.is_held,
        )  # fmt: skip
        self._known[index] = found
        return found


class ClusterViewReader:
    """The reading end.

    raises   RegionError, where the region has no cluster table
    """

    def __init__(self, region: Region) -> None:
        self._region = region
        self._words = region.words
        self._table = ClusterTable(region)
        self._halves_start = view_halves_start(self._table.rows)
        self._half_bytes = (region.size_bytes - self._halves_start) // 2 & ~(WORD - 1)
        self._seen = UNPUBLISHED
        self._view = EMPTY_VIEW
        self._by_incarnation: dict[int, Partitions] = {}
        self._departing: dict[str, Departing] = {}
        self._released: dict[str, ReleasedTopic] = {}
        self._changes: dict[str, set[int] | None] = {}  # since the last `follow`

    def version(self) -> int:
        """0 until the first publication; one load."""
        return load_word(self._words, VIEW_VERSION)

    def read(self) -> ClusterView:
        """The current view; `EMPTY_VIEW` before the first. Decodes what is new, and nothing if the version is unchanged.

        raises   ViewError, where the view is damaged, or no consistent copy was had in VIEW_READ_TRIES_MAX tries
        """
        words = self._words
        for _ in range(VIEW_READ_TRIES_MAX):
            version = load_word(words, VIEW_VERSION)
            if version == self._seen.version:
                return self._view
            first = VIEW_DESCRIPTORS + (version & 1) * VIEW_DESCRIPTOR_WORDS
            flips, end, changes, checksum = (load_word(words, first + place) for place in range(VIEW_DESCRIPTOR_WORDS))
            publication = Publication(version, flips, end, changes)
            is_known = flips == self._seen.flips and self._seen.version > 0
            begin = self._seen.end if is_known else 0
            data = self._copy(flips & 1, begin, end)
            rows = self._table.changed(self._seen.changes, changes) if self._seen.version else []
            if load_word(words, VIEW_VERSION) == version:
                if checksum != publication.checksum():
                    raise ViewError(f"{self._region.name}: view {version} is corrupt")
                self._take(publication, list(deltas_of(data)), rows, is_whole=not is_known)
                return self._view
        raise ViewError(f"{self._region.name}: no consistent view in {VIEW_READ_TRIES_MAX} tries")

    def follow(self) -> tuple[ClusterView, Changes]:
        """The current view, and what changed since this was called last."""
        view = self.read()
        changes, self._changes = self._changes, {}
        return view, {name: None if indexes is None else frozenset(indexes) for name, indexes in changes.items()}

    def close(self) -> None:
        self._region.close()

    def _copy(self, half: int, begin: int, end: int) -> bytes:
        start = self._halves_start + half * self._half_bytes
        return bytes(self._region.memory[start + begin : start + min(end, self._half_bytes)])

    def _take(self, publication: Publication, deltas: list[Delta], rows: list[int] | None, *, is_whole: bool) -> None:
        """Make a publication the one that was read last. All that may fail has been done."""
        if deltas:
            self._view = self._with(deltas, is_whole)
        self._view = self._view._replace(version=publication.version)
        self._seen = publication
        if rows is None:
            for partitions in self._by_incarnation.values():
                partitions.forget_all()
                self._changes[partitions.entry.name] = None
            return
        for row in rows:
            self._note_row(row)

    def _note_row(self, row: int) -> None:
        found = self._table.read(row)
        partitions = self._by_incarnation.get(found.incarnation) if found is not None else None
        if found is None or partitions is None or found.index >= len(partitions):
            return  # of a topic that was deleted, or comes with the next view
        partitions.forget(found.index)
        indexes = self._changes.setdefault(partitions.entry.name, set())
        if indexes is not None:
            indexes.add(found.index)

    def _with(self, deltas: list[Delta], is_whole: bool) -> ClusterView:
        """The view after some blocks; the first of a half says everything."""
        topics = dict(self._view.topics)
        head = None
        if is_whole:
            self._departing, self._released = {}, {}
            for name in topics.keys() - {entry.name for entry in deltas[0].topics}:
                self._drop(topics, name)
        for delta in deltas:
            head = delta.head or head
            for name in delta.topics_gone:
                self._drop(topics, name)
            for entry in delta.topics:
                self._put(topics, entry)
            update(self._departing, delta.departing, delta.departed)
            update(self._released, delta.released, delta.released_gone)
        view = self._view._replace(
            topics=topics,
            doomed=tuple(
                DoomedReplica(one.name, partition, slot, PartitionKey(key))
                for one in self._departing.values()
                for partition, slot, key in one.replicas
            ),
            deleted=tuple(
                DeletedTopic(one.name, topic_id) for one in self._departing.values() for topic_id in one.topic_ids
            ),
            released=tuple(self._released.values()),
        )
        return view if head is None else _with_head(view, head)

    def _put(self, topics: dict[str, TopicView], entry: TopicEntry) -> None:
        known = topics.get(entry.name)
        if known is not None:
            if self._entry_of(known) == entry:
                return
            self._drop(topics, entry.name)
        partitions = self._by_incarnation[entry.incarnation] = Partitions(entry, self._table)
        topics[entry.name] = TopicView(entry.name, entry.topic_id, entry.internal, entry.configs, partitions)
        self._changes[entry.name] = None

    def _drop(self, topics: dict[str, TopicView], name: str) -> None:
        topic = topics.pop(name, None)
        if topic is not None:
            self._by_incarnation.pop(self._entry_of(topic).incarnation, None)
            self._changes[name] = None

    @staticmethod
    def _entry_of(topic: TopicView) -> TopicEntry:
        assert isinstance(topic.partitions, Partitions)
        return topic.partitions.entry


def _with_head(view: ClusterView, head: Head) -> ClusterView:
    return view._replace(
        cluster_id=head.cluster_id,
        controller_id=head.controller_id,
        brokers={broker.node_id: broker for broker in head.brokers},
        cluster_settings=head.cluster_settings,
        node_settings=head.node_settings,
    )


def update(known: dict[str, Any], changed: Sequence[Any], gone: Sequence[str]) -> None:
    """Entries by name: those that changed, and names of those removed."""
    for name in gone:
        known.pop(name, None)
    for one in changed:
        known[one.name] = one

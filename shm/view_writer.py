"""The writing end of the cluster view.

Runs in: the controller process, the only writer. The order of stores, and the formats: view_log.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from headrace.memory import load_word, store_word
from headrace.shm.cluster_table import ClusterRow, fits_row, pack_row
from headrace.shm.cluster_view import Changes, ClusterView, PartitionView, TopicView, ViewError, changed_topics
from headrace.shm.free_rows import FreeRows
from headrace.shm.layout import VIEW_DESCRIPTOR_WORDS, VIEW_DESCRIPTORS, VIEW_INCARNATION, VIEW_VERSION
from headrace.shm.region import Region
from headrace.shm.view_log import (
    BLOCK_HEADER_BYTES,
    NO_HEAD,
    Delta,
    Departing,
    Head,
    Publication,
    TopicEntry,
    block_of,
    encoded_bytes,
)
from headrace.shm.view_reader import ClusterViewReader, update

DELETED_REPLICA_BYTES: Final = 16  # of the log, once a partition is deleted: counted while it is served
ROWS_KEY: Final = "headrace.cluster.partitions.max"


class _Plan(NamedTuple):
    """What a publication does, before anything is written.

    entries   new or changed
    rows      (row, fields) that change
    taken     how many of the rows were free
    """

    entries: list[TopicEntry]
    rows: list[tuple[int, bytes]]
    taken: int


class ClusterViewWriter(ClusterViewReader):
    """The controller process's end; it may read its own view back.

    Where a predecessor died in the middle of a publication, this makes one that has everybody read all rows.

    raises   ViewError, if its content is corrupt
    """

    def __init__(self, region: Region) -> None:
        super().__init__(region)
        view = self.read()
        self._published = self._seen
        self._head = _head_of(view) if view.version else NO_HEAD
        self._given: dict[str, TopicView] = dict(view.topics)  # what the entries and rows were made of
        self._entries = {name: self._entry_of(topic) for name, topic in view.topics.items()}
        self._last_leaving: tuple[object, object, object] | None = (
            None  # lists of the last call: the same ones are not compared
        )
        self._told_departing = dict(self._departing)
        self._told_released = dict(self._released)
        self._charges: dict[tuple[str, str], int] = {}
        self._charged_bytes = 0
        for entry in self._entries.values():
            self._charge_topic(entry)
        for one in self._departing.values():
            self._charge("departing", one.name, encoded_bytes(one))
        for released in self._released.values():
            self._charge("released", released.name, encoded_bytes(released))
        self._free = FreeRows(self._table.rows, (row for entry in self._entries.values() for row in entry.rows))
        if self._table.claimed() > self._published.changes:
            self._recover()

    @property
    def rows(self) -> int:
        """Of the cluster table."""
        return self._table.rows

    def room_bytes(self) -> int:
        """How much longer the log may get, all that it says put together."""
        return self._half_bytes - BLOCK_HEADER_BYTES - encoded_bytes(self._head) - self._charged_bytes

    def room_rows(self) -> int:
        """Partitions that there are rows for."""
        return len(self._free)

    def publish(self, view: ClusterView, changes: Changes | None = None) -> ClusterView:
        """Make a view the current one; its version is set here.

        changes   topics that are other ones than in the last call, new or gone; of those with indexes only the states of these
                  partitions are. Nothing else is compared. None: any topic that is not the object of the last call
        returns   the view as published
        raises    ViewError, where it does not fit (nothing changed then)
        """
        assert load_word(self._words, VIEW_VERSION) == self._published.version, "another process is publishing"
        if changes is None:
            changes = changed_topics(self._given, view.topics)
        others = [view.topics[name] for name in changes if name in view.topics]
        wanted = sum(map(self._rows_wanted, others))
        if wanted > len(self._free):
            self._free_first(view, wanted)
            return self.publish(view)
        gone = tuple(name for name in changes if name in self._given and name not in view.topics)
        plan = self._planned(others, wanted, changes)
        delta = self._delta(view, plan.entries, gone)
        self._commit(delta, view, plan)
        self._settle(delta, view, plan, others)
        return view._replace(version=delta.version)

    # What is to be written

    def _rows_wanted(self, topic: TopicView) -> int:
        kept = self._kept_entry(topic)
        return len(topic.partitions) - (len(kept.rows) if kept is not None else 0)

    def _kept_entry(self, topic: TopicView) -> TopicEntry | None:
        """The entry whose incarnation and rows a topic continues with."""
        entry = self._entries.get(topic.name)
        if entry is None or entry.topic_id != topic.topic_id or len(entry.rows) > len(topic.partitions):
            return None
        return entry

    def _free_first(self, view: ClusterView, wanted: int) -> None:
        """Publish what goes without what comes: a row that a topic leaves is another's only after that.

        raises   ViewError, where that frees too few
        """
        staying = {
            name: self._given[name]
            for name, topic in view.topics.items()
            if name in self._given and self._kept_entry(topic) is not None
        }
        freed = sum(len(entry.rows) for name, entry in self._entries.items() if name not in staying)
        if wanted > len(self._free) + freed:
            raise ViewError(
                f"the cluster has {sum(len(topic.partitions) for topic in view.topics.values())} partitions, more than "
                f"{ROWS_KEY} (or headrace.partitions.max) of {self._table.rows} allows: raise it"
            )
        self.publish(view._replace(topics=staying))

    def _planned(self, others: list[TopicView], wanted: int, changes: Changes) -> _Plan:
        """others   topics that are not those that were given last"""
        free = iter(self._free.peek(wanted))
        entries: list[TopicEntry] = []
        rows: list[tuple[int, bytes]] = []
        for topic in others:
            kept = self._kept_entry(topic)
            before: Sequence[PartitionView] = self._given[topic.name].partitions if kept is not None else ()
            indexes = changes[topic.name]
            if kept is not None and indexes is not None and not _is_crowded(topic, before, indexes):
                rows += [
                    (kept.rows[index], pack_row(_row_of(kept.incarnation, topic.partitions[index])))
                    for index in sorted(indexes)
                ]
                continue
            known = kept.rows if kept is not None else ()
            own = (*known, *islice(free, len(topic.partitions) - len(known)))
            incarnation = kept.incarnation if kept is not None else self._next_incarnation()
            entry = _entry_of(topic, incarnation, own)
            if entry != kept:
                entries.append(entry)
            rows += [
                (own[index], pack_row(_row_of(incarnation, partition)))
                for index, partition in enumerate(topic.partitions)
                if index >= len(before) or (before[index] is not partition and before[index] != partition)
            ]
        return _Plan(entries, rows, wanted)

    def _next_incarnation(self) -> int:
        """Where the publication fails, or its writer dies, one is left out."""
        incarnation = load_word(self._words, VIEW_INCARNATION) + 1
        store_word(self._words, VIEW_INCARNATION, incarnation)
        return incarnation

    def _delta(self, view: ClusterView, entries: list[TopicEntry], gone: tuple[str, ...]) -> Delta:
        head = _head_of(view)
        if (view.deleted, view.doomed, view.released) == self._last_leaving:
            return Delta(
                self._published.version + 1, head if head != self._head else None, tuple(entries), (), (), gone
            )
        departing, released = _departing_of(view), {one.name: one for one in view.released}
        return Delta(
            self._published.version + 1,
            head if head != self._head else None,
            tuple(entries),
            tuple(one for name, one in departing.items() if self._told_departing.get(name) != one),
            tuple(one for name, one in released.items() if self._told_released.get(name) != one),
            gone,
            tuple(name for name in self._told_departing if name not in departing),
            tuple(name for name in self._told_released if name not in released),
        )

    def _everything(self, delta: Delta, view: ClusterView) -> Delta:
        """The block that begins a half."""
        entries = {**self._entries, **{entry.name: entry for entry in delta.topics}}
        for name in delta.topics_gone:
            del entries[name]
        topics = tuple(entries[name] for name in sorted(entries))
        return Delta(delta.version, _head_of(view), topics, tuple(_departing_of(view).values()), view.released)

    # Writing it

    def _commit(self, delta: Delta, view: ClusterView, plan: _Plan) -> None:
        flips, end = self._published.flips, self._published.end
        block = b"" if delta == Delta(delta.version) and self._published.version else block_of(delta)
        if end + len(block) > self._half_bytes or not self._published.version:
            flips, end, block = flips + 1, 0, block_of(self._everything(delta, view))
            if len(block) > self._half_bytes:
                raise ViewError(
                    f"the cluster view needs {len(block)} bytes, the region holds {self._half_bytes}: raise {ROWS_KEY}"
                )
        table = self._table
        changes = table.claim(self._published.changes, len(plan.rows))
        for row, fields in plan.rows:
            table.write(row, fields)
        table.note(self._published.changes, [row for row, _fields in plan.rows])
        start = self._halves_start + (flips & 1) * self._half_bytes + end
        self._region.memory[start : start + len(block)] = block
        self._announce(Publication(delta.version, flips, end + len(block), changes))

    def _announce(self, publication: Publication) -> None:
        """Everything of a publication is there: the descriptor, then the word that commits it."""
        words = self._words
        first = VIEW_DESCRIPTORS + (publication.version & 1) * VIEW_DESCRIPTOR_WORDS
        store_word(words, first, publication.flips)
        store_word(words, first + 1, publication.end)
        store_word(words, first + 2, publication.changes)
        store_word(words, first + 3, publication.checksum())
        store_word(words, VIEW_VERSION, publication.version)
        self._published = publication

    def _recover(self) -> None:
        """More was claimed than published: rows may have changed that no journal tells of."""
        if not self._published.version:
            self._published = self._published._replace(changes=self._table.claimed())
            return
        count = self._table.claimed() - self._published.changes + self._table.entries + 1
        changes = self._table.claim(self._published.changes, count)
        self._announce(self._published._replace(version=self._published.version + 1, changes=changes))

    def _settle(self, delta: Delta, view: ClusterView, plan: _Plan, others: list[TopicView]) -> None:
        """Remember what was published, and what it takes."""
        self._free.take(plan.taken)
        for name in delta.topics_gone:
            self._free.give(self._entries.pop(name).rows)
            self._charge("topic", name, 0)
        for entry in delta.topics:
            known = self._entries.get(entry.name)
            if known is not None and known.incarnation != entry.incarnation:
                self._free.give(known.rows)
            self._entries[entry.name] = entry
            self._charge_topic(entry)
        for what, changed, gone in (
            ("departing", delta.departing, delta.departed),
            ("released", delta.released, delta.released_gone),
        ):
            for name in gone:
                self._charge(what, name, 0)
            for one in changed:
                self._charge(what, one.name, encoded_bytes(one))
        update(self._told_departing, delta.departing, delta.departed)
        update(self._told_released, delta.released, delta.released_gone)
        for name in delta.topics_gone:
            del self._given[name]
        for topic in others:
            self._given[topic.name] = topic
        self._last_leaving = (view.deleted, view.doomed, view.released)
        self._head = delta.head or self._head

    def _charge_topic(self, entry: TopicEntry) -> None:
        """Room for the entry, and for what it leaves when it is deleted."""
        self._charge("topic", entry.name, encoded_bytes(entry) + DELETED_REPLICA_BYTES * len(entry.rows))

    def _charge(self, what: str, name: str, size_bytes: int) -> None:
        """What an entry takes of the log, 0: it is gone."""
        self._charged_bytes += size_bytes - self._charges.pop((what, name), 0)
        if size_bytes:
            self._charges[what, name] = size_bytes


def _is_crowded(topic: TopicView, before: Sequence[PartitionView], indexes: Iterable[int]) -> bool:
    """Whether the topic's entry tells, or told, replicas of one of these partitions."""
    return any(
        not fits_row(partition.isr, partition.offline)
        for index in indexes
        for partition in (topic.partitions[index], before[index])
    )


def _row_of(incarnation: int, partition: PartitionView) -> ClusterRow:
    overflows_row = not fits_row(partition.isr, partition.offline)
    return ClusterRow(
        incarnation,
        partition.index,
        partition.leader,
        partition.leader_epoch,
        partition.slot,
        partition.key,
        None if overflows_row else partition.isr,
        None if overflows_row else partition.offline,
        partition.is_halted,
        partition.is_held,
    )


def _entry_of(topic: TopicView, incarnation: int, rows: tuple[int, ...]) -> TopicEntry:
    return TopicEntry(
        topic.name,
        topic.topic_id,
        topic.internal,
        dict(topic.configs),
        incarnation,
        rows,
        tuple(partition.replicas for partition in topic.partitions),
        {
            partition.index: (partition.isr, partition.offline)
            for partition in topic.partitions
            if not fits_row(partition.isr, partition.offline)
        },
    )


def _head_of(view: ClusterView) -> Head:
    return Head(
        view.cluster_id,
        view.controller_id,
        tuple(view.brokers.values()),
        view.cluster_settings,
        view.node_settings,
    )


def _departing_of(view: ClusterView) -> dict[str, Departing]:
    ids: dict[str, list[str]] = {}
    replicas: dict[str, list[tuple[int, int, int]]] = {}
    for name, topic_id in view.deleted:
        ids.setdefault(name, []).append(topic_id)
    for topic, *replica in view.doomed:
        replicas.setdefault(topic, []).append((replica[0], replica[1], replica[2]))
    return {
        name: Departing(name, tuple(ids.get(name, ())), tuple(replicas.get(name, ())))
        for name in dict.fromkeys((*replicas, *ids))
    }

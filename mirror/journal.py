"""The journal of a target: read as far as it goes, written by one life of a mirror for each partition.

A life begins with a claim, a position record under an epoch of its own, or by key a record of its own kind. The broker refuses what
earlier lives append after that, so the mirror that was started last goes on, and the others end with `NotAlone`. Two that claim the same
life at once are distinguished by reading the claim back: one of the two was stored.

A leader forgets a producer that was silent for a day. A process that wakes up after that may append with its old epoch; such records are
known by their life and left out (`_is_late`).

Topic: JOURNAL_TOPIC, one partition, compacted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import EARLIEST, LATEST, Cluster
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import MIRROR_CLAIMS_MAX, MIRROR_ENTRIES_MAX, MIRROR_JOURNAL_BYTES_MAX
from headrace.mirror.appender import append
from headrace.mirror.identity import LaneName, journal_identity
from headrace.mirror.journal_record import (
    JOURNAL_TOPIC,
    Chunk,
    Claim,
    Content,
    CorruptJournal,
    Entry,
    Gap,
    KeyedPosition,
    KeyValue,
    Origin,
    Partitioning,
    Place,
    Position,
    decode,
    encode_claim,
    encode_origin,
    encode_partitioning,
    encode_position,
)
from headrace.mirror.places import Places
from headrace.mirror.translation import Translation
from headrace.protocol.message_set import iterate_entries, iterate_entry_records
from headrace.protocol.record_batch import build_batch

NAME = TopicPartition(JOURNAL_TOPIC, 0)
FENCED = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    }
)
CONFIGS = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}

log = logging.getLogger("headrace.mirror")


class NotAlone(HeadraceError):
    """Another process runs the same mirror, and was started later."""


@dataclass(slots=True)
class LaneNotes:
    """What the journal says of a partition.

    chunks   of one that is copied by key, by generation and source offset
    """

    translation: Translation = field(default_factory=Translation)
    chunks: dict[tuple[int, int], Chunk] = field(default_factory=dict)
    places: Places = field(default_factory=Places)
    life: int = 0  # the latest
    gaps: list[Gap] = field(default_factory=list)

    @property
    def position(self) -> Position | None:
        return self.translation.position


class Journal:
    """Of one process. It uses a `Cluster` that nothing else uses at the same time.

    is_wanted   partitions whose records are kept in memory
    """

    def __init__(
        self, cluster: Cluster, is_wanted: Callable[[LaneName], bool], wall_ms: Callable[[], int], holder: str
    ) -> None:
        self._cluster = cluster
        self._is_wanted = is_wanted
        self._wall_ms = wall_ms
        self._holder = holder
        self._next_offset = 0
        self._sequences: dict[LaneName, tuple[int, int]] = {}  # life, next sequence
        self.lanes: dict[LaneName, LaneNotes] = {}
        self.origins: dict[str, Origin] = {}
        self.partitioners: dict[tuple[str, str, str], str] = {}  # by mirror, source and topic
        self.is_idempotent = True

    def create(self, replication_factor: int) -> None:
        """Create the topic, where it is not there. raises   KafkaError, ConnectionFailed"""
        if JOURNAL_TOPIC in self._cluster.retried(lambda: self._cluster.refresh(None), set()):
            return
        factor = replication_factor if replication_factor > 0 else min(3, len(self._cluster.brokers))
        failure = Admin(self._cluster).create_topics([NewTopic(JOURNAL_TOPIC, 1, factor, CONFIGS)])[JOURNAL_TOPIC]
        if failure is not None and failure.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise failure

    def read(self) -> None:
        """All that was written since the last call. raises   KafkaError, ConnectionFailed"""
        cluster = self._cluster
        end = cluster.offsets({NAME: LATEST})[NAME]
        start = max(self._next_offset, cluster.offsets({NAME: EARLIEST})[NAME])
        for data in cluster.fetch(NAME, start, end):
            for position, size, _magic in iterate_entries(data):
                for record in iterate_entry_records(data[position : position + size]):
                    if record.offset >= start:
                        self._take(record.key, record.value)
        self._next_offset = max(start, end)

    def _take(self, key: bytes | None, value: bytes | None) -> None:
        try:
            lane, content, is_withdrawn = decode(key, value)
        except CorruptJournal as failure:
            log.warning("journal record skipped reason=%s", failure)
            return
        if isinstance(content, Origin):
            self.origins[content.topic] = content
            return
        if isinstance(content, Partitioning):
            self.partitioners[content.mirror, content.source, content.topic] = content.partitioner
            return
        if lane is None or not self._is_wanted(lane):
            return
        notes = self.lanes.setdefault(lane, LaneNotes())
        if is_withdrawn:
            self._withdraw(notes, content)
        elif isinstance(content, Gap):
            notes.gaps.append(content)
        elif isinstance(content, Place):
            notes.places.add(content)
        elif not self._is_late(notes, content.life):
            if isinstance(content, Position):
                notes.translation.place(content)
            elif isinstance(content, Chunk):
                notes.chunks[content.generation, content.source] = content
            elif isinstance(content, Entry):
                notes.translation.add(content)

    def _withdraw(self, notes: LaneNotes, content: Content) -> None:
        if isinstance(content, Entry):
            notes.translation.withdraw(content)
        elif isinstance(content, Chunk):
            notes.chunks.pop((content.generation, content.source), None)
        elif isinstance(content, Place):
            notes.places.withdraw(content)

    def _is_late(self, notes: LaneNotes, life: int) -> bool:
        notes.life = max(notes.life, life)
        return life < notes.life

    def notes(self, lane: LaneName) -> LaneNotes:
        return self.lanes.setdefault(lane, LaneNotes())

    def claim(self, lane: LaneName, start: Position, is_first: bool) -> tuple[Position, list[Entry], Position]:
        """Begin a life. returns   the position, the entries, and the position before it

        start      where a partition begins that the journal does not know
        is_first   of this process; else it has to be the one that follows its last
        raises     NotAlone, KafkaError, ConnectionFailed
        """
        for _ in range(MIRROR_CLAIMS_MAX):
            self.read()
            notes = self.notes(lane)
            before = notes.position or start
            known = notes.life
            life = (known if is_first else self._sequences[lane][0]) + 1
            claim = replace(before, life=life, holder=self._holder, is_released=False, time_ms=self._wall_ms())
            is_by_key = isinstance(before, KeyedPosition)
            row = (
                encode_claim(lane, Claim(life, self._holder, claim.time_ms))
                if is_by_key
                else encode_position(lane, claim)
            )
            if self._is_claimed(lane, life, row):
                self.read()
                # an earlier life may have written a later position after the first read, and before the claim
                claim = replace(notes.position or start, life=life, holder=self._holder, is_released=False)
                if is_by_key:
                    is_released = before.is_released and before.life == known
                    before = replace(before, life=known, is_released=is_released)
                return claim, notes.translation.entries(), before
            if not is_first:
                break
        raise NotAlone(f"{lane}: another process of mirror {lane.mirror} claims it")

    def _is_claimed(self, lane: LaneName, life: int, row: KeyValue) -> bool:
        self._sequences[lane] = (life, 0)
        try:
            offset = self._append(lane, [row])
        except NotAlone:
            return False
        if not self.is_idempotent:
            return True
        for data in self._cluster.fetch(NAME, offset, offset + 1):
            for record in iterate_entry_records(data):
                if record.offset == offset:
                    return (record.key, record.value) == row
        return False

    def append(self, lane: LaneName, rows: Sequence[KeyValue]) -> None:
        """Records about a partition, in order. raises   NotAlone, KafkaError, ConnectionFailed"""
        first = size = 0
        for number, (key, value) in enumerate(rows):
            size += len(key) + len(value or b"")
            if number - first == MIRROR_ENTRIES_MAX or (number > first and size > MIRROR_JOURNAL_BYTES_MAX):
                self._append(lane, rows[first:number])
                first, size = number, len(key) + len(value or b"")
        if rows:
            self._append(lane, rows[first:])

    def _append(self, lane: LaneName, rows: Sequence[KeyValue]) -> int:
        life, sequence = self._sequences[lane]
        producer_id, epoch = journal_identity(lane, life)
        batch = build_batch(
            rows,
            timestamp_ms=self._wall_ms(),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        try:
            offset = append(self._cluster, NAME, bytearray(batch))
        except KafkaError as failure:
            if failure.code in FENCED:
                raise NotAlone(f"{lane}: another process of mirror {lane.mirror} has claimed it ({failure})") from None
            raise
        self._sequences[lane] = (life, sequence + len(rows))
        return offset

    def write_origin(self, origin: Origin) -> None:
        """Where a topic comes from; without a claim: every mirror of it writes the same."""
        key, value = encode_origin(origin)
        append(self._cluster, NAME, bytearray(build_batch([(key, value)], timestamp_ms=self._wall_ms())))
        self.origins[origin.topic] = origin

    def write_partitioning(self, one: Partitioning) -> None:
        """How a topic is copied; without a claim, as it is written before anything of the topic is copied."""
        key, value = encode_partitioning(one)
        append(self._cluster, NAME, bytearray(build_batch([(key, value)], timestamp_ms=self._wall_ms())))
        self.partitioners[one.mirror, one.source, one.topic] = one.partitioner


def read_origins(cluster: Cluster) -> dict[str, Origin]:
    """Where the topics of a cluster come from; empty where no mirror writes to it. raises   KafkaError, ConnectionFailed"""
    if JOURNAL_TOPIC not in cluster.retried(lambda: cluster.refresh(None), set()):
        return {}
    journal = Journal(cluster, lambda _lane: False, lambda: int(time.time() * 1000), "")
    journal.read()
    return journal.origins

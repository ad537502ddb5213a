"""How far behind each group is: committed offsets by group and partition, beside the end offsets of the partition table.

    row       0  sequence             odd while being written, then the fields: the partition worker that hosts the
              8  committed offset     group's coordinator
             16  commit time in ms
             24  partition u32 | group bytes u16 | topic bytes u16      no topic bytes: a free row
             32  scanned offset, timestamp in ms of the record there   the housekeeper
             48  checksum of the row's text and partition, last; 0: not written yet, or being written
             64  topic, group         UTF-8; a group's id is cut where it does not fit

Each partition worker has a section of `headrace.lag.rows.max` rows, and uses them from its first one on. The number that ever was in use
stands before the rows, so that nothing reads, or touches, the pages of the rest. How a reader computes the lag: the end is the
partition's current high watermark, so the lag is that of the moment of reading; it is never negative, even if one of
them moved in between. Seconds: the age of the first record that the group has not committed past;
known after the housekeeper's scan (every two seconds, for groups that lag behind). Rows are reused: a scanned
timestamp counts only for the offset and the name that it was scanned for.

Source: the issue of consumer groups; Kafka's `kafka-consumer-groups --describe` for records.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from headrace.limits import SEQLOCK_TRIES_MAX, TOPIC_NAME_LENGTH_MAX
from headrace.shm.cluster_view import ClusterView
from headrace.shm.layout import LAG_ROW_BYTES, LAG_ROWS, LAG_SECTION_ROWS, LAG_TEXT, LAG_USED, WORD
from headrace.shm.partition_table import PartitionTable
from headrace.shm.region import Region

TEXT_BYTES: Final = LAG_ROW_BYTES - LAG_TEXT

_FIELDS: Final = Struct("=qqIHH")
_PLACE: Final = Struct("=qq")
_STAMP: Final = Struct("=qq")
_FIELDS_START: Final = WORD
_STAMP_START: Final = 4 * WORD
_NAME_START: Final = 6 * WORD
_IS_NAME: Final = 1 << 32  # beside a checksum, which may be 0

assert _FIELDS_START + _FIELDS.size <= _STAMP_START
assert _STAMP_START + _STAMP.size <= _NAME_START
assert _NAME_START + WORD <= LAG_TEXT
assert TEXT_BYTES > TOPIC_NAME_LENGTH_MAX


class LagRow(NamedTuple):
    """A committed offset as the coordinator's worker published it."""

    place: int  # of the row in the table
    group: str
    topic: str
    partition: int
    committed: int
    commit_ms: int
    looked_at: int | None  # the committed offset that `first_unread_ms` belongs to; None: not scanned
    first_unread_ms: int
    name: int  # checksum of group, topic and partition


class GroupLag(NamedTuple):
    """How far a group lags behind in one partition."""

    group: str
    topic: str
    partition: int
    committed: int
    end: int  # high watermark
    records: int  # >= 0; those that are no longer there do not count
    seconds: float | None  # >= 0; None: not scanned yet


class LagTable:
    """The rows, for any process that mapped them."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._memory = region.memory
        self._words = region.words
        self.rows_of_section: int = region.words[LAG_SECTION_ROWS]
        rows = (region.size_bytes - LAG_ROWS) // LAG_ROW_BYTES
        self._sections = rows // self.rows_of_section if self.rows_of_section else 0

    def first_of(self, section: int) -> int:
        """Place of a section's first row."""
        return section * self.rows_of_section

    def used(self, section: int) -> int:
        """Rows of the section that ever were in use, its first ones."""
        return min(self._words[LAG_USED + section], self.rows_of_section)

    def use(self, section: int, count: int) -> None:
        """This number is in use from now on; only the section's worker may. Before the first write of the last of them."""
        self._words[LAG_USED + section] = count

    def write(self, place: int, group: str, topic: str, partition: int, committed: int, commit_ms: int) -> None:
        """Fill a row; only the section's worker may."""
        topic_bytes = topic.encode()[:TOPIC_NAME_LENGTH_MAX]
        group_bytes = group.encode()[: TEXT_BYTES - len(topic_bytes)]
        fields = _FIELDS.pack(committed, commit_ms, partition, len(group_bytes), len(topic_bytes))
        text = topic_bytes + group_bytes
        start = LAG_ROWS + place * LAG_ROW_BYTES
        word = start // WORD
        sequence = self._words[word] | 1
        self._words[word] = sequence
        self._memory[start + _FIELDS_START : start + _FIELDS_START + len(fields)] = fields
        self._memory[start + LAG_TEXT : start + LAG_TEXT + len(text)] = text
        self._words[word] = sequence + 1

    def move(self, place: int, committed: int, commit_ms: int) -> None:
        """Update a row after another commit of its group."""
        start = LAG_ROWS + place * LAG_ROW_BYTES
        word = start // WORD
        sequence = self._words[word] | 1
        self._words[word] = sequence
        self._memory[start + WORD : start + 3 * WORD] = _PLACE.pack(committed, commit_ms)
        self._words[word] = sequence + 1

    def free(self, place: int) -> None:
        """Clear a row."""
        start = LAG_ROWS + place * LAG_ROW_BYTES
        word = start // WORD
        sequence = self._words[word] | 1
        self._words[word] = sequence
        self._words[word + 3] = 0
        self._words[word] = sequence + 1

    def stamp(self, row: LagRow, first_unread_ms: int) -> None:
        """Set the age of a row's first unread record; only the housekeeper may."""
        start = LAG_ROWS + row.place * LAG_ROW_BYTES
        word = (start + _NAME_START) // WORD
        self._words[word] = 0
        self._memory[start + _STAMP_START : start + _NAME_START] = _STAMP.pack(row.committed, first_unread_ms)
        self._words[word] = row.name

    def read(self, place: int) -> LagRow | None:
        """A consistent row; None if it is free, or its writer never paused."""
        memory, words = self._memory, self._words
        start = LAG_ROWS + place * LAG_ROW_BYTES
        word = start // WORD
        for _ in range(SEQLOCK_TRIES_MAX):
            sequence = words[word]
            if sequence & 1:
                continue
            committed, commit_ms, partition, group_bytes, topic_bytes = _FIELDS.unpack_from(memory, start + WORD)
            if not topic_bytes:
                return None
            stamped = words[word + _NAME_START // WORD]
            looked_at, first_unread_ms = _STAMP.unpack_from(memory, start + _STAMP_START)
            is_stamp_whole = words[word + _NAME_START // WORD] == stamped
            end = start + LAG_TEXT + topic_bytes + group_bytes
            text = bytes(memory[start + LAG_TEXT : end])
            if words[word] == sequence:
                topic, group = (
                    text[:topic_bytes].decode("utf-8", "replace"),
                    text[topic_bytes:].decode("utf-8", "replace"),
                )
                name = crc32(text, partition) | _IS_NAME
                is_ours = is_stamp_whole and stamped == name
                known = looked_at if is_ours else None
                return LagRow(place, group, topic, partition, committed, commit_ms, known, first_unread_ms, name)
        return None

    def rows(self) -> Iterator[LagRow]:
        """Every row in use."""
        words, first_word, step = self._words, LAG_ROWS // WORD + 3, LAG_ROW_BYTES // WORD
        for section in range(self._sections):
            first = self.first_of(section)
            for place in range(first, first + self.used(section)):
                if words[first_word + place * step]:
                    row = self.read(place)
                    if row is not None:
                        yield row

    def close(self) -> None:
        self._region.close()


def lags_of(table: LagTable, view: ClusterView, partitions: PartitionTable, now_ms: int) -> Iterator[GroupLag]:
    """The lag of every group that this node coordinates, in partitions that it leads."""
    for row in table.rows():
        topic = view.topics.get(row.topic)
        if topic is None or row.partition >= len(topic.partitions):
            continue
        partition = topic.partitions[row.partition]
        state = partitions.read(partition.slot) if partition.slot >= 0 else None
        if state is None or state.key != partition.key:
            continue
        records = max(0, state.high_watermark - max(row.committed, state.log_start_offset))
        seconds: float | None = None
        if not records:
            seconds = 0.0
        elif row.looked_at == row.committed and row.first_unread_ms >= 0:
            seconds = max(0, now_ms - row.first_unread_ms) / 1000
        yield GroupLag(row.group, row.topic, row.partition, row.committed, state.high_watermark, records, seconds)

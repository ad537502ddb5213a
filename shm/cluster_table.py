"""What changes often of each partition of the cluster: a row, and a journal of the rows that changed.

Runs in: the controller process writes; all others read. A row holds its fields twice, and which of the two counts is
the parity of its sequence. So a row is never torn: a writer killed at any store leaves the fields that were there.

    row        0  sequence             the copy that counts is sequence & 1
               8  copy 0, copy 1       56 bytes each:

    copy       0  incarnation u64      of the topic whose partition it is (`TopicEntry` in cluster_view.py): rows are
               8  index                reused, and a reader with an older view notices it
              12  leader, leader epoch, slot: i32
              24  key u32
              28  in-sync, offline     how many, u8 each; 255: too many for the row, they are in the view
              30  flags u8             1: the replica here follows no leader; 2: nor takes any role
              32  ids i32              of in-sync replicas, then of offline ones

    writer:    the other copy  ->  sequence + 1
    reader:    sequence, the copy, the same sequence?      (at most SEQLOCK_TRIES_MAX times, then it yields, then None)

The journal is a ring of row numbers. Entry n lies at n modulo its length; how many count is said by the publication
(`changes`, cluster_view.py). A reader that has read up to n reads from there; one that is further behind than the
journal is long, or was overtaken while it read, reads all rows again:

    writer:    claimed = the last entry it will write  ->  rows  ->  entries  ->  publication
    reader:    publication  ->  entries  ->  claimed - n within the journal?

Source: Linux seqcount_latch_t; Agrona's BroadcastTransmitter (the intent before the tail).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from headrace.limits import SEQLOCK_TRIES_MAX, SEQLOCK_YIELDS_MAX
from headrace.shm.layout import (
    CLUSTER_ROW_BYTES,
    VIEW_CLAIMED,
    VIEW_JOURNAL,
    VIEW_ROWS,
    WORD,
    cluster_rows_start,
    journal_entries,
    view_halves_start,
)
from headrace.shm.region import Region, RegionError

ROW_IDS_MAX: Final = 6  # ids of replicas in a row: enough for RF 3 in any state
IN_VIEW: Final = 255  # in the place of their count

_FIELDS: Final = Struct(f"=QiiiiIBBBx{ROW_IDS_MAX}i")
_COPY_BYTES: Final = _FIELDS.size
_pack: Final = _FIELDS.pack
_unpack_from: Final = _FIELDS.unpack_from

assert _COPY_BYTES % WORD == 0
assert WORD + 2 * _COPY_BYTES <= CLUSTER_ROW_BYTES

Ids = tuple[int, ...]

_HALTED: Final = 1
_HELD: Final = 2


class ClusterRow(NamedTuple):
    """One row. isr and offline are None where the topic's entry in the view has them."""

    incarnation: int
    index: int  # type: ignore[assignment]  # shadows tuple.index
    leader: int  # node id, -1: none
    leader_epoch: int
    slot: int  # row of the partition table, -1: not hosted on this node
    key: int  # partition_key() while hosted
    isr: Ids | None
    offline: Ids | None
    is_halted: bool = False  # the replica here follows no leader
    is_held: bool = False  # nor takes any role

    @property
    def flags(self) -> int:
        return _HALTED * self.is_halted | _HELD * self.is_held


def fits_row(isr: Sequence[int], offline: Sequence[int]) -> bool:
    """Whether a row holds the ids."""
    return len(isr) + len(offline) <= ROW_IDS_MAX


def pack_row(row: ClusterRow) -> bytes:
    """A row's fields as they lie in a copy. raises struct.error, where one is out of its range"""
    fields = (row.incarnation, row.index, row.leader, row.leader_epoch, row.slot, row.key)
    if row.isr is None or row.offline is None:
        return _pack(*fields, IN_VIEW, IN_VIEW, row.flags, *(0,) * ROW_IDS_MAX)
    ids = (*row.isr, *row.offline)
    counts = (len(row.isr), len(row.offline))
    return _pack(*fields, *counts, row.flags, *ids, *(0,) * (ROW_IDS_MAX - len(ids)))


class ClusterTable:
    """The rows and the journal, for every process that mapped them.

    rows       number of rows
    entries    of the journal

    raises     RegionError, if the region is too small for them
    """

    __slots__ = ("_memory", "_start", "_words", "entries", "rows")

    def __init__(self, region: Region) -> None:
        self._memory = region.memory
        self._words = region.words
        self.rows = self._words[VIEW_ROWS]
        if not 0 < self.rows <= region.size_bytes // CLUSTER_ROW_BYTES or (
            view_halves_start(self.rows) >= region.size_bytes
        ):
            raise RegionError(f"region {region.name} of {region.size_bytes} bytes can't have {self.rows} rows")
        self.entries = journal_entries(self.rows)
        self._start = cluster_rows_start(self.rows)

    def read(self, row: int) -> ClusterRow | None:
        """A whole row; None if its writer never pauses, or its content is invalid."""
        words, memory = self._words, self._memory
        start = self._start + row * CLUSTER_ROW_BYTES
        base = start // WORD
        for tried in range(SEQLOCK_TRIES_MAX + SEQLOCK_YIELDS_MAX):
            if tried >= SEQLOCK_TRIES_MAX:
                os.sched_yield()
            sequence = words[base]
            fields = _unpack_from(memory, start + WORD + (sequence & 1) * _COPY_BYTES)
            if words[base] == sequence:
                return _row_of(fields)
        return None

    def write(self, row: int, fields: bytes) -> None:
        """Change a row; the controller process alone, between `claim` and `note`."""
        words = self._words
        start = self._start + row * CLUSTER_ROW_BYTES
        sequence = words[start // WORD] + 1
        place = start + WORD + (sequence & 1) * _COPY_BYTES
        self._memory[place : place + _COPY_BYTES] = fields
        words[start // WORD] = sequence

    def claim(self, changes: int, count: int) -> int:
        """Announce that `count` rows are about to change; the journal had `changes` entries so far.

        returns   how many entries it has then; if `count` exceeds its size they are not noted, and every reader reads all rows
        """
        claimed = changes + count if count <= self.entries else changes + self.entries + count
        self._words[VIEW_CLAIMED] = claimed
        return claimed

    def note(self, changes: int, rows: Sequence[int]) -> None:
        """Write the claimed entries."""
        if len(rows) > self.entries:
            return
        words, mask = self._words, self.entries - 1
        for place, row in enumerate(rows, changes):
            words[VIEW_JOURNAL + (place & mask)] = row

    def claimed(self) -> int:
        """The last entry announced; more than the last publication's if a writer died before publishing."""
        return self._words[VIEW_CLAIMED]

    def changed(self, since: int, until: int) -> list[int] | None:
        """The rows of the journal's entries from `since` to before `until`; None: any row may have changed."""
        if not 0 <= until - since <= self.entries:
            return None
        words, mask = self._words, self.entries - 1
        rows = [words[VIEW_JOURNAL + (place & mask)] for place in range(since, until)]
        if words[VIEW_CLAIMED] - since > self.entries or any(row >= self.rows for row in rows):
            return None
        return rows


def _row_of(fields: tuple[int, ...]) -> ClusterRow | None:
    incarnation, index, leader, leader_epoch, slot, key, in_sync, offline, flags, *ids = fields
    lists: tuple[Ids | None, Ids | None] = (None, None)
    if in_sync != IN_VIEW:
        if in_sync + offline > ROW_IDS_MAX:
            return None
        lists = (tuple(ids[:in_sync]), tuple(ids[in_sync : in_sync + offline]))
    return ClusterRow(
        incarnation, index, leader, leader_epoch, slot, key, *lists, bool(flags & _HALTED), bool(flags & _HELD)
    )

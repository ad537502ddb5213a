"""What is readable of each partition: one seqlock row a replica, written by its owner alone.

    writer:   sequence odd  ->  fields  ->  sequence even          (stores stay in order on x86-64)
    reader:   sequence even?  ->  fields  ->  the same sequence?   (SEQLOCK_TRIES_MAX times at most, then None)

A writer killed between the two leaves the row odd: readers get None, until the owner's successor, which may
read what is left there (`recover_row`), publishes it again.

After the rows lie the wait bytes: byte n of a slot is set by network worker n while fetches are parked on the
partition: WAITS_FOR_MARK those of clients, WAITS_FOR_END those of followers, which hear of the mark as well.

Source: Linux seqlocks; Boehm, "Can seqlocks get along with programming language memory models?"
"""

from __future__ import annotations

import os
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from headrace.ids import PartitionKey
from headrace.limits import PARTITION_ROW_WORDS, SEQLOCK_TRIES_MAX, SEQLOCK_YIELDS_MAX
from headrace.memory import copy_in, load_word, store_word
from headrace.shm.layout import PARTITION_ROW_BYTES, PARTITION_ROWS, WAIT_ROW_BYTES, WORD
from headrace.shm.region import Region


class RowState(IntEnum):
    """What the owner says of its replica."""

    FREE = 0
    LOADING = 1
    LEADER = 2
    FOLLOWER = 3
    OFFLINE = 4
    DELETED = 5


NO_LOG_DIR: Final = -1  # no log was opened


class PartitionRow(NamedTuple):
    """One row. Offsets are log offsets; `*_segment` is a segment's base offset, `*_position` a byte in its .log file."""

    state: int
    key: PartitionKey  # partition_key() of the replica: a slot may be used again
    generation: int  # of the owner that published it
    leader_epoch: int
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int
    log_end_offset: int
    hw_segment: int
    hw_position: int
    lso_segment: int
    lso_position: int
    end_segment: int
    end_position: int
    recovery_point: int
    segments_version: int  # moves when the list of segments does, or one gets a transaction index
    size_bytes: int
    records_appended: int  # since the owner started
    bytes_appended: int
    told_end: int = (
        0  # clients may have been told an end up to here: while the mark is below, it is not known to a leader
    )
    log_dir: int = NO_LOG_DIR  # the place in log.dirs of the directory that this log is in


IN_SERVICE: Final = (RowState.LEADER, RowState.FOLLOWER)
WAITS_FOR_MARK: Final = 1
WAITS_FOR_END: Final = 2

_FIELDS: Final = Struct("=21q")
_FIELD_WORDS: Final = len(PartitionRow._fields)
_ROW_END: Final = WORD + _FIELDS.size
_unpack_from: Final = _FIELDS.unpack_from
_NO_WAITS: Final = bytes(WAIT_ROW_BYTES)


def has_published(row: PartitionRow) -> bool:
    """Whether its offsets are what an owner of this boot had published: a log that ends before that has lost something.

    So it is while the row serves, and where the log was opened short since (`Replica.withdraw`). The row of a log that was not opened in
    this boot says LOADING as well, but has no generation.
    """
    return row.state in IN_SERVICE or (row.state == RowState.LOADING and row.generation > 0)


def pack_row(
    memory: memoryview,
    position: int,
    state: int,
    key: int,
    generation: int,
    leader_epoch: int,
    log_start_offset: int,
    high_watermark: int,
    last_stable_offset: int,
    log_end_offset: int,
    hw_segment: int,
    hw_position: int,
    lso_segment: int,
    lso_position: int,
    end_segment: int,
    end_position: int,
    recovery_point: int,
    segments_version: int,
    size_bytes: int,
    records_appended: int,
    bytes_appended: int,
    told_end: int,
    log_dir: int,
) -> None:
    """The fields of a row. raises struct.error, where one is no int64"""
    _FIELDS.pack_into(
        memory,
        position,
        state,
        key,
        generation,
        leader_epoch,
        log_start_offset,
        high_watermark,
        last_stable_offset,
        log_end_offset,
        hw_segment,
        hw_position,
        lso_segment,
        lso_position,
        end_segment,
        end_position,
        recovery_point,
        segments_version,
        size_bytes,
        records_appended,
        bytes_appended,
        told_end,
        log_dir,
    )


assert len(PartitionRow._fields) == 21
assert 1 + _FIELD_WORDS <= PARTITION_ROW_WORDS


class PartitionTable:
    """The rows and wait bytes, for any process that mapped them."""

    __slots__ = ("_fields", "_memory", "_region", "_wait_start", "_words", "rows")

    def __init__(self, region: Region, rows: int) -> None:
        self._region = region
        self._memory = region.memory
        self._words = region.words
        self._fields = memoryview(bytearray(_FIELDS.size))  # of the row that is published next
        self._wait_start = PARTITION_ROWS + rows * PARTITION_ROW_BYTES
        self.rows = rows

    def publish(self, slot: int, row: PartitionRow) -> None:
        """Write a row; only the owner of the slot may."""
        self.write(slot, *row)

    def write(
        self,
        slot: int,
        state: int,
        key: int,
        generation: int,
        leader_epoch: int,
        log_start_offset: int,
        high_watermark: int,
        last_stable_offset: int,
        log_end_offset: int,
        hw_segment: int,
        hw_position: int,
        lso_segment: int,
        lso_position: int,
        end_segment: int,
        end_position: int,
        recovery_point: int,
        segments_version: int,
        size_bytes: int,
        records_appended: int,
        bytes_appended: int,
        told_end: int,
        log_dir: int,
    ) -> None:
        """`publish`, of the fields of a row.

        They are packed before the row opens, so that a wrong one leaves it as it was. The copy needs no
        order within it: a reader that saw the sequence move throws away what it read. Its stores are of 8 aligned
        bytes or more (memmove), so no single field tears.
        """
        fields = self._fields
        pack_row(
            fields,
            0,
            state,
            key,
            generation,
            leader_epoch,
            log_start_offset,
            high_watermark,
            last_stable_offset,
            log_end_offset,
            hw_segment,
            hw_position,
            lso_segment,
            lso_position,
            end_segment,
            end_position,
            recovery_point,
            segments_version,
            size_bytes,
            records_appended,
            bytes_appended,
            told_end,
            log_dir,
        )
        words = self._words
        start = PARTITION_ROWS + slot * PARTITION_ROW_BYTES
        base = start // WORD
        sequence = load_word(words, base) | 1
        store_word(words, base, sequence)
        copy_in(self._memory, start + WORD, fields)
        store_word(words, base, sequence + 1)

    def read(self, slot: int) -> PartitionRow | None:
        """A consistent row; None where the writer died in the middle, or was stopped there for long.

        A writer that only lost its processor there gets it back: after SEQLOCK_TRIES_MAX tries the reader yields.
        """
        words = self._words
        memory = self._memory
        start = PARTITION_ROWS + slot * PARTITION_ROW_BYTES
        base = start // WORD
        for tried in range(SEQLOCK_TRIES_MAX + SEQLOCK_YIELDS_MAX):
            if tried >= SEQLOCK_TRIES_MAX:
                os.sched_yield()
            sequence = load_word(words, base)
            if sequence & 1:
                continue
            fields = _unpack_from(memory, start + WORD)
            if load_word(words, base) == sequence:
                return PartitionRow._make(fields)
        return None

    def recover_row(self, slot: int) -> tuple[PartitionRow, bool]:
        """The row as it is: for its owner, right after its predecessor's death, and for who wants a field of a row that is torn.

        returns   the row, and whether it is torn: then each field by itself is of the last publication or of the
                  one in progress, and its fields may belong to different versions
        """
        start = PARTITION_ROWS + slot * PARTITION_ROW_BYTES
        is_torn = bool(load_word(self._words, start // WORD) & 1)
        return PartitionRow._make(_unpack_from(self._memory, start + WORD)), is_torn

    def set_wait(self, slot: int, network_worker: int, is_waiting: bool, what: int = WAITS_FOR_MARK) -> None:
        """Network worker n: ask to be told (or no longer) when the slot's high watermark moves, or its end. Fence after it."""
        position = self._wait_start + slot * WAIT_ROW_BYTES + network_worker
        waits = self._memory[position] & ~what
        self._memory[position] = waits | what if is_waiting else waits

    def waiting_for_end(self, slot: int) -> list[int]:
        """Network workers with followers that wait for the log's end. Fence before it."""
        start = self._wait_start + slot * WAIT_ROW_BYTES
        flags = self._memory[start : start + WAIT_ROW_BYTES].tobytes()
        if flags == _NO_WAITS:
            return []
        return [worker for worker, flag in enumerate(flags) if flag & WAITS_FOR_END]

    def waiting(self, slot: int) -> list[int]:
        """Network workers that asked for either. Fence before it."""
        start = self._wait_start + slot * WAIT_ROW_BYTES
        flags = self._memory[start : start + WAIT_ROW_BYTES].tobytes()
        if flags == _NO_WAITS:
            return []
        return [worker for worker, flag in enumerate(flags) if flag]

    def clear_waits(self, network_worker: int) -> None:
        """Clear the wait bytes of a starting network worker: it has nothing parked, even if its predecessor had."""
        start = self._wait_start + network_worker
        self._memory[start : start + self.rows * WAIT_ROW_BYTES : WAIT_ROW_BYTES] = bytes(self.rows)

    def close(self) -> None:
        self._region.close()

"""The first record of a time among the records of a batch, found by their heads, in pieces.

    record   length | attributes i8 | timestamp delta | offset delta | what is skipped

A record is skipped by its length, so its key, value and headers need not be there: a piece of a batch is enough, and the next one
is resumed where the last one stopped, which may lie after its beginning. What is read of a record are 31 bytes at most.

It takes 0.4 us a record, or 5 ns where the record kernel was built (`record_kernel.py`).

Runs in: network workers. Source: Kafka `DefaultRecord.readPartiallyFrom`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.protocol import record_kernel
from headrace.protocol.record_batch import RECORD_BYTES_MIN, CorruptRecord
from headrace.protocol.varint import read_varlong

HEAD_BYTES: Final = 31  # attributes and three varints
LENGTH_MOST: Final = 2**31 - 1  # an int32

_find: Final = record_kernel.find_record


class RecordPlace(NamedTuple):
    """Where a search stopped.

    position       of the next record; after the end of what is there, where a record reaches over it
    left           records from there on
    offset_delta   of the record that was found, which lies before; -1: none
    time_delta     of that record
    """

    position: int
    left: int
    offset_delta: int
    time_delta: int


def find_record(
    data: bytes, position: int, left: int, least_time: int, least_offset: int, last_offset: int, is_end: bool
) -> RecordPlace:
    """The first record at or after `least_time` and `least_offset`, both as deltas of 64 bits.

    last_offset   the largest offset delta that a record may have
    is_end        nothing follows the data; else a record whose head may not be whole is left for the next piece
    raises        CorruptRecord
    """
    if _find is not None:
        found = _find(data, position, left, least_time, least_offset, last_offset, is_end)
        if found is not None:
            return RecordPlace._make(found)
    return walk_heads(data, position, left, least_time, least_offset, last_offset, is_end)


def walk_heads(
    data: bytes, position: int, left: int, least_time: int, least_offset: int, last_offset: int, is_end: bool
) -> RecordPlace:
    """The same, in Python."""
    total = len(data)
    stop = total if is_end else total - HEAD_BYTES + 1
    start = position
    try:
        while left > 0 and position < stop:
            start = position
            length, position = read_varlong(data, position)
            end = position + length
            if not RECORD_BYTES_MIN - 1 <= length <= LENGTH_MOST or (is_end and end > total):
                raise CorruptRecord(f"record of {length} bytes at {start}, {total} in all")
            time, position = read_varlong(data, position + 1)
            offset, position = read_varlong(data, position)
            if position > end or not 0 <= offset <= last_offset:
                raise CorruptRecord(f"record at {start} has offset delta {offset}")
            position = end
            left -= 1
            if time >= least_time and offset >= least_offset:
                return RecordPlace(position, left, offset, time)
    except (IndexError, ValueError) as failure:
        raise CorruptRecord(f"record at byte {start}: {failure}") from None
    return RecordPlace(position, left, -1, 0)

"""Where a walk over batches puts what it finds, and what it says when it stops: what the kernel and the Python walker agree on.

    fields    of a record, int64 columns, those that are wanted
    place     of keys, and of values: Arrow's views, or copies one after the other with their ends; a bitmap of nulls
    listed    compressed batches, a row of numbers each, for the caller to decompress

The numbers are those of `protocol/kernel/target.h` and `batches.c`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

WALK_END = 0  # all bytes walked
WALK_FULL = 1  # the columns hold no more rows
WALK_LISTED = 2  # the batches that are listed come first, or no more can be listed
WALK_DONE = 3  # the end offset was reached
WALK_PAUSED = 4  # the pause position was reached
WALK_OLD = 5  # an entry of message format v0 or v1 begins at the position
WALK_ROOM = 6  # the copies of the batch at the position may not fit
WALK_BAD = -1  # bytes that contradict themselves at the position
WALK_CHECKSUM = -2  # the batch at the position is not what its checksum says

OFFSET, TIMESTAMP, TYPE, KEY_LENGTH, VALUE_LENGTH, HEADERS_START, HEADERS_LENGTH = range(7)
FIELDS = 7
KEY_NULLS, VALUE_NULLS, BYTES, BODY_MAX = range(4)
SUMS = 4
(
    LISTED_POSITION, LISTED_SIZE, LISTED_ATTRIBUTES, LISTED_COUNT, LISTED_BASE_OFFSET, LISTED_BASE_MS, LISTED_APPEND_MS,
) = range(7)  # fmt: skip
LISTED_FIELDS = 7
VIEW_BYTES = 16
VIEW_INLINE_MAX = 12


class Target(NamedTuple):
    """Arrays of a chunk; row i is at index i of each.

    capacity         rows that fit
    columns          int64 (wanted fields, capacity)
    slots            int64, by field its row in `columns`, -1 if it is not wanted; OFFSET always is
    key              None, if keys are not wanted; int32 (capacity, 4), Arrow's views; or uint8, room for copies
    key_ends         int32 (capacity + 1), Arrow's offsets of copies, the first one 0; None for views
    key_validity     Arrow's bitmap, preset to ones
    value            the same of values
    value_ends       the same
    value_validity   the same
    sums             int64: nulls among keys and among values, bytes in both, bytes of the largest batch's records; added to
    """

    capacity: int
    columns: Any
    slots: Any
    key: Any
    key_ends: Any
    key_validity: Any
    value: Any
    value_ends: Any
    value_validity: Any
    sums: Any

"""The walk over batches in Python, for where the record kernel was not built: the same arguments, results and verdicts.

Runs in: Spark's Python workers, and every process that reads by `headrace.arrow`, without a compiler at its installation. What a record
costs is in docs/measurements/spark.md. `tests/arrow/walk_cases.py` holds the kernel against it, over bytes that are right and bytes that
are not.

What each function does is said in `protocol/kernel/batches.c` and `gather.c`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.arrow.target import (
    BODY_MAX,
    BYTES,
    HEADERS_LENGTH,
    HEADERS_START,
    KEY_LENGTH,
    KEY_NULLS,
    LISTED_APPEND_MS,
    LISTED_BASE_MS,
    LISTED_BASE_OFFSET,
    LISTED_COUNT,
    OFFSET,
    TIMESTAMP,
    TYPE,
    VALUE_LENGTH,
    VALUE_NULLS,
    VIEW_INLINE_MAX,
    WALK_BAD,
    WALK_CHECKSUM,
    WALK_DONE,
    WALK_END,
    WALK_FULL,
    WALK_LISTED,
    WALK_OLD,
    WALK_PAUSED,
    WALK_ROOM,
    Target,
)
from headrace.protocol.record_batch import (
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    MAGIC_V2,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    compute_crc,
    entry_bytes,
    parse_header,
    unpack_base_offset,
    unpack_last_delta,
)
from headrace.protocol.varint import ZIGZAGS, read_varlong

ENTRY_BYTES_MIN: Final = 17  # of a batch or an old entry whose length and format can be determined
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Batch(NamedTuple):
    """append_ms   the batch's time under LogAppendTime, else -1"""

    records: int
    base_offset: int
    base_ms: int
    append_ms: int


class Fields(NamedTuple):
    """Of the records of a batch. Starts are positions; lengths of null are -1."""

    offset_deltas: list[int]
    time_deltas: list[int]
    key_starts: list[int]
    key_lengths: list[int]
    value_starts: list[int]
    value_lengths: list[int]
    header_starts: list[int]
    ends: list[int]


def walk_batches(
    data: Any,
    position: int,
    end: int,
    pause: int,
    low: int,
    high: int,
    row: int,
    buffer: int,
    is_checked: bool,
    aborted: Any,
    target: Target,
    listed: Any,
) -> tuple[int, int, int, int]:
    """(position, row, WALK_*, how many are listed)"""
    view = memoryview(data)
    count = 0
    while end - position >= HEADER_BYTES:
        if position >= pause:
            return position, row, WALK_PAUSED, count
        if count == len(listed):
            return position, row, WALK_LISTED, count
        header = parse_header(view, position)
        base_offset, magic, size, attributes = header.base_offset, header.magic, header.size_bytes, header.attributes
        records = header.record_count % 2**32  # a negative count is too large
        if 0 <= magic < MAGIC_V2:
            return position, row, WALK_OLD, count
        if base_offset >= high:
            return position, row, WALK_DONE, count
        if magic != MAGIC_V2 or size < HEADER_BYTES or size > end - position:
            return position, row, WALK_BAD, count
        if is_checked and compute_crc(view[position : position + size]) != header.crc:
            return position, row, WALK_CHECKSUM, count
        last_offset = _wrapped(base_offset + unpack_last_delta(view, position))
        is_left_out = bool(attributes & CONTROL_BIT) or last_offset < low
        if attributes & TRANSACTIONAL_BIT and not is_left_out and aborted.shape[1]:
            is_left_out = is_aborted(aborted, header.producer_id, base_offset)
        append_ms = header.max_timestamp if attributes & LOG_APPEND_TIME_BIT else -1
        batch = Batch(records, base_offset, header.base_timestamp, append_ms)
        if not is_left_out and attributes & CODEC_MASK:
            listed[count] = (position, size, attributes % 2**16, records, base_offset, batch.base_ms, append_ms)
            count += 1
        elif not is_left_out:
            outcome = WALK_LISTED if count else _fits(target, batch, size - HEADER_BYTES, row)
            if outcome != WALK_END:
                return position, row, outcome, count
            found = put_records(view, position + HEADER_BYTES, position + size, batch, low, high, row, buffer, target)
            if found < 0:
                return position, row, WALK_BAD, count
            row = found
        position += size
        if last_offset >= high - 1:
            return position, row, WALK_DONE, count
    return position, row, WALK_END, count


def walk_listed(
    sources: Sequence[Any], first: int, listed: Any, low: int, high: int, row: int, buffer: int, target: Target
) -> tuple[int, int, int]:
    """(how many were walked, row, WALK_*)"""
    for number, source in enumerate(sources):
        view = memoryview(source)
        fields = listed[first + number].tolist()
        batch = Batch(
            *(fields[field] for field in (LISTED_COUNT, LISTED_BASE_OFFSET, LISTED_BASE_MS, LISTED_APPEND_MS))
        )
        outcome = _fits(target, batch, len(view), row)
        if outcome != WALK_END:
            return number, row, outcome
        found = put_records(view, 0, len(view), batch, low, high, row, buffer + number, target)
        if found < 0:
            return number, row, WALK_BAD
        row = found
    return len(sources), row, WALK_END


def _fits(target: Target, batch: Batch, body_bytes: int, row: int) -> int:
    """WALK_END, where the records of a batch may be put into the target from `row` on."""
    if not 0 <= batch.records <= body_bytes // RECORD_BYTES_MIN:
        return WALK_BAD
    if batch.records > target.capacity - row:
        return WALK_FULL
    for out, ends in ((target.key, target.key_ends), (target.value, target.value_ends)):
        if ends is not None and body_bytes > len(out) - int(ends[row]):
            return WALK_ROOM
    return WALK_END


def put_records(
    view: memoryview, at: int, end: int, batch: Batch, low: int, high: int, row: int, buffer: int, target: Target
) -> int:
    """The records of a batch, view[at:end], from `row` on; the row after the last one, or -1 where they contradict themselves."""
    try:
        found = _fields_of(bytes(view[at:end]), at, batch.records)
    except (IndexError, ValueError):  # a varint that has no end, or more than 64 bits
        return -1
    if found is None:
        return -1
    offsets = np.array(found.offset_deltas, np.int64) + np.int64(batch.base_offset)
    kept = np.flatnonzero((offsets >= low) & (offsets < high))
    after = row + len(kept)
    header_starts = np.array(found.header_starts, np.int64)
    fields = {
        OFFSET: offsets,
        TIMESTAMP: _times(found.time_deltas, batch),
        TYPE: np.full(len(offsets), batch.append_ms >= 0, np.int64),
        KEY_LENGTH: np.array(found.key_lengths, np.int64),
        VALUE_LENGTH: np.array(found.value_lengths, np.int64),
        HEADERS_START: header_starts,
        HEADERS_LENGTH: np.array(found.ends, np.int64) - header_starts,
    }
    for field, values in fields.items():
        slot = int(target.slots[field])
        if slot >= 0:
            target.columns[slot, row:after] = values[kept]
    sums = target.sums
    sums[BODY_MAX] = max(int(sums[BODY_MAX]), end - at)
    for nulls, starts, lengths, out, ends, validity in (
        (KEY_NULLS, found.key_starts, fields[KEY_LENGTH], target.key, target.key_ends, target.key_validity),
        (VALUE_NULLS, found.value_starts, fields[VALUE_LENGTH], target.value, target.value_ends, target.value_validity),
    ):
        if out is not None:
            begin, sizes = np.array(starts, np.int64)[kept], lengths[kept]
            sums[nulls] += mark_nulls(validity, row + np.flatnonzero(sizes < 0))
            sizes = np.maximum(sizes, 0)
            sums[BYTES] += sizes.sum()
            if ends is None:
                _put_views(view, begin, sizes, out[row:after], buffer)
            else:
                _put_copies(view, begin, sizes, out, ends, row)
    return after


def _fields_of(body: bytes, origin: int, count: int) -> Fields | None:
    """None, where records contradict their lengths. raises IndexError, ValueError, for varints that do

    body     the records of a batch, and no more; varints of one byte are read in place
    origin   where it begins in its source
    """
    found = Fields([], [], [], [], [], [], [], [])
    offsets, times, key_starts, key_lengths, value_starts, value_lengths, header_starts, ends = (
        one.append for one in found
    )
    at, end = 0, len(body)
    for _ in range(count):
        byte = body[at]
        length, at = (ZIGZAGS[byte], at + 1) if byte < 128 else read_varlong(body, at)
        stop = at + length
        if length < RECORD_BYTES_MIN - 1 or stop > end:
            return None
        byte = body[at + 1]
        time_delta, at = (ZIGZAGS[byte], at + 2) if byte < 128 else read_varlong(body, at + 1)
        byte = body[at]
        offset_delta, at = (ZIGZAGS[byte], at + 1) if byte < 128 else read_varlong(body, at)
        byte = body[at]
        key_length, key_start = (ZIGZAGS[byte], at + 1) if byte < 128 else read_varlong(body, at)
        at = key_start + key_length if key_length > 0 else key_start
        if at >= stop:
            return None
        byte = body[at]
        value_length, value_start = (ZIGZAGS[byte], at + 1) if byte < 128 else read_varlong(body, at)
        at = value_start + value_length if value_length > 0 else value_start
        if at >= stop:
            return None
        times(time_delta)
        offsets(offset_delta)
        key_starts(origin + key_start)
        key_lengths(key_length if key_length > 0 else max(key_length, -1))
        value_starts(origin + value_start)
        value_lengths(value_length if value_length > 0 else max(value_length, -1))
        header_starts(origin + at)
        ends(origin + stop)
        at = stop
    return found


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """raises IndexError, ValueError"""
    byte = view[at]
    return (ZIGZAGS[byte], at + 1) if byte < 128 else read_varlong(view, at)


def _times(deltas: list[int], batch: Batch) -> Any:
    """Beyond 64 bits a timestamp is the last that fits."""
    if batch.append_ms >= 0:
        return np.full(len(deltas), batch.append_ms, np.int64)
    times = [batch.base_ms + delta for delta in deltas]
    if times and (min(times) < INT64_MIN or max(times) > INT64_MAX):
        times = [min(max(time, INT64_MIN), INT64_MAX) for time in times]
    return np.array(times, np.int64)


def _put_copies(view: memoryview, starts: Any, sizes: Any, out: Any, ends: Any, row: int) -> None:
    used = int(ends[row])
    ends[row + 1 : row + 1 + len(sizes)] = used + np.cumsum(sizes)
    joined = b"".join([view[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)])
    out[used : used + len(joined)] = np.frombuffer(joined, np.uint8)


def _put_views(view: memoryview, starts: Any, sizes: Any, out: Any, buffer: int) -> None:
    """length i32 | 12 bytes, where it is that short, or length i32 | first 4 bytes | buffer i32 | offset i32"""
    shown = [
        bytes(view[start : start + (4 if size > VIEW_INLINE_MAX else size)]).ljust(VIEW_INLINE_MAX, b"\0")
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    ]
    out[:, 0] = sizes
    out[:, 1:] = np.frombuffer(b"".join(shown), np.int32).reshape(-1, 3)
    is_long = sizes > VIEW_INLINE_MAX
    out[is_long, 2] = buffer
    out[is_long, 3] = starts[is_long]


def mark_nulls(validity: Any, rows: Any) -> int:
    """Clear the bits of these rows; how many they are."""
    np.bitwise_and.at(validity, rows >> 3, (~(1 << (rows & 7)) & 255).astype(np.uint8))
    return len(rows)


def is_aborted(aborted: Any, producer_id: int, offset: int) -> bool:
    """Whether a transactional batch of a producer that begins at `offset` belongs to one of the aborted transactions."""
    low, high = 0, aborted.shape[1]
    while low < high:  # the first entry after (producer id, offset)
        middle = (low + high) // 2
        if (int(aborted[0, middle]), int(aborted[1, middle])) <= (producer_id, offset):
            low = middle + 1
        else:
            high = middle
    return low > 0 and bool(aborted[0, low - 1] == producer_id and offset <= aborted[2, low - 1])


def whole_end(data: Any, position: int, end: int, high: int) -> int:
    """Where the last whole batch or old entry before `end` ends."""
    view = memoryview(data)
    while end - position >= ENTRY_BYTES_MIN:
        offset = last_offset = unpack_base_offset(view, position)
        size = entry_bytes(view, position)
        if size < ENTRY_BYTES_MIN or size > end - position:
            break
        if view[position + MAGIC_POSITION] >= MAGIC_V2:
            if size < HEADER_BYTES or offset >= high:
                break
            last_offset = _wrapped(offset + unpack_last_delta(view, position))
        position += size
        if last_offset >= high - 1:
            break
    return position


def gather(data: Any, starts: Any, lengths: Any, out: Any, ends: Any, validity: Any, first: int, last: int) -> int:
    """Nulls, or -1 where `out` is too small or a value lies outside of `data`."""
    begin, sizes = starts[first:last], np.maximum(lengths[first:last], 0)
    is_there = lengths[first:last] >= 0
    view, used = memoryview(data), int(ends[first])
    is_outside = (begin < 0) | (begin > len(view) - sizes)
    if used < 0 or int(sizes.sum()) > len(out) - used or np.any(is_outside & is_there):
        return -1
    _put_copies(view, np.where(is_there, begin, 0), sizes, out, ends, first)
    return mark_nulls(validity, first + np.flatnonzero(~is_there))


def count_headers(data: Any, starts: Any, lengths: Any, first: int, last: int) -> tuple[int, int, int] | int:
    """(headers, bytes of their keys, of their values), or -1 - row of the row whose headers contradict its length."""
    view = memoryview(data)
    headers = key_bytes = value_bytes = 0
    for row in range(first, last):
        found = _headers_of(view, int(starts[row]), int(lengths[row]))
        if found is None:
            return -1 - row
        headers += len(found)
        key_bytes += sum(key[1] for key, _value in found)
        value_bytes += sum(max(value[1], 0) for _key, value in found)
    return headers, key_bytes, value_bytes


def fill_headers(
    data: Any,
    starts: Any,
    lengths: Any,
    list_ends: Any,
    list_validity: Any,
    keys: Any,
    key_ends: Any,
    values: Any,
    value_ends: Any,
    value_validity: Any,
    first: int,
    last: int,
) -> int:
    """Nulls among the values, or -1 where they are not what was counted."""
    view = memoryview(data)
    place = begun = int(list_ends[first])
    entries = []
    for row in range(first, last):
        found = _headers_of(view, int(starts[row]), int(lengths[row]))
        if found is None:
            return -1
        if not found:
            mark_nulls(list_validity, np.array([row]))
        entries += found
        place += len(found)
        list_ends[row + 1] = place
    if place > min(len(key_ends), len(value_ends)) - 1:
        return -1
    table = np.array(entries, np.int64).reshape(-1, 4)
    one = np.zeros((4, place), np.int64)  # rows that were there before are not read
    one[:, begun:] = table.T
    every = np.full(len(key_ends) // 8 + 1, 255, np.uint8)
    if gather(data, one[0], one[1], keys, key_ends, every, begun, place) < 0:
        return -1
    return gather(data, one[2], one[3], values, value_ends, value_validity, begun, place)


def _headers_of(view: memoryview, start: int, length: int) -> list[tuple[tuple[int, int], tuple[int, int]]] | None:
    """((start, length) of the key, of the value) of each header, -1 for null; None, where they contradict their length."""
    if start < 0 or length < 0 or start > len(view) - length:
        return None
    end = start + length
    cut, at, found = view[:end], start, []
    try:
        count, at = _varint(cut, at)
        if not 0 <= count <= length:
            return None
        for _ in range(count):
            key_length, key_start = _varint(cut, at)
            if not 0 <= key_length <= end - key_start:
                return None
            value_length, value_start = _varint(cut, key_start + key_length)
            if value_length > end - value_start:
                return None
            at = value_start + max(value_length, 0)
            found.append(((key_start, key_length), (value_start, max(value_length, -1))))
    except (IndexError, ValueError):
        return None
    return found if at == end else None


def _wrapped(offset: int) -> int:
    """As 64 bits hold it."""
    return (offset + 2**63) % 2**64 - 2**63

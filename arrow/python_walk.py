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
    CorruptRecord,
    RecordSpans,
    compute_crc,
    entry_bytes,
    parse_header,
    unpack_base_offset,
    unpack_last_delta,
    walk_headers,
    walk_spans,
)

ENTRY_BYTES_MIN: Final = 17  # of a batch or an old entry whose length and format can be told
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Batch(NamedTuple):
    """append_ms   the batch's time under LogAppendTime, else -1"""

    records: int
    base_offset: int
    base_ms: int
    append_ms: int


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
            listed[count] = (position, size, attributes, records, base_offset, batch.base_ms, append_ms)
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
        walked = list(walk_spans(bytes(view[at:end]), 0, batch.records))
    except (CorruptRecord, IndexError, ValueError):
        return -1
    spans: Any = RecordSpans(*np.array(walked, np.int64).reshape(-1, len(RecordSpans._fields)).T)
    if np.any(spans.headers >= spans.end):  # without a count of headers
        return -1
    offsets = spans.offset_delta + np.int64(batch.base_offset)
    kept = np.flatnonzero((offsets >= low) & (offsets < high))
    after = row + len(kept)
    fields = {
        OFFSET: offsets,
        TIMESTAMP: _times([one.time_delta for one in walked], batch),
        TYPE: np.full(len(offsets), batch.append_ms >= 0, np.int64),
        KEY_LENGTH: np.maximum(spans.key_length, -1),
        VALUE_LENGTH: np.maximum(spans.value_length, -1),
        HEADERS_START: spans.headers + at,
        HEADERS_LENGTH: spans.end - spans.headers,
    }
    for field, values in fields.items():
        slot = int(target.slots[field])
        if slot >= 0:
            target.columns[slot, row:after] = values[kept]
    sums = target.sums
    sums[BODY_MAX] = max(int(sums[BODY_MAX]), end - at)
    for nulls, starts, lengths, out, ends, validity in (
        (KEY_NULLS, spans.key_start + at, fields[KEY_LENGTH], target.key, target.key_ends, target.key_validity),
        (
            VALUE_NULLS,
            spans.value_start + at,
            fields[VALUE_LENGTH],
            target.value,
            target.value_ends,
            target.value_validity,
        ),
    ):
        if out is not None:
            begin, sizes = starts[kept], lengths[kept]
            sums[nulls] += mark_nulls(validity, row + np.flatnonzero(sizes < 0))
            sizes = np.maximum(sizes, 0)
            sums[BYTES] += sizes.sum()
            if ends is None:
                _put_views(view, begin, sizes, out[row:after], buffer)
            else:
                _put_copies(view, begin, sizes, out, ends, row)
    return after


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
    try:
        found = walk_headers(bytes(view[start : start + length]), 0, length)
    except (CorruptRecord, IndexError, ValueError):
        return None
    return [((start + key, key_bytes), (start + value, max(size, -1))) for key, key_bytes, value, size in found]


def _wrapped(offset: int) -> int:
    """As 64 bits hold it."""
    return (offset + 2**63) % 2**64 - 2**63

"""Record batches to columns, compiled: what makes reading the page cache worthwhile.

Runs in: Spark's Python workers. The kernels (Numba, cached on disk):

    walk      batch headers and record varints of uncompressed batches -> wanted fields, views, or starts and lengths
    gather    keys or values from where they lie -> one contiguous Arrow buffer
    whole     where the last whole batch of a window of a file ends

A compressed batch is decompressed by `protocol.compression` and walked alone. Bytes are not trusted: a batch is
checked against its checksum before it is trusted, every varint and length with the end of its batch; a
mismatch is an error code, never a read outside.

Only the wanted fields of a record are written, views of keys and values at once; copies are gathered afterwards, half a MiB at a time.
What it costs: decision 049.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.arrow.checksum import crc32c
from headrace.arrow.compiled import compiled
from headrace.arrow.memory import copy_bytes, load_byte, load_word, store_word
from headrace.protocol.record_batch import RECORD_BYTES_MIN

WALK_END = 0  # all bytes walked
WALK_FULL = 1  # the columns hold no more
WALK_COMPRESSED = 2  # a compressed batch begins at the position
WALK_DONE = 3  # the end offset was reached
WALK_PAUSED = 4  # the pause position was reached
WALK_OLD = 5  # an entry of message format v0 or v1 begins at the position
WALK_BAD = -1  # bytes that contradict themselves at the position
WALK_CHECKSUM = -2  # the batch at the position is not what its checksum says

HEADER_BYTES = 61
ENTRY_BYTES_MIN = 17  # of a batch or an old entry whose length and format can be told


OFFSET, TIMESTAMP, TYPE, KEY_START, KEY_LENGTH, VALUE_START, VALUE_LENGTH, HEADERS_START, HEADERS_LENGTH = range(9)
FIELDS = 9
KEY_NULLS, VALUE_NULLS, VIEWED_BYTES = range(3)


class Target(NamedTuple):
    """Where the walk puts what it finds in a record; row i of a chunk is at index i of each.

    columns          int64 (wanted fields, capacity)
    slots            int64, by field its row in `columns`, -1 if it is not wanted; OFFSET always is
    key_views        int32 (capacity, 4), Arrow's views; (0, 4) if they are not wanted
    value_views      the same
    key_validity     Arrow's bitmap, preset to ones
    value_validity   the same
    sums             int64: nulls among key views and among value views, bytes in both
    """

    columns: Any
    slots: Any
    key_views: Any
    value_views: Any
    key_validity: Any
    value_validity: Any
    sums: Any


@compiled(inline="always")
def _be(data: Any, position: int, size: int) -> Any:
    """A big-endian unsigned integer."""
    value = np.int64(0)
    for index in range(size):
        value = (value << 8) | np.int64(data[position + index])
    return value


@compiled()
def varint(source: int, position: int, end: int) -> Any:
    """(value, position after it) of the bytes from address `source`; the position is -1 where they end or it is overlong."""
    if position >= end:
        return np.int64(0), np.int64(-1)
    byte: Any = load_byte(source + position)  # type: ignore[call-arg]
    if byte < 128:
        return np.int64(byte >> np.uint64(1)) ^ -np.int64(byte & np.uint64(1)), np.int64(position + 1)
    value = byte & np.uint64(127)
    shift = np.uint64(7)
    for index in range(1, 10):
        if position + index >= end:
            break
        byte = load_byte(source + position + index)
        value |= (byte & np.uint64(127)) << shift
        if byte < 128:
            decoded = np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))
            return decoded, np.int64(position + index + 1)
        shift += np.uint64(7)
    return np.int64(0), np.int64(-1)


@compiled()
def _view(source: int, start: int, length: int, buffer: int, place: int) -> None:
    """One Arrow view at address `place`: length i32 | 12 bytes, or length i32 | first 4 bytes | buffer i32 | offset i32."""
    if length > 12:
        prefix: Any = load_word(source + start)  # type: ignore[call-arg]
        store_word(place, np.uint64(length) | (prefix << np.uint64(32)))
        store_word(place + 8, np.uint64(buffer) | (np.uint64(start) << np.uint64(32)))
        return
    store_word(place, np.uint64(max(length, 0)))  # type: ignore[call-arg]
    store_word(place + 8, np.uint64(0))
    if length > 0:
        copy_bytes(place + 4, source + start, length)


@compiled()
def walk_records(
    data: Any,
    position: int,
    end: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_timestamp: Any,
    low: int,
    high: int,
    row: int,
    buffer: int,
    target: Any,
) -> int:
    """Records of one batch, data[position:end], into the target from `row`; the row after the last one, or -1.

    append_timestamp   the batch's time under LogAppendTime, else -1
    low, high          offsets outside of low <= offset < high are left out
    buffer             number of the Arrow buffer that `data` is, for views
    target             a Target with room for `count` rows; lengths of -1 are null
    """
    columns, slots = target.columns, target.slots
    timestamps, types = slots[TIMESTAMP], slots[TYPE]
    key_starts, key_lengths = slots[KEY_START], slots[KEY_LENGTH]
    value_starts, value_lengths = slots[VALUE_START], slots[VALUE_LENGTH]
    header_starts, header_lengths = slots[HEADERS_START], slots[HEADERS_LENGTH]
    has_key_views, has_value_views = target.key_views.shape[0] > 0, target.value_views.shape[0] > 0
    key_views, value_views = target.key_views.ctypes.data, target.value_views.ctypes.data
    source = data.ctypes.data
    key_nulls, value_nulls, viewed = np.int64(0), np.int64(0), np.int64(0)
    for _ in range(count):
        length, position = varint(source, position, end)
        if position < 0 or length < 1 or length > end - position:
            return -1
        stop = position + length
        delta, at = varint(source, position + 1, stop)
        if at < 0:
            return -1
        offset_delta, at = varint(source, at, stop)
        if at < 0:
            return -1
        key_length, key_start = varint(source, at, stop)
        if key_start < 0 or key_length > stop - key_start:
            return -1
        at = key_start + max(key_length, 0)
        value_length, value_start = varint(source, at, stop)
        if value_start < 0 or value_length > stop - value_start:
            return -1
        at = value_start + max(value_length, 0)
        position = stop
        offset = base_offset + offset_delta
        if offset < low or offset >= high:
            continue
        columns[np.uint64(0), np.uint64(row)] = offset
        if timestamps >= 0:
            columns[timestamps, row] = append_timestamp if append_timestamp >= 0 else base_timestamp + delta
        if types >= 0:
            columns[types, row] = 1 if append_timestamp >= 0 else 0
        if key_starts >= 0:
            columns[key_starts, row] = key_start
        if key_lengths >= 0:
            columns[key_lengths, row] = max(key_length, -1)
        if value_starts >= 0:
            columns[value_starts, row] = value_start
        if value_lengths >= 0:
            columns[value_lengths, row] = max(value_length, -1)
        if header_starts >= 0:
            columns[header_starts, row] = at
            columns[header_lengths, row] = stop - at
        if has_key_views:
            _view(source, key_start, key_length, buffer, key_views + 16 * row)
            viewed += max(key_length, 0)
            if key_length < 0:
                target.key_validity[row >> 3] &= np.uint8(~(1 << (row & 7)) & 255)
                key_nulls += 1
        if has_value_views:
            _view(source, value_start, value_length, buffer, value_views + 16 * row)
            viewed += max(value_length, 0)
            if value_length < 0:
                target.value_validity[row >> 3] &= np.uint8(~(1 << (row & 7)) & 255)
                value_nulls += 1
        row += 1
    target.sums[KEY_NULLS] += key_nulls
    target.sums[VALUE_NULLS] += value_nulls
    target.sums[VIEWED_BYTES] += viewed
    return row


@compiled()
def is_aborted(aborted: Any, producer_id: int, offset: int) -> bool:
    """Whether a transactional batch of a producer that begins at `offset` belongs to one of the aborted transactions."""
    low, high = 0, aborted.shape[1]
    while low < high:  # the first entry after (producer id, offset)
        middle = (low + high) // 2
        if aborted[0, middle] < producer_id or (aborted[0, middle] == producer_id and aborted[1, middle] <= offset):
            low = middle + 1
        else:
            high = middle
    return low > 0 and aborted[0, low - 1] == producer_id and offset <= aborted[2, low - 1]


@compiled()
def walk(
    data: Any,
    position: int,
    end: int,
    pause: int,
    low: int,
    high: int,
    aborted: Any,
    is_checked: bool,
    row: int,
    buffer: int,
    target: Any,
) -> Any:
    """Uncompressed batches into the target; (position, row, WALK_*).

    pause        no batch is begun at or after this position, so that a caller can bound what it gathers
    low, high    offsets outside of low <= offset < high are left out; nothing after the batch of high - 1 is touched
    aborted      transactions to leave out, as `transactions.aborted_table` makes it; control batches are left out always
    is_checked   compare each batch with its checksum
    buffer       number of the Arrow buffer that `data` is
    """
    capacity = target.columns.shape[1]
    while end - position >= HEADER_BYTES:
        if position >= pause:
            return position, row, WALK_PAUSED
        base_offset = _be(data, position, 8)
        size = _be(data, position + 8, 4) + 12
        if data[position + 16] < 2:  # whose first field is the offset of its last record
            return position, row, WALK_OLD
        if base_offset >= high:
            return position, row, WALK_DONE
        if data[position + 16] != 2 or size < HEADER_BYTES or size > end - position:
            return position, row, WALK_BAD
        if is_checked and crc32c(data, position + 21, position + size) != _be(data, position + 17, 4):
            return position, row, WALK_CHECKSUM
        attributes = _be(data, position + 21, 2)
        last_offset = base_offset + _be(data, position + 23, 4)
        is_left_out = attributes & 0x20 != 0 or last_offset < low  # control batches, and what lies before the range
        if attributes & 0x10 and not is_left_out and aborted.shape[1]:
            is_left_out = is_aborted(aborted, _be(data, position + 43, 8), base_offset)
        if is_left_out:
            position += size
            if last_offset >= high - 1:
                return position, row, WALK_DONE
            continue
        if attributes & 7:
            return position, row, WALK_COMPRESSED
        count = _be(data, position + 57, 4)
        if count * RECORD_BYTES_MIN > size - HEADER_BYTES:
            return position, row, WALK_BAD
        if row + count > capacity:
            return position, row, WALK_FULL
        append_timestamp: Any = _be(data, position + 35, 8) if attributes & 8 else np.int64(-1)
        stop = position + size
        found = walk_records(
            data,
            position + HEADER_BYTES,
            stop,
            count,
            base_offset,
            _be(data, position + 27, 8),
            append_timestamp,
            low,
            high,
            row,
            buffer,
            target,
        )
        if found < 0:
            return position, row, WALK_BAD
        row = found
        position = stop
        if last_offset >= high - 1:
            return position, row, WALK_DONE
    return position, row, WALK_END


@compiled()
def whole(data: Any, position: int, end: int, high: int) -> int:
    """Where the last whole batch or old entry before `end` ends, at most the one that holds offset `high - 1`.

    Nothing after that one is touched. An invalid length ends the walk: `walk` says what is wrong there.
    """
    while end - position >= ENTRY_BYTES_MIN:
        offset = _be(data, position, 8)
        size = _be(data, position + 8, 4) + 12
        if size < ENTRY_BYTES_MIN or size > end - position:
            break
        is_batch = data[position + 16] >= 2
        if is_batch and (size < HEADER_BYTES or offset >= high):
            break
        last_offset = offset + _be(data, position + 23, 4) if is_batch else offset
        position += size
        if last_offset >= high - 1:
            break
    return position


@compiled()
def gather(
    data: Any, starts: Any, lengths: Any, first: int, last: int, out: Any, out_offsets: Any, validity: Any
) -> int:
    """Copy `lengths[i]` bytes from `starts[i]` for first <= i < last after what `out` holds.

    out_offsets   Arrow's int32 offsets; out_offsets[first] is where to begin
    validity      Arrow's bitmap, preset to ones
    returns       nulls seen, or -1 where `out` is too small or a value lies outside of `data`
    """
    place = np.int64(out_offsets[first])
    nulls = 0
    source, target = data.ctypes.data, out.ctypes.data
    for index in range(first, last):
        length = lengths[index]
        if length < 0:
            validity[index >> 3] &= np.uint8(~(1 << (index & 7)) & 255)
            nulls += 1
        else:
            start = starts[index]
            if place + length > out.shape[0] or start < 0 or start > data.shape[0] - length:
                return -1
            copy_bytes(target + place, source + start, length)  # type: ignore[call-arg]
            place += length
        out_offsets[index + 1] = place
    return nulls

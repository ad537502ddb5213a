"""Record batches to columns, compiled: what makes reading the page cache worthwhile.

Runs in: Spark's Python workers. The kernels (Numba, cached on disk):

    walk      batch headers and record varints of uncompressed batches -> starts and lengths, no bytes copied
    gather    keys or values from where they lie -> one contiguous Arrow buffer
    whole     where the last whole batch of a window of a file ends

A compressed batch is decompressed by `protocol.compression` and walked alone. Bytes are not trusted: a batch is
checked against its checksum before it is trusted, every varint and length with the end of its batch; a
mismatch is an error code, never a read outside.

Measured (bench/decode.py, CPU time of one core, 100-byte values): 12 to 13 million records/s with values, 13 to 14
with lengths only, 10 to 11 with all of kafka's columns; 2.2 to 3.4 from lz4. That was without checksums; comparing
them adds 3 to 14% (`--unchecked` leaves it out), up to 22% where only the lengths of large values are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.arrow.checksum import crc32c
from headrace.arrow.compiled import compiled
from headrace.arrow.copying import copy_bytes
from headrace.protocol.record_batch import RECORD_BYTES_MIN

WALK_END = 0  # all bytes walked
WALK_FULL = 1  # the columns hold no more
WALK_COMPRESSED = 2  # a compressed batch begins at the position
WALK_DONE = 3  # the end offset was reached
WALK_PAUSED = 4  # the pause position was reached
WALK_TRANSACTIONAL = 5  # a transactional batch begins at the position, and these are refused
WALK_OLD = 6  # an entry of message format v0 or v1 begins at the position
WALK_BAD = -1  # bytes that contradict themselves at the position
WALK_CHECKSUM = -2  # the batch at the position is not what its checksum says

HEADER_BYTES = 61
ENTRY_BYTES_MIN = 17  # of a batch or an old entry whose length and format can be told


@compiled(inline="always")
def _be(data: Any, position: int, size: int) -> Any:
    """A big-endian unsigned integer."""
    value = np.int64(0)
    for index in range(size):
        value = (value << 8) | np.int64(data[position + index])
    return value


@compiled()
def _varint(data: Any, position: int, end: int) -> Any:
    """(value, position after it); the position is -1 where the bytes end or it is overlong."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for index in range(10):
        if position + index >= end:
            return np.int64(0), np.int64(-1)
        byte = np.uint64(data[position + index])
        value |= (byte & np.uint64(127)) << shift
        if byte < 128:
            decoded = np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))
            return decoded, np.int64(position + index + 1)
        shift += np.uint64(7)
    return np.int64(0), np.int64(-1)


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
    columns: Any,
) -> int:
    """Records of one batch into the columns from `row`; the row after the last one, or -1.

    append_timestamp   the batch's time under LogAppendTime, else -1
    low, high          offsets outside of low <= offset < high are left out
    columns            int64 rows: offset, timestamp, type, key start, key length, value start, value length,
                       headers start, headers length; a length of -1 is null
    """
    for _ in range(count):
        length, position = _varint(data, position, end)
        if position < 0 or length < 1 or length > end - position:
            return -1
        stop = position + length
        delta, at = _varint(data, position + 1, stop)
        if at < 0:
            return -1
        offset_delta, at = _varint(data, at, stop)
        if at < 0:
            return -1
        key_length, key_start = _varint(data, at, stop)
        if key_start < 0 or key_length > stop - key_start:
            return -1
        at = key_start + max(key_length, 0)
        value_length, value_start = _varint(data, at, stop)
        if value_start < 0 or value_length > stop - value_start:
            return -1
        at = value_start + max(value_length, 0)
        offset = base_offset + offset_delta
        if low <= offset < high:
            columns[0, row] = offset
            columns[1, row] = append_timestamp if append_timestamp >= 0 else base_timestamp + delta
            columns[2, row] = 1 if append_timestamp >= 0 else 0
            columns[3, row] = key_start
            columns[4, row] = max(key_length, -1)
            columns[5, row] = value_start
            columns[6, row] = max(value_length, -1)
            columns[7, row] = at
            columns[8, row] = stop - at
            row += 1
        position = stop
    return row


@compiled()
def walk(
    data: Any,
    position: int,
    end: int,
    pause: int,
    low: int,
    high: int,
    refused: int,
    is_checked: bool,
    row: int,
    columns: Any,
) -> Any:
    """Uncompressed batches into the columns; (position, row, WALK_*).

    pause        no batch is begun at or after this position, so that a caller can bound what it gathers
    low, high    offsets outside of low <= offset < high are left out; nothing after the batch of high - 1 is touched
    refused      0, or TRANSACTIONAL_BIT to stop at such a batch
    is_checked   compare each batch with its checksum
    """
    capacity = columns.shape[1]
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
        if attributes & 0x20 or last_offset < low:  # control batches, and what lies before the range
            position += size
            if last_offset >= high - 1:
                return position, row, WALK_DONE
            continue
        if attributes & refused:
            return position, row, WALK_TRANSACTIONAL
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
            columns,
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

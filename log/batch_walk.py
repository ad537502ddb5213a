"""Walking over the batches of a segment file: a parser of headers, with or without their checksums.

The walk reads windows by `pread`: a bad sector is an error (EIO), where a mapped page would be a SIGBUS, and a file
that is cut meanwhile ends the walk. A batch that is larger than the window is checked piece by piece, so that a
length of noise costs no memory.

Runs in: partition workers while a log opens or is truncated; tools. Source: Kafka `FileRecords.batchesFrom`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    RecordBatchHeader,
)

LENGTH_MIN = HEADER_BYTES - LOG_OVERHEAD_BYTES
CHECKED_WINDOW_BYTES = 512 * 1024
HEADER_WINDOW_BYTES = 64 * 1024

assert HEADER_BYTES <= HEADER_WINDOW_BYTES <= CHECKED_WINDOW_BYTES


class Found(NamedTuple):
    """One batch as readers see it: where it lies, and its header."""

    position: int
    size: int
    header: RecordBatchHeader


class Step(NamedTuple):
    """One valid batch."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp_ms: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    attributes: int


_new_step = tuple.__new__


def walk(fd: int, start: int, end: int, next_offset: int, is_checked: bool) -> Iterator[Step]:
    """The valid batches from byte `start`; ends at the first byte that begins none, or at `end`.

    next_offset   the smallest offset that the first batch may have
    is_checked    whether checksums are compared
    raises        OSError
    """
    unpack = HEADER.unpack_from
    window = memoryview(
        bytearray(min(CHECKED_WINDOW_BYTES if is_checked else HEADER_WINDOW_BYTES, max(end - start, 1)))
    )
    window_start = position = start
    filled = 0
    while end - position >= HEADER_BYTES:
        place = position - window_start
        if place + HEADER_BYTES > filled:
            window_start, place, filled = position, 0, _fill(fd, window, position, end)
            if filled < HEADER_BYTES:
                return
        (
            base_offset, length, epoch, magic, crc, attributes, last_delta,
            _base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, _count,
        ) = unpack(window, place)  # fmt: skip
        size = length + LOG_OVERHEAD_BYTES
        if (
            magic != MAGIC_V2
            or length < LENGTH_MIN
            or size > end - position
            or base_offset < next_offset
            or last_delta < 0
        ):
            return
        if is_checked:
            if place + size > filled and place:
                window_start, place, filled = position, 0, _fill(fd, window, position, end)
            if place + size <= filled:
                computed = crc32c(window[place + ATTRIBUTES_POSITION : place + size])
            else:
                computed = _checksum(fd, window, position + ATTRIBUTES_POSITION, position + size)
                filled = 0
            if computed != crc:
                return
        last_offset = base_offset + last_delta
        yield _new_step(
            Step,
            (
                position, size, base_offset, last_offset, max_timestamp, epoch,
                producer_id, producer_epoch, base_sequence, attributes,
            ),
        )  # fmt: skip
        position += size
        next_offset = last_offset + 1


def _fill(fd: int, window: memoryview, position: int, end: int) -> int:
    """Read a window; returns its bytes."""
    wanted = min(len(window), end - position)
    return os.preadv(fd, [window[:wanted]], position)


def _checksum(fd: int, window: memoryview, start: int, end: int) -> int:
    """CRC-32C of a range of the file; -1 where the file ends before it."""
    crc = 0
    while start < end:
        count = _fill(fd, window, start, end)
        if not count:
            return -1
        crc = crc32c(window[:count], crc)
        start += count
    return int(crc)

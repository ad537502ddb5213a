"""Walking over the batches of a segment file: a parser of headers, with or without their checksums.

Entries of the formats v0 and v1, which an older Kafka left, are walked in the same way by their own lengths and CRC-32.

The walk reads windows by `Disk.preadv`, each of them a sign of life: a segment of small batches takes a minute. A bad sector
is an error (EIO), where a mapped page would be a SIGBUS, and a file that is cut meanwhile ends the walk. A batch that is larger
than the window is checked piece by piece, so that a length of noise costs no memory.

Runs in: partition workers while a log opens or is truncated; tools. Source: Kafka `FileRecords.batchesFrom`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from headrace.checksum import crc32c
from headrace.limits import OLD_ENTRY_BYTES_MAX
from headrace.log.disk import Disk
from headrace.protocol.message_set import ENTRY_BYTES_MIN, compute_message_crc, peek_entry
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_POSITION,
    MAGIC_V2,
    RecordBatchHeader,
    entry_bytes,
    unpack_header,
)

LENGTH_MIN: Final = HEADER_BYTES - LOG_OVERHEAD_BYTES
CHECKED_WINDOW_BYTES: Final = 512 * 1024
HEADER_WINDOW_BYTES: Final = 64 * 1024

assert HEADER_BYTES <= HEADER_WINDOW_BYTES <= CHECKED_WINDOW_BYTES


class Found(NamedTuple):
    """One batch, or entry of an old format (`message_set.old_header`), as readers see it: where it lies, its header."""

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


Run = list[Step]  # consecutive batches, at least one

_new_step: Final = tuple.__new__


def size_of(run: Run) -> int:
    """Bytes."""
    return run[-1].position + run[-1].size - run[0].position


def walk(fd: int, start: int, end: int, next_offset: int, is_checked: bool, disk: Disk) -> Iterator[Step]:
    """The batches of `walk_runs`, one by one."""
    return chain.from_iterable(walk_runs(fd, start, end, next_offset, is_checked, disk))


def walk_runs(fd: int, start: int, end: int, next_offset: int, is_checked: bool, disk: Disk) -> Iterator[Run]:
    """The valid batches from byte `start`, those of a window at once; ends at the first byte that begins none, or at `end`.

    next_offset   the smallest offset that the first batch may have
    is_checked    whether checksums are compared
    raises        OSError
    """
    window = memoryview(
        bytearray(min(CHECKED_WINDOW_BYTES if is_checked else HEADER_WINDOW_BYTES, max(end - start, 1)))
    )
    position = start
    goes_on = True
    while goes_on and end - position >= ENTRY_BYTES_MIN:
        filled = _fill(disk, fd, window, position, end)
        if filled < ENTRY_BYTES_MIN:
            return
        run, goes_on = _run_in(window, filled, disk, fd, position, end, next_offset, is_checked)
        if run:
            yield run
            position += size_of(run)
            next_offset = run[-1].last_offset + 1


def _run_in(
    window: memoryview, filled: int, disk: Disk, fd: int, start: int, end: int, next_offset: int, is_checked: bool
) -> tuple[Run, bool]:
    """(the valid batches in a window that was filled from byte `start`, whether only its end has ended them).

    The first one may be longer than the window, which it then overwrites.
    """
    run: Run = []
    append = run.append
    place = 0
    while not place or filled - place >= HEADER_BYTES:
        if filled - place < HEADER_BYTES or window[place + MAGIC_POSITION] < MAGIC_V2:
            step = _old_step(fd, window[place:filled], start + place, end, next_offset, is_checked)
            if step is None:
                return run, False
            append(step)
            place += step.size
            next_offset = step.last_offset + 1
            continue
        (
            base_offset, length, epoch, magic, crc, attributes, last_delta,
            _base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, _count,
        ) = unpack_header(window, place)  # fmt: skip
        position = start + place
        size = length + LOG_OVERHEAD_BYTES
        end_of_batch = place + size
        if (
            magic != MAGIC_V2
            or length < LENGTH_MIN
            or size > end - position
            or base_offset < next_offset
            or last_delta < 0
        ):
            return run, False
        if is_checked:
            if end_of_batch <= filled:
                computed = crc32c(window[place + ATTRIBUTES_POSITION : end_of_batch])
            elif place:
                break  # the next window has it whole
            else:
                computed = _checksum(disk, fd, window, filled, position, position + size)
            if computed != crc:
                return run, False
        last_offset = base_offset + last_delta
        append(
            _new_step(
                Step,
                (
                    position, size, base_offset, last_offset, max_timestamp, epoch,
                    producer_id, producer_epoch, base_sequence, attributes,
                ),
            )
        )  # fmt: skip
        place = end_of_batch
        next_offset = last_offset + 1
    return run, True


def _old_step(fd: int, seen: memoryview, position: int, end: int, next_offset: int, is_checked: bool) -> Step | None:
    """The entry of v0 or v1 at a position, None where there is none that fits. `seen` is what was read from there on."""
    size = entry_bytes(seen, 0) if len(seen) >= ENTRY_BYTES_MIN else 0
    if not ENTRY_BYTES_MIN <= size <= min(end - position, OLD_ENTRY_BYTES_MAX):
        return None
    data = seen if size <= len(seen) else memoryview(os.pread(fd, size, position))
    entry = peek_entry(data, 0, min(size, len(data)))
    if entry is None or entry.last_offset < next_offset:
        return None
    if is_checked and compute_message_crc(data, 0, entry.size) != entry.crc:
        return None
    last = entry.last_offset
    return Step(position, entry.size, last, last, entry.timestamp_ms, -1, -1, -1, -1, entry.attributes)


def _fill(disk: Disk, fd: int, window: memoryview, position: int, end: int) -> int:
    """Read a window; returns its bytes."""
    wanted = min(len(window), end - position)
    return disk.preadv(fd, [window[:wanted]], position)


def _checksum(disk: Disk, fd: int, window: memoryview, filled: int, start: int, end: int) -> int:
    """CRC-32C of a batch that begins in the window and is longer; -1 where the file ends before it."""
    crc = crc32c(window[ATTRIBUTES_POSITION:filled])
    position = start + filled
    while position < end:
        count = _fill(disk, fd, window, position, end)
        if not count:
            return -1
        crc = crc32c(window[:count], crc)
        position += count
    return int(crc)

"""The entries of a .log file one after the other: record batches (v2) and messages or message sets (v0, v1).

    0    offset i64 | size i32                              both kinds; the size counts what follows it
    12   leader epoch i32 | magic i8 = 2 | crc32c | ...     v2, drawn in protocol/record_batch.py
    12   crc32 u32 | magic i8 = 0, 1 | attributes i8 | ...  v0 and v1: from the magic on the checksum covers all; in v1 the
         timestamp i64 follows. `offset` is that of the last message inside of a compressed set

The file is read in windows of WINDOW_BYTES; of an entry that is larger the checksum is taken piece by piece, so that no file
can make this use more memory. Nothing is mapped: a running node may cut the file.

Source: Kafka `FileRecords`, `LegacyRecord`, `DefaultRecordBatch`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from headrace.checksum import crc32c
from headrace.protocol.message_set import ENTRY_BYTES_MIN, old_header
from headrace.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_POSITION,
    MAGIC_V2,
    entry_bytes,
    parse_header,
    unpack_header,
)

WINDOW_BYTES = 1 << 20
LEGACY_BYTES_MIN = (ENTRY_BYTES_MIN, ENTRY_BYTES_MIN + 8)  # of magic 0, 1: with both lengths, and no key nor value
MESSAGE_POSITION = 16  # where a v0 or v1 checksum begins to count

assert HEADER_BYTES < WINDOW_BYTES


class Entry(NamedTuple):
    """One batch or message. Fields that its format lacks are -1; `data` is None for an entry above WINDOW_BYTES."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    magic: int
    attributes: int
    crc: int
    is_valid: bool
    leader_epoch: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    data: memoryview | None

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def is_control(self) -> bool:
        return self.magic >= MAGIC_V2 and bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int:
        """-1 where there is none."""
        has_one = self.magic >= MAGIC_V2 and self.attributes & DELETE_HORIZON_BIT
        return self.base_timestamp if has_one else -1


class EntryScan:
    """Walks a file from one byte to another; afterwards it tells where it ended, and why.

    end          after the last whole entry
    stopped      why the walk ended before it was asked to; empty where it did not
    is_torn      what stopped it is an entry that reaches beyond the end
    """

    def __init__(self, fd: int, start: int, end: int, *, is_checked: bool = True) -> None:
        self._fd = fd
        self._limit = end
        self._is_checked = is_checked
        self.end = start
        self.stopped = ""
        self.is_torn = False

    def __iter__(self) -> Iterator[Entry]:
        """raises   OSError"""
        while self.end < self._limit and not self.stopped:
            wanted = min(WINDOW_BYTES, self._limit - self.end)
            window = memoryview(os.pread(self._fd, wanted, self.end))
            place = 0
            while len(window) - place > MAGIC_POSITION:
                size = self._size_at(window, place)
                if self.stopped or size > len(window) - place:
                    break
                yield self._entry(window[place : place + size], self.end, size, is_whole=True)
                place += size
                self.end += size
            if self.stopped or place:
                continue
            if len(window) <= MAGIC_POSITION or len(window) < wanted:
                self._stop(f"{self._limit - self.end} bytes are too short for an entry", is_torn=True)
                return
            size = self._size_at(window, 0)
            yield self._entry(window, self.end, size, is_whole=False)
            self.end += size

    def skip(self, last_offset: int) -> bool:
        """Continue at the next batch of v2 whose checksum is right and whose offset comes after `last_offset`.

        returns   whether there is one; `stopped` stays as it is where there is none
        raises    OSError
        """
        position = self.end + 1
        while self._limit - position >= HEADER_BYTES:
            window = os.pread(self._fd, min(WINDOW_BYTES, self._limit - position), position)
            place = window.find(MAGIC_V2, MAGIC_POSITION)
            while place >= 0:
                start = position + place - MAGIC_POSITION
                if self._is_batch_at(start, last_offset):
                    self.end, self.stopped, self.is_torn = start, "", False
                    return True
                place = window.find(MAGIC_V2, place + 1)
            if len(window) < WINDOW_BYTES:
                return False
            position += len(window) - MAGIC_POSITION
        return False

    def _is_batch_at(self, position: int, last_offset: int) -> bool:
        head = os.pread(self._fd, HEADER_BYTES, position)
        if len(head) < HEADER_BYTES:
            return False
        header = parse_header(head)
        size = header.size_bytes
        if header.base_offset <= last_offset or not HEADER_BYTES <= size <= self._limit - position:
            return False
        if header.last_offset_delta < 0 or header.record_count < 0:
            return False
        window = memoryview(os.pread(self._fd, min(size, WINDOW_BYTES), position))
        found = int(crc32c(window[ATTRIBUTES_POSITION:]))
        place = position + len(window)
        while place < position + size:
            piece = os.pread(self._fd, min(WINDOW_BYTES, position + size - place), place)
            if not piece:
                return False
            found = int(crc32c(piece, found))
            place += len(piece)
        return bool(found == header.crc)

    def _size_at(self, window: memoryview, place: int) -> int:
        """The size of the entry that begins in a window; `stopped` is set where none can."""
        size = entry_bytes(window, place)
        magic = window[place + MAGIC_POSITION]
        if magic > MAGIC_V2:
            self._stop(f"magic {magic} is not a record batch format")
        elif size < (HEADER_BYTES if magic == MAGIC_V2 else LEGACY_BYTES_MIN[magic]):
            self._stop(f"an entry of {size} bytes is too small for format v{magic}")
        elif size > self._limit - self.end:
            self._stop(f"an entry of {size} bytes is announced, {self._limit - self.end} are left", is_torn=True)
        return size

    def _stop(self, why: str, is_torn: bool = False) -> None:
        self.stopped, self.is_torn = why, is_torn

    def _entry(self, window: memoryview, position: int, size: int, is_whole: bool) -> Entry:
        magic = window[MAGIC_POSITION]
        if magic == MAGIC_V2:
            base, _, epoch, _, crc, attributes, delta, base_ms, max_ms, producer, producer_epoch, sequence, count = (
                unpack_header(window, 0)
            )
            is_valid = self._crc(window, position, size, ATTRIBUTES_POSITION, is_whole, magic) == crc
            return Entry(
                position, size, base, base + delta, magic, attributes, crc, is_valid or not self._is_checked, epoch,
                base_ms, max_ms, producer, producer_epoch, sequence, count, window if is_whole else None,
            )  # fmt: skip
        offset, _size, _epoch, _magic, crc, attributes, _delta, timestamp_ms, *_rest = old_header(window, 0)
        is_valid = self._crc(window, position, size, MESSAGE_POSITION, is_whole, magic) == crc
        is_single = not attributes & CODEC_MASK
        return Entry(
            position, size, offset if is_single else -1, offset, magic, attributes, crc,
            is_valid or not self._is_checked, -1, timestamp_ms, timestamp_ms, -1, -1, -1, 1 if is_single else -1,
            window if is_whole else None,
        )  # fmt: skip

    def _crc(self, window: memoryview, position: int, size: int, start: int, is_whole: bool, magic: int) -> int:
        """The checksum from byte `start` of an entry on, -1 where none is wanted."""
        if not self._is_checked:
            return -1
        take = crc32c if magic == MAGIC_V2 else zlib.crc32
        crc = int(take(window[start:]))
        if is_whole:
            return crc
        place = position + len(window)
        while place < position + size:
            piece = os.pread(self._fd, min(WINDOW_BYTES, position + size - place), place)
            if not piece:
                return -1  # cut meanwhile
            crc = int(take(piece, crc))
            place += len(piece)
        return crc

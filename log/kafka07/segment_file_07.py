"""A `.kafka` segment, open for reading: the message at a byte, and where messages begin again after a bad place.

Reads in windows of WINDOW_BYTES; a message has at most MESSAGE_07_BYTES_MAX. The search after a bad place believes a message if its
checksum is right and another one follows, or the end of the segment. It knows messages below 16 MiB, whose length begins with a zero,
and gives up when it has taken checksums of SEARCH_07_BYTES_MAX: what looks like a message on every byte must not take for ever.
"""

from __future__ import annotations

import os
import re

from headrace.limits import MESSAGE_07_BYTES_MAX, SEARCH_07_BYTES_MAX
from headrace.protocol.compression import Codec
from headrace.protocol.message_07 import LENGTH_BYTES, CutMessage, Message07, message_size, read_message_07
from headrace.protocol.record_batch import CorruptRecord

WINDOW_BYTES = 1 << 20
HEAD_BYTES = LENGTH_BYTES + 2  # that tell a message's size

# A length of 1 to 2**24 - 1, and a magic.
_CANDIDATE = re.compile(rb"\x00(?:[^\x00]..|.[^\x00].|..[^\x00])[\x00\x01]", re.DOTALL)
_CANDIDATE_BYTES = 5

assert MESSAGE_07_BYTES_MAX >= 1 << 24 > WINDOW_BYTES


class SegmentFile07:
    """Random access to one segment; the descriptor stays its owner's."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size_bytes = os.fstat(fd).st_size
        self._window = b""
        self._start = 0  # where the window lies

    def message(self, position: int) -> Message07:
        """The message that begins at a byte.

        raises   CutMessage, where it reaches past the end; CorruptRecord, where none begins there; OSError
        """
        place = position - self._start
        if not 0 <= place <= len(self._window) - HEAD_BYTES:
            place = self._load(position, WINDOW_BYTES)
        whole = message_size(self._window, place, place + self.size_bytes - position)
        if whole > MESSAGE_07_BYTES_MAX:
            raise CorruptRecord(f"a message of {whole} bytes, the limit is {MESSAGE_07_BYTES_MAX}")
        if place + whole > len(self._window):
            place = self._load(position, max(whole, WINDOW_BYTES))
        if whole > len(self._window):
            raise CutMessage("the file was truncated during the read")
        return read_message_07(self._window, place, len(self._window))

    def is_boundary(self, position: int) -> bool:
        """Whether a message with the right checksum begins here, or the segment ends."""
        if position >= self.size_bytes:
            return position == self.size_bytes
        try:
            message = self.message(position)
        except CorruptRecord:
            return False
        return message.is_valid and message.codec <= Codec.SNAPPY

    def next_message(self, start: int) -> int:
        """The first byte from `start` on where messages begin again; the end of the segment where they don't."""
        budget = SEARCH_07_BYTES_MAX
        position = start
        while position < self.size_bytes:
            block = os.pread(self._fd, WINDOW_BYTES + _CANDIDATE_BYTES - 1, position)
            place = 0
            while (match := _CANDIDATE.search(block, place)) is not None:
                place = match.start() + 1
                found = position + match.start()
                if match.start() >= WINDOW_BYTES:
                    break
                try:
                    message = self.message(found)
                except CorruptRecord:
                    continue
                if message.is_valid and self.is_boundary(found) and self.is_boundary(found + message.size):
                    return found
                budget -= message.size
                if budget < 0:
                    return self.size_bytes
            position += WINDOW_BYTES
        return self.size_bytes

    def _load(self, position: int, size: int) -> int:
        """Bring the window to a byte; returns 0, its place in it."""
        self._window = os.pread(self._fd, size, position)
        self._start = position
        return 0

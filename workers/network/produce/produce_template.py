"""The answer to a Produce of one partition, as a frame that lacks its numbers.

Runs in: a network worker. Most requests are answered by the same bytes but for seven numbers: a copy of them is made, and the numbers
are put where they belong.

    size | correlation id | [tags] | ... name ... | index | error | base offset [| append time [| log start offset]] | ...
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.protocol.frames import pack_head
from headrace.protocol.numbers import pack_long

VERSION_OF_APPEND_TIME: Final = 2
VERSION_OF_LOG_START: Final = 5
VERSION_OF_TAGS: Final = 9

# index, error, base offset, append time, log start offset of the body that a template is made of
MARKS: Final = (0x01020304, 0x0506, 0x0708090A0B0C0D0E, 0x1112131415161718, 0x2122232425262728)

_FIRST: Final = Struct(">ihq")  # index, error, base offset
_FIRST_BYTES: Final = 14

assert _FIRST.size == _FIRST_BYTES


def pack_first(frame: bytearray, position: int, index: int, error: int, base_offset: int) -> None:
    """What all versions have."""
    _FIRST.pack_into(frame, position, index, error, base_offset)


class ProduceTemplate:
    """Of one version, for one topic.

    body   a response with MARKS in it
    """

    __slots__ = ("_frame", "_position", "name", "version")

    def __init__(self, version: int, name: str, body: bytes) -> None:
        self.version = version
        self.name = name
        head = bytes(9 if version >= VERSION_OF_TAGS else 8)
        self._frame = head + body
        self._position = len(head) + body.rindex(_FIRST.pack(*MARKS[:3]))

    def fill(
        self,
        correlation_id: int,
        index: int,
        error: int,
        base_offset: int,
        append_time_ms: int,
        log_start_offset: int,
    ) -> bytearray:
        """The frame of one answer."""
        frame = bytearray(self._frame)
        position = self._position
        pack_head(frame, 0, len(frame) - 4, correlation_id)
        pack_first(frame, position, index, error, base_offset)
        if self.version >= VERSION_OF_APPEND_TIME:
            pack_long(frame, position + _FIRST_BYTES, append_time_ms)
        if self.version >= VERSION_OF_LOG_START:
            pack_long(frame, position + _FIRST_BYTES + 8, log_start_offset)
        return frame

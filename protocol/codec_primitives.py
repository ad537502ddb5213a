"""What the generated functions of `codecs/` share: the refusal, tag sections, lengths of strings.

Only what is rare or short is here: a call costs more than the lines of a string or an array, which are in each function.
"""

from __future__ import annotations

from typing import Final

from headrace.limits import STRING_BYTES_MAX
from headrace.protocol.varint import encode_uvarint, read_uvarint

SMALL_RECORDS_BYTES: Final = 32 * 1024  # bytes up to this are joined with what is around them
TAG_BYTES: Final = 64  # of a decoder's budget; not memory: what a tag may cost in time


class Malformed(ValueError):
    """Bytes that contradict the schema or themselves."""


def open_tags(
    buffer: memoryview, position: int, end: int, count: int, budget: int, bytes_max: int
) -> tuple[int, int, int]:
    """Begin a tag section that is not empty.

    position   after the first byte of the count
    count      that byte
    bytes_max  the whole budget of the message, for the text of a refusal
    returns    (number of tags, position of the first, budget that remains)
    raises     Malformed, where there are more than can fit; IndexError and ValueError of the varint
    """
    if count > 127:
        count, position = read_uvarint(buffer, position - 1)
    if count * 2 > end - position:
        raise Malformed(f"{count} announced, {end - position} bytes remain")
    budget -= count * TAG_BYTES
    if budget < 0:
        raise Malformed(f"{count} more would take more than {bytes_max} bytes")
    return count, position, budget


def skip_tags(buffer: memoryview, position: int, end: int, count: int, budget: int, bytes_max: int) -> tuple[int, int]:
    """Skip a tag section that is not empty, of a struct that has no tagged fields in this version.

    Parameters and errors are those of `open_tags`.

    returns    (position after it, budget that remains)
    """
    count, position, budget = open_tags(buffer, position, end, count, budget, bytes_max)
    for _ in range(count):
        tag = buffer[position]
        position += 1
        if tag > 127:
            tag, position = read_uvarint(buffer, position - 1)
        size = buffer[position]
        position += 1
        if size > 127:
            size, position = read_uvarint(buffer, position - 1)
        stop = position + size
        if stop > end:
            raise Malformed(f"{size} bytes announced for tag {tag}, {end - position} remain")
        position = stop
    return position, budget


def encode_string_length(value: int) -> bytes:
    """A compact string's length plus one; Kafka refuses strings whose length does not fit an int16. raises ValueError"""
    if value > STRING_BYTES_MAX + 1:
        raise ValueError(f"string of {value - 1} bytes")
    return encode_uvarint(value)

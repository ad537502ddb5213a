"""Variable-length integers: unsigned for lengths and tags of flexible versions, zigzag for record fields.

Source: KIP-482, KIP-98; protocol buffers' base-128 varints. A value is at most 32 (lengths) or 64
(timestamps) bits; longer encodings are refused.
"""

from __future__ import annotations

from typing import Final

UVARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10
_LONG: Final = 1 << 63  # beyond the largest, and the least without its sign
UVARINTS: Final = tuple(bytes((value,)) for value in range(128))
ZIGZAGS: Final = tuple(byte >> 1 ^ -(byte & 1) for byte in range(128))  # value of a zigzag varint of one byte


def encode_uvarint(value: int) -> bytes:
    """Unsigned, least significant group first."""
    assert value >= 0
    if value < 1 << 7:
        return UVARINTS[value]
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    if value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buffer: memoryview | bytes, position: int) -> tuple[int, int]:
    """(value, position after it).

    raises   IndexError, where the bytes end; ValueError, where it has more than 5 bytes or 32 bits
    """
    value, position = _read(buffer, position, UVARINT_BYTES_MAX)
    if value > 0xFFFFFFFF:
        raise ValueError(f"varint {value} has more than 32 bits")
    return value, position


def encode_varlong(value: int) -> bytes:
    """Zigzag: small magnitudes take few bytes, with either sign. raises ValueError, where it does not fit 64 bits"""
    if not -_LONG <= value < _LONG:
        raise ValueError(f"{value} does not fit the 64 bits of a varint")
    return encode_uvarint(value << 1 ^ value >> 63)


def read_varlong(buffer: memoryview | bytes, position: int) -> tuple[int, int]:
    """(value, position after it); raises as `read_uvarint`, with 10 bytes and 64 bits.

    Most numbers of a record have one byte or two: these are read here, without another call.
    """
    first = buffer[position]
    if first < 128:
        return ZIGZAGS[first], position + 1
    second = buffer[position + 1]
    if second < 128:
        bits = first & 127 | second << 7
        return bits >> 1 ^ -(bits & 1), position + 2
    bits, position = _read(buffer, position, VARLONG_BYTES_MAX)
    if bits >> 64:
        raise ValueError("varint has more than 64 bits")
    return bits >> 1 ^ -(bits & 1), position


def _read(buffer: memoryview | bytes, position: int, bytes_max: int) -> tuple[int, int]:
    """Up to three bytes are the lengths of batches: they are read without a loop."""
    first = buffer[position]
    if first < 128:
        return first, position + 1
    second = buffer[position + 1]
    if second < 128:
        return first & 127 | second << 7, position + 2
    third = buffer[position + 2]
    value = first & 127 | (second & 127) << 7 | (third & 127) << 14
    if third < 128:
        return value, position + 3
    for index in range(3, bytes_max):
        byte = buffer[position + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value, position + index + 1
    raise ValueError("overlong varint")

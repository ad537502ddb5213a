"""The header checksum of LZ4 frames, right and as Kafka 0.8 and 0.9 computed it.

    0  magic u32 | 4 FLG u8 | 5 BD u8 | [6 content size u64] | [dictionary id u32] | HC u8

HC is the second byte of the xxHash-32 of the bytes from FLG up to itself. Producers and consumers of message format
v0 took the frame's magic in as well, and refuse a frame whose HC is right. Readers of v0 ignore HC; this one puts the
right one in its place, because the library compares it.

Source: LZ4 frame format 1.6; xxHash specification, XXH32; KAFKA-3160; Kafka `Lz4BlockOutputStream`.
"""

from __future__ import annotations

from typing import Final

from headrace.protocol.compression import CompressionError

_MASK: Final = 0xFFFFFFFF
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_STRIPE_BYTES: Final = 16
_FLG_POSITION: Final = 4
_FIXED_BYTES: Final = 6  # magic, FLG, BD
_CONTENT_SIZE_BIT, _CONTENT_CHECKSUM_BIT, _DICTIONARY_BIT = 0x08, 0x04, 0x01

assert _FIXED_BYTES - _FLG_POSITION + 8 + 4 < _STRIPE_BYTES


def with_right_checksum(frame: bytes) -> bytes:
    """The frame as the LZ4 library takes it; raises CompressionError, where its header is cut short."""
    return _with_checksum(frame, _FLG_POSITION)


def with_old_checksum(frame: bytes) -> bytes:
    """The frame as clients of message format v0 take it; it may have no content size and no dictionary."""
    return _with_checksum(frame, 0)


def without_content_checksum(frame: bytes) -> bytes:
    """The frame as one that has no checksum of its content; what was that comes after it now."""
    flags = frame[_FLG_POSITION] & ~_CONTENT_CHECKSUM_BIT
    return with_right_checksum(b"%b%c%b" % (frame[:_FLG_POSITION], flags, frame[_FLG_POSITION + 1 :]))


def _with_checksum(frame: bytes, start: int) -> bytes:
    if len(frame) <= _FIXED_BYTES:
        raise CompressionError(f"lz4: frame of {len(frame)} bytes")
    flags = frame[_FLG_POSITION]
    end = _FIXED_BYTES + 8 * bool(flags & _CONTENT_SIZE_BIT) + 4 * bool(flags & _DICTIONARY_BIT)
    if len(frame) <= end:
        raise CompressionError(f"lz4: frame of {len(frame)} bytes, its header takes {end + 1}")
    return b"%b%c%b" % (frame[:end], xxh32_short(frame[start:end]) >> 8 & 0xFF, frame[end + 1 :])


def xxh32_short(data: bytes) -> int:
    """xxHash-32 with seed 0 of fewer than 16 bytes, which is all that a header has."""
    size = len(data)
    assert size < _STRIPE_BYTES, "only the tail of the algorithm is here"
    value = _PRIME_5 + size & _MASK
    position = 0
    while size - position >= 4:
        lane = int.from_bytes(data[position : position + 4], "little")
        value = _rotated(value + lane * _PRIME_3, 17) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        value = _rotated(value + byte * _PRIME_5, 11) * _PRIME_1 & _MASK
    value = (value ^ value >> 15) * _PRIME_2 & _MASK
    value = (value ^ value >> 13) * _PRIME_3 & _MASK
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK

"""Whether a compressed batch of v2 is built as clients build it: one frame of its codec, whole as far as its structure says.

Runs in: a network worker, on each compressed batch that is not opened otherwise. Nothing is decompressed. The record kernel says the
same (`kernel/frames.c`, `usual_frame`); this is the reference. A frame that is not usual is not wrong yet: it is opened then
(`record_policy.py`), which finds out.

    gzip     1F 8B 08 | flags 0 | 6 bytes | DEFLATE | CRC-32 | size          the first block's head, the size
    snappy   announced size | elements                                       the first ELEMENTS_MAX elements
             or 82 SNAPPY 00 | 8 bytes | ( size | block )                    and the chain of sizes, to the end
    lz4      magic | FLG | BD | [size] | HC | ( size | block ) | 0 | [sum]   independent blocks; the chain, to the end
    zstd     magic | descriptor | [window] | [size] | ( head | block ) | [sum]   the chain, to the end

In each, what it announces lies between `least` (the records' least size) and `most`. What Kafka's readers take besides, and what only
some clients read, is not usual: several frames, skippable ones, bytes after the last, dictionaries, linked blocks.

Source: RFC 1951, 1952, 8878; snappy's format description; LZ4 frame format 1.6.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import COMPRESSED_MEMBERS_MAX, DECOMPRESSED_BYTES_MAX
from headrace.protocol import record_kernel
from headrace.protocol.compression import (
    SNAPPY_BLOCK_BYTES_MIN,
    SNAPPY_RATIO_MAX,
    XERIAL_BLOCK_BYTES_MIN,
    XERIAL_HEADER,
    XERIAL_MAGIC,
    ZSTD_BLOCK_BYTES_MAX,
    Codec,
)
from headrace.protocol.lz4_checksum import xxh32_short
from headrace.protocol.record_batch import CODEC_MASK, HEADER_BYTES, RECORD_BYTES_MIN, unpack_header
from headrace.protocol.varint import read_uvarint

ELEMENTS_MAX: Final = 64  # of the first snappy block: copies and literals
WINDOW_BYTES_MAX: Final = 1 << 27  # of zstd: Java's readers take no larger one
GZIP_RATIO_MAX: Final = 1_032
LZ4_RATIO_MAX: Final = 255

_GZIP_HEAD: Final = b"\x1f\x8b\x08\x00"
_GZIP_HEAD_BYTES: Final = 10
_GZIP_BYTES_MIN: Final = 20
_GZIP_TRAILER_BYTES: Final = 8
_LZ4_MAGIC: Final = 0x184D2204
_LZ4_HEAD_BYTES: Final = 7
_LZ4_FLAGS: Final = (
    0b01_1_000_0_0  # version 1, independent blocks; a checksum of blocks, content size and checksum may be there
)
_LZ4_FLAGS_MASK: Final = 0b11_1_000_1_1
_ZSTD_MAGIC: Final = 0xFD2FB528
_CODE_LENGTH_ORDER: Final = 19
_SHORT: Final = Struct("<H")
_INT: Final = Struct("<I")
_LONG: Final = Struct("<Q")

_usual_frame: Final = record_kernel.usual_frame


def has_usual_frame(batch: memoryview) -> bool:
    """Whether nothing strange is seen of a compressed batch of v2; True where its header is one that the log's owner refuses.

    batch   whole, HEADER_BYTES at least
    """
    if _usual_frame is not None:
        return bool(_usual_frame(batch, DECOMPRESSED_BYTES_MAX, COMPRESSED_MEMBERS_MAX))
    return is_usual(batch)


def is_usual(batch: memoryview, most: int = DECOMPRESSED_BYTES_MAX) -> bool:
    """`has_usual_frame` without the kernel."""
    _, _, _, _, _, attributes, *_, count = unpack_header(batch, 0)
    codec = attributes & CODEC_MASK
    if count <= 0 or not Codec.NONE < codec <= Codec.ZSTD:
        return True
    try:
        return _WALKS[codec - 1](bytes(batch[HEADER_BYTES:]), count * RECORD_BYTES_MIN, most)
    except (IndexError, ValueError):
        return False


def _is_gzip(data: bytes, least: int, most: int) -> bool:
    size = len(data)
    if size < _GZIP_BYTES_MIN or data[:4] != _GZIP_HEAD or not _is_deflate(data, size - _GZIP_TRAILER_BYTES):
        return False
    (announced,) = _INT.unpack_from(data, size - 4)
    return bool(least <= announced <= min(most, GZIP_RATIO_MAX * size))


def _is_deflate(data: bytes, end: int) -> bool:
    """Whether the first block may be one: stored with a right length, of fixed codes, or with lengths that make a whole code."""
    head = int.from_bytes(data[_GZIP_HEAD_BYTES : _GZIP_HEAD_BYTES + 10], "little")
    kind = head >> 1 & 3
    if kind == 0:
        stored, complement = _SHORT.unpack_from(data, 11)[0], _SHORT.unpack_from(data, 13)[0]
        return bool(stored ^ complement == 0xFFFF and 15 + stored <= end)
    if kind == 1:
        return True
    if kind == 3 or head >> 3 & 31 > 29 or head >> 8 & 31 > 29:
        return False
    lengths = [head >> 17 + 3 * index & 7 for index in range(min(_CODE_LENGTH_ORDER, (head >> 13 & 15) + 4))]
    return sum([128 >> length for length in lengths if length]) == 128


def _is_snappy(data: bytes, least: int, most: int) -> bool:
    size = len(data)
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        return least <= _announced_by(data, 0, size, ELEMENTS_MAX) <= most
    position = len(XERIAL_HEADER)
    total = blocks = 0
    while position < size:
        blocks += 1
        if size - position < 4 or blocks > COMPRESSED_MEMBERS_MAX + total // XERIAL_BLOCK_BYTES_MIN:
            return False
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        elements = ELEMENTS_MAX if blocks == 1 else 0
        announced = _announced_by(data, position + 4, end, elements) if end <= size else -1
        if announced < 0:
            return False
        total += announced
        position = end
    return position == size and least <= total <= most


def _announced_by(data: bytes, position: int, end: int, elements_max: int) -> int:
    """What a raw block says comes out of it, -1 where its first elements say otherwise."""
    begin = position
    announced, position = read_uvarint(data, position)
    if position > end or announced > (end - begin) * SNAPPY_RATIO_MAX + SNAPPY_BLOCK_BYTES_MIN:
        return -1
    made = 0
    for _ in range(elements_max):
        if position == end or made == announced:
            return announced if position == end and made == announced else -1
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                more = length - 60
                if more > end - position:
                    return -1
                length = int.from_bytes(data[position : position + more], "little") + 1
                position += more
            if length > end - position:
                return -1
            position += length
        else:
            kind = tag & 3
            more = 4 if kind == 3 else kind
            length = (tag >> 2 & 7) + 4 if kind == 1 else (tag >> 2) + 1
            if more > end - position:
                return -1
            back = int.from_bytes(data[position : position + more], "little")
            if kind == 1:
                back |= tag >> 5 << 8
            position += more
            if not 0 < back <= made:
                return -1
        made += length
        if made > announced:
            return -1
    return announced


def _is_lz4(data: bytes, least: int, most: int) -> bool:
    size = len(data)
    if size < _LZ4_HEAD_BYTES + 4 or _INT.unpack_from(data)[0] != _LZ4_MAGIC:
        return False
    flags, largest = data[4], data[5]
    if flags & _LZ4_FLAGS_MASK != _LZ4_FLAGS or largest & 0x8F or largest >> 4 < 4:
        return False
    position = 6
    if flags & 0x08:
        if size < position + 9 or not least <= _LONG.unpack_from(data, position)[0] <= most:
            return False
        position += 8
    if xxh32_short(data[4:position]) >> 8 & 0xFF != data[position]:
        return False
    position += 1
    block_bytes_max = 1 << (8 + 2 * (largest >> 4))
    check_bytes = 4 if flags & 0x10 else 0
    room = 0
    while True:
        if size - position < 4:
            return False
        (word,) = _INT.unpack_from(data, position)
        position += 4
        if not word:
            break
        length = word & 0x7FFFFFFF
        if length > block_bytes_max or length + check_bytes > size - position:
            return False
        position += length + check_bytes
        room += length if word >> 31 else min(block_bytes_max, LZ4_RATIO_MAX * length)
    return position + (4 if flags & 0x04 else 0) == size and least <= room <= most


def _is_zstd(data: bytes, least: int, most: int) -> bool:
    size = len(data)
    if size < 9 or _INT.unpack_from(data)[0] != _ZSTD_MAGIC:
        return False
    descriptor = data[4]
    if descriptor & 0b1011:  # a dictionary, or a reserved bit
        return False
    position = 5
    is_single = descriptor >> 5 & 1
    if not is_single:
        window = 1 << 10 + (data[5] >> 3)
        if window + (window >> 3) * (data[5] & 7) > WINDOW_BYTES_MAX:
            return False
        position = 6
    size_bytes = (is_single, 2, 4, 8)[descriptor >> 6]
    if size - position < size_bytes + 3:
        return False
    announced = int.from_bytes(data[position : position + size_bytes], "little") + (256 if size_bytes == 2 else 0)
    position += size_bytes
    if size_bytes and (not least <= announced <= most or (is_single and announced > WINDOW_BYTES_MAX)):
        return False
    room = 0
    is_last = 0
    while not is_last:
        if size - position < 3:
            return False
        head = int.from_bytes(data[position : position + 3], "little")
        position += 3
        is_last, kind, length = head & 1, head >> 1 & 3, head >> 3
        taken = 1 if kind == 1 else length
        if kind == 3 or length > ZSTD_BLOCK_BYTES_MAX or taken > size - position:
            return False
        position += taken
        room += ZSTD_BLOCK_BYTES_MAX if kind == 2 else length
    if position + (4 if descriptor & 4 else 0) != size:
        return False
    return room >= announced if size_bytes else least <= room <= most


_WALKS: Final[tuple[Callable[[bytes, int, int], bool], ...]] = (_is_gzip, _is_snappy, _is_lz4, _is_zstd)

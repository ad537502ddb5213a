"""The five codecs of record batches.

    0 none | 1 gzip | 2 snappy | 3 lz4 (frame) | 4 zstd

Snappy comes in two framings: raw blocks (most clients), and the Java clients' xerial stream: a 16-byte
header, then blocks of at most 32 KiB, each after its 4-byte length. We read both and write xerial, which
every client reads. Gzip, lz4 and zstd may be several members one after the other, and a xerial stream several streams; all are read.

Whatever Kafka's Java readers read is read. So bytes after the data are left out as they do it: after a gzip member what is no
member, after an lz4 frame what is no frame, up to three bytes after a xerial block, skippable zstd frames, cut short or not.
An lz4 frame's content checksum is not compared.

Every decompression has a limit: output beyond it is refused when it would come, not when all of it is there,
and no memory is taken on the word of the data alone. What costs time and brings nothing is bounded as well: members, frames,
and blocks of a xerial stream.
Libraries are loaded on first use: a network worker passes batches through and needs none.

Source: KIP-110 (zstd); Kafka `Compression`, `Lz4BlockInputStream`; the xerial snappy-java stream format.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final

from headrace.errors import HeadraceError
from headrace.limits import COMPRESSED_MEMBERS_MAX, DECOMPRESSED_BYTES_MAX, LZ4_FIRST_BYTES_MIN
from headrace.protocol.varint import read_uvarint

XERIAL_MAGIC: Final[bytes] = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = XERIAL_MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
XERIAL_BLOCK_BYTES: Final = 32 * 1024
_XERIAL_SIZE_BYTES: Final = 4
XERIAL_BLOCK_BYTES_MIN: Final = (
    1024  # the smallest that snappy-java makes; COMPRESSED_MEMBERS_MAX of a stream may be smaller, where it was flushed
)
GZIP_LEVEL: Final = 1
ZSTD_LEVEL: Final = 3

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_HEAD_BYTES: Final = 10
SNAPPY_RATIO_MAX: Final = 22  # 3 bytes copy 64
SNAPPY_BLOCK_BYTES_MIN: Final = 64
_LZ4_FIRST_RATIO: Final = 8
_LZ4_BAD_CONTENT_CHECKSUM: Final = "contentChecksum_invalid"  # in the library's words
ZSTD_BLOCK_BYTES_MAX: Final = 128 * 1024
_ZSTD_BLOCK_HEADER_BYTES: Final = 3
_ZSTD_CHECKSUM_BYTES: Final = 4
_ZSTD_SKIP_MAGIC: Final = 0x184D2A50  # to ..5F
_ZSTD_SKIP_HEAD_BYTES: Final = 8
_ZSTD_RUN: Final = 1  # a block type: one byte, repeated

assert LZ4_FIRST_BYTES_MIN < DECOMPRESSED_BYTES_MAX

Buffer = bytes | bytearray | memoryview


class Codec(IntEnum):
    """Bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CompressionError(HeadraceError):
    """Bytes that don't decompress, or would grow beyond the limit."""


def compress(codec: int, data: Buffer) -> bytes:
    """Compress in the form that Kafka's Java client reads."""
    return _COMPRESSORS[codec](data)


def decompress(codec: int, data: Buffer, limit: int = DECOMPRESSED_BYTES_MAX) -> Buffer:
    """The plain bytes; without a codec the data itself.

    limit    most bytes that may come out
    raises   CompressionError, for garbage, an unknown codec, or more than `limit`
    """
    if codec == Codec.NONE:
        return data
    if not Codec.NONE < codec <= Codec.ZSTD:
        raise CompressionError(f"codec {codec} is unknown")
    return _DECOMPRESSORS[codec - 1](memoryview(data), limit)


class DecompressedTooLarge(CompressionError):
    """More would come out than the limit."""


def _too_large(name: str, limit: int) -> CompressionError:
    return DecompressedTooLarge(f"{name}: decompresses to more than {limit} bytes")


def _compress_gzip(data: Buffer) -> bytes:
    from isal import igzip

    return bytes(igzip.compress(data, compresslevel=GZIP_LEVEL))


def _decompress_gzip(data: memoryview, limit: int) -> bytes:
    from isal import isal_zlib
    from isal.igzip_lib import IsalError

    out = []
    rest: Buffer = data
    total = 0
    for _ in range(COMPRESSED_MEMBERS_MAX):
        engine = isal_zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        try:
            plain = engine.decompress(rest, max_length=limit + 1 - total)
        except IsalError as failure:  # type: ignore[misc]  # its stub has an instance of it
            raise CompressionError(f"gzip: {failure}") from None
        total += len(plain)
        if total > limit:
            raise _too_large("gzip", limit)
        if not engine.eof:
            raise CompressionError("gzip: the stream is truncated")
        out.append(plain)
        rest = engine.unused_data
        if not is_gzip_member(rest):
            return out[0] if len(out) == 1 else b"".join(out)
    raise CompressionError(f"gzip: more than {COMPRESSED_MEMBERS_MAX} members")


def is_gzip_member(data: Buffer) -> bool:
    """Whether another member may begin there."""
    return len(data) > _GZIP_HEAD_BYTES and data[: len(_GZIP_MAGIC)] == _GZIP_MAGIC


def _compress_xerial(data: Buffer) -> bytes:
    import snappy

    view = memoryview(data)
    out = [XERIAL_HEADER]
    for start in range(0, len(view), XERIAL_BLOCK_BYTES):
        block = snappy.compress(view[start : start + XERIAL_BLOCK_BYTES])
        out += (len(block).to_bytes(4, "big"), block)
    return b"".join(out)


def _decompress_snappy(data: memoryview, limit: int) -> bytes:
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        return _decompress_block(data, limit, limit)
    return b"".join(snappy_blocks(data, limit))


def snappy_blocks(data: memoryview, limit: int) -> Iterator[bytes]:
    """What comes out of each block, of a raw one as of a xerial stream. raises CompressionError"""
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        yield _decompress_block(data, limit, limit)
        return
    position = len(XERIAL_HEADER)
    total = blocks = 0
    while position < len(data):
        blocks += 1
        if blocks > COMPRESSED_MEMBERS_MAX + total // XERIAL_BLOCK_BYTES_MIN:
            raise CompressionError(f"snappy: {blocks} blocks of {total} bytes")
        if len(data) - position < _XERIAL_SIZE_BYTES:
            break
        if data[position : position + len(XERIAL_MAGIC)] == XERIAL_MAGIC:  # another stream; no block is that long
            position += len(XERIAL_HEADER)
            continue
        size = int.from_bytes(data[position : position + _XERIAL_SIZE_BYTES], "big")
        position += _XERIAL_SIZE_BYTES
        if size > len(data) - position:
            raise CompressionError(f"snappy: a block of {size} bytes is truncated")
        block = _decompress_block(data[position : position + size], limit - total, limit)
        total += len(block)
        yield block
        position += size


def _decompress_block(data: memoryview, room: int, limit: int) -> bytes:
    """One raw block, whose first bytes announce what comes out; of `limit` bytes `room` are left."""
    import snappy

    try:
        announced, _position = read_uvarint(data, 0)
    except (IndexError, ValueError):
        raise CompressionError("snappy: a block without a length") from None
    if announced > room:
        raise _too_large("snappy", limit)
    if announced > len(data) * SNAPPY_RATIO_MAX + SNAPPY_BLOCK_BYTES_MIN:
        raise CompressionError(f"snappy: {announced} bytes can't come of {len(data)}")
    try:
        return bytes(snappy.uncompress(data))
    except snappy.UncompressError as failure:
        raise CompressionError(f"snappy: {failure.__cause__}") from None


def _compress_lz4(data: Buffer) -> bytes:
    import lz4.frame

    return bytes(lz4.frame.compress(data, store_size=False, block_linked=False))  # Java reads no linked blocks


def _decompress_lz4(data: memoryview, limit: int) -> bytes:
    """Frame by frame; Java reads the first one alone, so what comes after it is read only where it is a whole frame."""
    out: list[bytes] = []
    total = 0
    rest: Buffer = data
    for _ in range(COMPRESSED_MEMBERS_MAX):
        try:
            frame = _decompress_lz4_frame(rest, limit - total, limit)
        except DecompressedTooLarge:
            raise
        except CompressionError:
            if not out:
                raise
            break
        total += len(frame[0])
        out.append(frame[0])
        rest = frame[1]
        if not rest:
            break
    else:
        raise CompressionError(f"lz4: more than {COMPRESSED_MEMBERS_MAX} frames")
    return out[0] if len(out) == 1 else b"".join(out)


def _decompress_lz4_frame(data: Buffer, room: int, limit: int) -> tuple[bytes, bytes]:
    """(one frame, what comes after it); of `limit` bytes `room` are left.

    The library takes all of `max_length` before it begins, so this grows with what comes out.
    """
    import lz4.frame

    engine = lz4.frame.LZ4FrameDecompressor()
    out = []
    rest: Buffer = data
    total = 0
    step = _LZ4_FIRST_RATIO * len(data) + LZ4_FIRST_BYTES_MIN
    while True:
        try:
            plain = engine.decompress(rest, max_length=min(step, room + 1 - total))
        except RuntimeError as failure:
            if _LZ4_BAD_CONTENT_CHECKSUM in str(failure):
                from headrace.protocol.lz4_checksum import without_content_checksum

                return _decompress_lz4_frame(without_content_checksum(bytes(data)), room, limit)
            raise CompressionError(f"lz4: {failure}") from None
        out.append(plain)
        total += len(plain)
        step *= 2
        if total > room:
            raise _too_large("lz4", limit)
        if engine.eof:
            return out[0] if len(out) == 1 else b"".join(out), bytes(engine.unused_data or b"")
        if engine.needs_input:
            raise CompressionError("lz4: the frame is truncated")
        rest = b""


class _ZstdContexts:
    """Reused, because making one costs more than a small batch; one a thread, because they hold state."""

    def __init__(self) -> None:
        import zstandard

        self.compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_zstd: Final = threading.local()  # not a subclass of it: compiled, its attributes would be those of all threads


def _zstd_contexts() -> _ZstdContexts:
    contexts: _ZstdContexts | None = getattr(_zstd, "contexts", None)
    if contexts is None:
        contexts = _zstd.contexts = _ZstdContexts()
    return contexts


def _compress_zstd(data: Buffer) -> bytes:
    return bytes(_zstd_contexts().compressor.compress(data))


def _decompress_zstd(data: memoryview, limit: int) -> bytes:
    """Frame by frame: where the first does not say its size, the library is silent about those after it."""
    out: list[bytes] = []
    total = 0
    for _ in range(COMPRESSED_MEMBERS_MAX):
        if _is_skippable(data):
            data = data[_ZSTD_SKIP_HEAD_BYTES + int.from_bytes(data[4:_ZSTD_SKIP_HEAD_BYTES], "little") :]
            if not data:
                return b"".join(out)
            continue
        end, most = _measure_zstd_frame(data)
        plain = _decompress_zstd_frame(data[:end], most, limit - total, limit)
        total += len(plain)
        out.append(plain)
        data = data[end:]
        if not data:
            return out[0] if len(out) == 1 else b"".join(out)
    raise CompressionError(f"zstd: more than {COMPRESSED_MEMBERS_MAX} frames")


def _is_skippable(data: memoryview) -> bool:
    """Whether a frame is there that readers skip. Source: RFC 8878, 3.1.2."""
    return len(data) >= 4 and int.from_bytes(data[:4], "little") & ~0xF == _ZSTD_SKIP_MAGIC


def _decompress_zstd_frame(frame: memoryview, most: int, room: int, limit: int) -> bytes:
    """One frame, whose blocks hold `most` bytes at most; of `limit` bytes `room` are left."""
    import zstandard

    try:
        announced = zstandard.frame_content_size(frame)  # -1: it does not say
        if announced > room:
            raise _too_large("zstd", limit)
        if announced > most:
            raise CompressionError(f"zstd: content size {announced} exceeds the {most} bytes its blocks can hold")
        plain = bytes(_zstd_contexts().decompressor.decompress(frame, max_output_size=min(most, room + 1)))
    except zstandard.ZstdError as failure:
        raise CompressionError(f"zstd: {failure}, or decompresses to more than {limit} bytes") from None
    if len(plain) > room:
        raise _too_large("zstd", limit)
    return plain


def _measure_zstd_frame(data: memoryview) -> tuple[int, int]:
    """Where the first frame ends, and the most that its blocks can hold. Source: RFC 8878, 3.1.1."""
    import zstandard

    try:
        position = zstandard.frame_header_size(data)
        has_checksum = zstandard.get_frame_parameters(data).has_checksum
    except zstandard.ZstdError as failure:
        raise CompressionError(f"zstd: {failure}") from None
    most = 0
    is_last = False
    while not is_last:
        block = int.from_bytes(data[position : position + _ZSTD_BLOCK_HEADER_BYTES], "little")
        is_last = bool(block & 1)
        size = 1 if block >> 1 & 3 == _ZSTD_RUN else block >> 3
        position += _ZSTD_BLOCK_HEADER_BYTES + size
        most += ZSTD_BLOCK_BYTES_MAX
        if position > len(data):
            raise CompressionError("zstd: the frame is truncated")
    return position + _ZSTD_CHECKSUM_BYTES * has_checksum, most


_COMPRESSORS: Final[tuple[Callable[[Buffer], bytes], ...]] = (
    bytes,
    _compress_gzip,
    _compress_xerial,
    _compress_lz4,
    _compress_zstd,
)
_DECOMPRESSORS: Final[tuple[Callable[[memoryview, int], bytes], ...]] = (
    _decompress_gzip,
    _decompress_snappy,
    _decompress_lz4,
    _decompress_zstd,
)
assert len(_COMPRESSORS) == len(_DECOMPRESSORS) + 1 == len(Codec)

"""The five codecs of record batches.

    0 none | 1 gzip | 2 snappy | 3 lz4 (frame) | 4 zstd

Snappy comes in two framings: raw blocks (most clients), and the Java clients' xerial stream: a 16-byte
header, then blocks of at most 32 KiB, each behind its 4-byte length. We read both and write xerial, which
every client reads.

Every decompression has a limit: a batch that would grow beyond it is refused before the memory is taken.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import Any

from headrace.errors import HeadraceError
from headrace.protocol.varint import read_uvarint

DECOMPRESSED_BYTES_MAX = 256 * 1024 * 1024
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL_MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
XERIAL_BLOCK_BYTES = 32 * 1024
GZIP_LEVEL = 1
_CHUNK_BYTES = 1 << 20


class Codec(IntEnum):
    """Bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CompressionError(HeadraceError):
    """Bytes that don't decompress, or would grow beyond the limit."""


def compress(codec: int, data: bytes | memoryview) -> bytes:
    """Compress in the form that Kafka's Java client reads."""
    if codec == Codec.GZIP:
        from isal import igzip

        return bytes(igzip.compress(data, compresslevel=GZIP_LEVEL))
    if codec == Codec.SNAPPY:
        return _compress_xerial(data)
    if codec == Codec.LZ4:
        import lz4.frame

        return bytes(lz4.frame.compress(data, store_size=False))
    if codec == Codec.ZSTD:
        return bytes(_zstd_compressor().compress(data))
    assert codec == Codec.NONE, codec
    return bytes(data)


def decompress(codec: int, data: bytes | memoryview, limit: int = DECOMPRESSED_BYTES_MAX) -> bytes | memoryview:
    """The plain bytes; without a codec the data itself.

    limit    most bytes that may come out
    raises   CompressionError, for garbage, an unknown codec, or more than `limit`
    """
    try:
        if codec == Codec.NONE:
            return data
        if codec == Codec.GZIP:
            return _decompress_gzip(data, limit)
        if codec == Codec.SNAPPY:
            return _decompress_snappy(data, limit)
        if codec == Codec.LZ4:
            return _decompress_lz4(data, limit)
        if codec == Codec.ZSTD:
            return _decompress_zstd(data, limit)
    except CompressionError:
        raise
    except Exception as failure:  # each library has errors of its own
        raise CompressionError(f"{Codec(codec).name.lower()}: {failure}") from None
    raise CompressionError(f"codec {codec} is unknown")


def _too_large(name: str, limit: int) -> CompressionError:
    return CompressionError(f"{name}: more than {limit} bytes come out")


def _decompress_gzip(data: bytes | memoryview, limit: int) -> bytes:
    from isal import isal_zlib

    engine = isal_zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    plain = engine.decompress(data, max_length=limit + 1)
    if len(plain) > limit:
        raise _too_large("gzip", limit)
    if not engine.eof:
        raise CompressionError("gzip: the stream is cut short")
    return bytes(plain)


def _compress_xerial(data: bytes | memoryview) -> bytes:
    import cramjam

    out = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(bytes(data[start : start + XERIAL_BLOCK_BYTES])))
        out += (len(block).to_bytes(4, "big"), block)
    return b"".join(out)


def _decompress_snappy(data: bytes | memoryview, limit: int) -> bytes:
    if bytes(data[:8]) != XERIAL_MAGIC:
        return _decompress_block(data, limit)
    out = []
    position = len(XERIAL_HEADER)
    total = 0
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if size > len(data) - position:
            raise CompressionError(f"snappy: block of {size} bytes announced, fewer remain")
        block = _decompress_block(data[position : position + size], limit - total)
        total += len(block)
        out.append(block)
        position += size
    return b"".join(out)


def _decompress_block(data: bytes | memoryview, limit: int) -> bytes:
    import cramjam

    if read_uvarint(bytes(data[:8]), 0)[0] > limit:  # the length that a raw block announces
        raise _too_large("snappy", limit)
    return bytes(cramjam.snappy.decompress_raw(bytes(data)))


def _decompress_lz4(data: bytes | memoryview, limit: int) -> bytes:
    import lz4.frame

    engine = lz4.frame.LZ4FrameDecompressor()
    plain = engine.decompress(data, max_length=limit + 1)
    if len(plain) > limit:
        raise _too_large("lz4", limit)
    if not engine.eof:
        raise CompressionError("lz4: the frame is cut short")
    return bytes(plain)


def _decompress_zstd(data: bytes | memoryview, limit: int) -> bytes:
    import zstandard

    announced = zstandard.frame_content_size(bytes(data[:18]))
    if announced > limit:
        raise _too_large("zstd", limit)
    if announced >= 0:
        return bytes(_zstd_decompressor().decompress(data, max_output_size=limit))
    with _zstd_decompressor().stream_reader(data) as reader:
        out = []
        total = 0
        while chunk := reader.read(min(_CHUNK_BYTES, limit + 1 - total)):
            out.append(chunk)
            total += len(chunk)
            if total > limit:
                raise _too_large("zstd", limit)
    return b"".join(out)


_contexts: dict[str, Any] = {}


def _zstd_compressor() -> Any:
    import zstandard

    return _contexts.setdefault("compress", zstandard.ZstdCompressor(level=3))


def _zstd_decompressor() -> Any:
    import zstandard

    return _contexts.setdefault("decompress", zstandard.ZstdDecompressor())

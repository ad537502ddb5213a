"""What comes out of a compressed batch, some at a time: for who looks for one record and may stop early, or resume later.

`compression.decompress` gives all of it at once and has a limit for it. This needs none: memory holds a chunk, whatever the batch
becomes. Zstandard holds the frame's window besides, 128 MiB at most as in Java's clients, so a caller has few of these open at once. The
same formats are read, with the same tolerance. What is not whole ends the chunks or raises, and the reader of the
records notices that some are missing.

Runs in: network workers. Source: as of `compression.py`.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Final

from headrace.limits import COMPRESSED_MEMBERS_MAX
from headrace.protocol.compression import Buffer, Codec, CompressionError, decompress, is_gzip_member, snappy_blocks

CHUNK_BYTES: Final = 256 * 1024


def plain_chunks(codec: int, data: memoryview) -> Iterator[bytes]:
    """The plain bytes in order; of a snappy block all that it holds, of the others CHUNK_BYTES at most.

    raises   CompressionError, for garbage or an unknown codec
    """
    if codec == Codec.GZIP:
        return _gzip_chunks(data)
    if codec == Codec.SNAPPY:
        return snappy_blocks(data, sys.maxsize)  # 22 times what went in, at most
    if codec == Codec.LZ4:
        return _lz4_chunks(data)
    if codec == Codec.ZSTD:
        return _zstd_chunks(data)
    return iter((bytes(decompress(codec, data)),))


def _gzip_chunks(data: memoryview) -> Iterator[bytes]:
    from isal import isal_zlib
    from isal.igzip_lib import IsalError

    rest: Buffer = data
    for _ in range(COMPRESSED_MEMBERS_MAX):
        engine = isal_zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not engine.eof:
            try:
                plain = engine.decompress(rest, max_length=CHUNK_BYTES)
            except IsalError as failure:  # type: ignore[misc]  # its stub has an instance of it
                raise CompressionError(f"gzip: {failure}") from None
            rest = engine.unconsumed_tail
            if plain:
                yield plain
            elif not rest and not engine.eof:
                raise CompressionError("gzip: the stream is truncated")
        rest = engine.unused_data
        if not is_gzip_member(rest):
            return
    raise CompressionError(f"gzip: more than {COMPRESSED_MEMBERS_MAX} members")


def _lz4_chunks(data: memoryview) -> Iterator[bytes]:
    """Frame by frame. What comes after the first one is left out where it is no frame, as Java does."""
    import lz4.frame

    from headrace.protocol.lz4_checksum import without_content_checksum

    rest: Buffer = data
    for number in range(COMPRESSED_MEMBERS_MAX):
        engine = lz4.frame.LZ4FrameDecompressor()
        frame, given, is_checked = bytes(rest), 0, True
        rest = frame
        skipped = 0
        while not engine.eof:
            try:
                plain = engine.decompress(rest, max_length=CHUNK_BYTES)
            except RuntimeError as failure:
                if is_checked and "contentChecksum_invalid" in str(failure):
                    is_checked = False
                    engine, rest, skipped = lz4.frame.LZ4FrameDecompressor(), without_content_checksum(frame), given
                    continue
                if number:
                    return
                raise CompressionError(f"lz4: {failure}") from None
            rest = b""
            if skipped:  # came out before the checksum was compared
                plain, skipped = plain[skipped:], max(0, skipped - len(plain))
            if plain:
                given += len(plain)
                yield plain
            elif engine.needs_input and not engine.eof:
                if number:
                    return
                raise CompressionError("lz4: the frame is truncated")
        rest = bytes(engine.unused_data or b"")
        if not rest:
            return
    raise CompressionError(f"lz4: more than {COMPRESSED_MEMBERS_MAX} frames")


def _zstd_chunks(data: memoryview) -> Iterator[bytes]:
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    while True:
        try:
            plain = reader.read(CHUNK_BYTES)
        except zstandard.ZstdError as failure:
            raise CompressionError(f"zstd: {failure}") from None
        if not plain:
            return
        yield plain

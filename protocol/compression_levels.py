"""Compression at a configured level (KIP-390): `compression.gzip.level`, `.lz4.level`, `.zstd.level`.

Without one, `compression.compress` takes what costs least; Kafka's own defaults mean that too. Snappy has no levels.
"""

from __future__ import annotations

import threading
import zlib
from typing import Any, Final

from headrace.limits import COMPRESSORS_MAX
from headrace.protocol.compression import Buffer, Codec

# What Kafka's defaults are: the codec's usual way.
DEFAULT_LEVELS: Final = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}
# (lowest, highest) that KIP-390 allows; gzip's 0, which is no compression, is refused where a setting is read
LEVELS: Final = {Codec.GZIP: (-1, 9), Codec.LZ4: (1, 17), Codec.ZSTD: (-131_072, 22)}
_GZIP_WINDOW_BITS: Final = 16 + zlib.MAX_WBITS

# By level, because making one costs more than a small batch; for each thread, because they hold state.
_zstd: Final = threading.local()


def compress_at(codec: int, data: Buffer, level: int) -> bytes:
    """Compress with gzip (-1, 1 to 9), lz4 (1 to 17) or zstd (up to 22) at a level."""
    if codec == Codec.GZIP:
        return zlib.compress(data, level, _GZIP_WINDOW_BITS)
    if codec == Codec.LZ4:
        import lz4.frame

        return bytes(lz4.frame.compress(data, compression_level=level, store_size=False, block_linked=False))
    assert codec == Codec.ZSTD
    compressors: dict[int, Any] | None = getattr(_zstd, "by_level", None)
    if compressors is None:
        compressors = _zstd.by_level = {}
    compressor = compressors.get(level)
    if compressor is None:
        import zstandard

        if len(compressors) >= COMPRESSORS_MAX:
            compressors.clear()
        compressor = compressors[level] = zstandard.ZstdCompressor(level=level)
    return bytes(compressor.compress(data))

"""Bytes of each codec as clients write them, as only some readers take them, and as none does.

`USUAL` needs no second look; `READ` is read by Kafka's readers, and by ours; `OURS` by ours and others, not by Java's; `NOISE` by nobody.
What Apache Kafka 3.9 takes was asked of it.
"""

import gzip
import io
import random
import struct
import zlib

import lz4.frame
import snappy
import zstandard

from headrace.protocol.compression import XERIAL_HEADER, Codec
from headrace.protocol.record_batch import HEADER_BYTES, Record, build_batch

RECORDS = [Record(index, 1_700_000_000_000, b"k%d" % index, (b"%06d " % index) * 20) for index in range(60)]
BODY = build_batch(RECORDS)[HEADER_BYTES:]
HALF = len(BODY) // 2
SKIPPED = struct.pack("<II", 0x184D2A50, 5) + b"hello"
EMPTY_SKIPPED = struct.pack("<II", 0x184D2A5F, 0)


def zstd_streamed(data, window=0, **more):
    known = {"window_log": window} if window else {}
    parameters = zstandard.ZstdCompressionParameters.from_level(3, **known, **more)
    out = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(out, closefd=False) as writer:
        for position in range(0, len(data), 2_000):
            writer.write(data[position : position + 2_000])
            writer.flush(zstandard.FLUSH_BLOCK)
    return out.getvalue()


def xerial(data, block_bytes=32 << 10, words=XERIAL_HEADER[8:]):
    out = XERIAL_HEADER[:8] + words
    for position in range(0, len(data), block_bytes):
        block = snappy.compress(data[position : position + block_bytes])
        out += len(block).to_bytes(4, "big") + block
    return out


def lz4_of(data, **more):
    return lz4.frame.compress(data, **{"store_size": False, "block_linked": False, **more})


def gzip_of(data, flags=0, after_head=b"", level=6):
    engine = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = engine.compress(data) + engine.flush()
    head = bytes((0x1F, 0x8B, 8, flags, 0, 0, 0, 0, 0, 0xFF))
    return head + after_head + body + struct.pack("<II", zlib.crc32(data), len(data))


_zstd = zstandard.ZstdCompressor().compress
_noise = random.Random(30).randbytes
SMALL_BLOCKS = {"block_size": lz4.frame.BLOCKSIZE_MAX64KB, "block_linked": True}

USUAL = {
    "gzip": (Codec.GZIP, gzip_of(BODY)),
    "gzip, stored": (Codec.GZIP, gzip_of(BODY, level=0)),
    "gzip, level 9": (Codec.GZIP, gzip_of(BODY, level=9)),
    "gzip, Python's": (Codec.GZIP, gzip.compress(BODY)),
    "snappy, raw": (Codec.SNAPPY, snappy.compress(BODY)),
    "snappy, xerial": (Codec.SNAPPY, xerial(BODY)),
    "snappy, blocks of 1 KiB": (Codec.SNAPPY, xerial(BODY, 1_024)),
    "snappy, other words": (Codec.SNAPPY, xerial(BODY, words=b"\1\0\0\0" * 2)),
    "lz4": (Codec.LZ4, lz4_of(BODY)),
    "lz4, all checksums": (Codec.LZ4, lz4_of(BODY, block_checksum=True, content_checksum=True)),
    "lz4, content size": (Codec.LZ4, lz4_of(BODY, store_size=True)),
    "lz4, level 12": (Codec.LZ4, lz4_of(BODY, compression_level=12)),
    "zstd": (Codec.ZSTD, _zstd(BODY)),
    "zstd, size unknown": (Codec.ZSTD, zstd_streamed(BODY)),
    "zstd, checksum": (Codec.ZSTD, zstd_streamed(BODY, write_checksum=True)),
    "zstd, window of 2^27": (Codec.ZSTD, zstd_streamed(BODY, window=27)),
    "zstd, level 22": (Codec.ZSTD, zstandard.ZstdCompressor(level=22).compress(BODY)),
}
READ = {
    "gzip, a name": (Codec.GZIP, gzip_of(BODY, 8, b"name\0")),
    "gzip, a comment": (Codec.GZIP, gzip_of(BODY, 16, b"comment\0")),
    "gzip, an extra field": (Codec.GZIP, gzip_of(BODY, 4, b"\2\0ab")),
    "gzip, zeros behind": (Codec.GZIP, gzip_of(BODY) + bytes(16)),
    "gzip, noise behind": (Codec.GZIP, gzip_of(BODY) + _noise(40)),
    "gzip, a head behind": (Codec.GZIP, gzip_of(BODY) + gzip_of(b"")[:9]),
    "snappy, two streams": (Codec.SNAPPY, xerial(BODY[:HALF]) + xerial(BODY[HALF:])),
    "snappy, a byte behind": (Codec.SNAPPY, xerial(BODY) + b"\0"),
    "snappy, three bytes behind": (Codec.SNAPPY, xerial(BODY) + b"abc"),
    "lz4, noise behind": (Codec.LZ4, lz4_of(BODY) + _noise(40)),
    "lz4, a frame cut short behind": (Codec.LZ4, lz4_of(BODY) + lz4_of(BODY)[:-9]),
    "zstd, two frames": (Codec.ZSTD, _zstd(BODY[:HALF]) + _zstd(BODY[HALF:])),
    "zstd, two streamed frames": (Codec.ZSTD, zstd_streamed(BODY[:HALF]) + zstd_streamed(BODY[HALF:])),
    "zstd, an empty frame first": (Codec.ZSTD, _zstd(b"") + _zstd(BODY)),
    "zstd, skippable frames before": (Codec.ZSTD, SKIPPED + EMPTY_SKIPPED + _zstd(BODY)),
    "zstd, skippable frame between": (Codec.ZSTD, _zstd(BODY[:HALF]) + SKIPPED + _zstd(BODY[HALF:])),
    "zstd, skippable frames behind": (Codec.ZSTD, _zstd(BODY) + EMPTY_SKIPPED + SKIPPED),
    "zstd, a skippable frame cut short": (Codec.ZSTD, _zstd(BODY) + SKIPPED[:-2]),
    "zstd, its head cut short": (Codec.ZSTD, _zstd(BODY) + SKIPPED[:6]),
}
UNSEEN = {  # usual by their structure, and read
    "gzip, two members": (Codec.GZIP, gzip_of(BODY[:HALF]) + gzip_of(BODY[HALF:])),
    "lz4, another content's checksum": (Codec.LZ4, lz4_of(BODY, content_checksum=True)[:-1] + b"?"),
    "snappy, an empty block": (Codec.SNAPPY, XERIAL_HEADER + b"\0\0\0\1\0" + xerial(BODY)[16:]),
}
OURS = {
    "lz4, linked blocks": (Codec.LZ4, lz4_of(BODY * 20, **SMALL_BLOCKS)),
    "lz4, two frames": (Codec.LZ4, lz4_of(BODY[:HALF]) + lz4_of(BODY[HALF:])),
    "lz4, an empty frame first": (Codec.LZ4, lz4_of(b"") + lz4_of(BODY)),
}
_HEADS = {
    Codec.GZIP: gzip_of(BODY)[:10],
    Codec.SNAPPY: XERIAL_HEADER,
    Codec.LZ4: lz4_of(BODY)[:7],
    Codec.ZSTD: _zstd(BODY)[:4],
}
NOISE = {
    **{f"{codec.name.lower()}, noise of {size}": (codec, _noise(size)) for codec in _HEADS for size in (1, 60, 5_000)},
    **{f"{codec.name.lower()}, noise after its head": (codec, head + _noise(60)) for codec, head in _HEADS.items()},
    **{f"{codec.name.lower()}, nothing": (codec, b"") for codec in _HEADS},
    "gzip, cut": (Codec.GZIP, gzip_of(BODY)[:-10]),
    "gzip, no trailer": (Codec.GZIP, gzip_of(BODY)[:-8]),
    "gzip, another size": (Codec.GZIP, gzip_of(BODY)[:-4] + b"\1\2\3\4"),
    "gzip, a broken member behind": (Codec.GZIP, gzip_of(BODY) + gzip_of(BODY)[:10] + _noise(40)),
    "snappy, xerial, cut": (Codec.SNAPPY, xerial(BODY)[:-5]),
    "snappy, four bytes behind": (Codec.SNAPPY, xerial(BODY) + bytes(4)),
    "snappy, noise behind": (Codec.SNAPPY, xerial(BODY) + _noise(40)),
    "lz4, cut": (Codec.LZ4, lz4_of(BODY)[:-9]),
    "lz4, no end": (Codec.LZ4, lz4_of(BODY)[:-4]),
    "lz4, another header's checksum": (Codec.LZ4, lz4_of(BODY)[:6] + b"?" + lz4_of(BODY)[7:]),
    "zstd, cut": (Codec.ZSTD, _zstd(BODY)[:-5]),
    "zstd, zeros behind": (Codec.ZSTD, _zstd(BODY) + bytes(8)),
    "zstd, only a skippable frame": (Codec.ZSTD, SKIPPED),
}


def batch_of(codec, data, records=RECORDS):
    """A batch of v2 whose records are said to be compressed to these bytes; its header and checksum are right."""
    from headrace.checksum import crc32c

    batch = bytearray(build_batch(records)[:HEADER_BYTES] + data)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, 21, codec)
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return batch

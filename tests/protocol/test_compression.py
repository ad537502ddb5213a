"""Every codec there and back and against kafka-python's; bombs, garbage and cut streams refused in time and memory."""

import gzip
import random
import time
import tracemalloc

import kafka.codec
import lz4.frame
import pytest
import snappy
import zstandard

from headrace.limits import COMPRESSED_MEMBERS_MAX
from headrace.protocol.compression import (
    XERIAL_BLOCK_BYTES,
    XERIAL_HEADER,
    Codec,
    CompressionError,
    compress,
    decompress,
)

TEXT = b"".join(b"line %d of a text that repeats itself\n" % (number % 300) for number in range(5000))
NOISE = random.Random(3).randbytes(200_000)
PLAIN = {
    "nothing": b"",
    "a byte": b"x",
    "text": TEXT,
    "noise": NOISE,
    "a block": NOISE[:XERIAL_BLOCK_BYTES],
    "a block and a byte": NOISE[: XERIAL_BLOCK_BYTES + 1],
    "zeros": bytes(3 << 20),
}
COMPRESSING = [codec for codec in Codec if codec]
ENCODERS = {
    Codec.GZIP: kafka.codec.gzip_encode,
    Codec.SNAPPY: kafka.codec.snappy_encode,
    Codec.LZ4: kafka.codec.lz4_encode,
    Codec.ZSTD: kafka.codec.zstd_encode,
}
DECODERS = {
    Codec.GZIP: kafka.codec.gzip_decode,
    Codec.SNAPPY: kafka.codec.snappy_decode,
    Codec.LZ4: kafka.codec.lz4_decode,
    Codec.ZSTD: kafka.codec.zstd_decode,
}
BOMB_BYTES = 64 << 20
LIMIT_BYTES = 1 << 20
OVERSHOOT_BYTES = 1 << 20


def zstd_stream(data):
    """As the Java client writes it: without the size of what comes out."""
    engine = zstandard.ZstdCompressor().compressobj()
    return engine.compress(data) + engine.flush()


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec_goes_there_and_back(codec, name):
    data = compress(codec, memoryview(PLAIN[name]))
    assert bytes(decompress(codec, memoryview(data))) == PLAIN[name]
    assert bytes(decompress(codec, data, len(PLAIN[name]))) == PLAIN[name]


@pytest.mark.parametrize("name", ["a byte", "text", "noise", "a block and a byte"])
@pytest.mark.parametrize("codec", COMPRESSING)
def test_kafka_python_reads_ours_and_we_read_its(codec, name):
    assert DECODERS[codec](compress(codec, PLAIN[name])) == PLAIN[name]
    assert decompress(codec, ENCODERS[codec](PLAIN[name])) == PLAIN[name]


def test_without_a_codec_the_data_is_not_copied():
    data = memoryview(b"as it is")
    assert decompress(Codec.NONE, data) is data


@pytest.mark.parametrize("data", [TEXT, NOISE, b"", b"x"])
def test_raw_snappy_is_read(data):
    assert decompress(Codec.SNAPPY, snappy.compress(data)) == data


@pytest.mark.parametrize("data", [TEXT, NOISE, b"", bytes(8 << 20)])
def test_zstd_that_does_not_say_its_size_is_read(data):
    assert decompress(Codec.ZSTD, zstd_stream(data)) == data


@pytest.mark.parametrize("data", [TEXT, bytes(8 << 20)])
def test_lz4_with_linked_blocks_checksums_and_sizes_is_read(data):
    whole = lz4.frame.compress(data, block_linked=True, content_checksum=True, block_checksum=True, store_size=True)
    assert decompress(Codec.LZ4, whole) == data


@pytest.mark.parametrize("member", [gzip.compress, lz4.frame.compress, zstd_stream, zstandard.compress])
def test_several_members_are_one_stream(member):
    codec = {gzip.compress: Codec.GZIP, lz4.frame.compress: Codec.LZ4}.get(member, Codec.ZSTD)
    assert decompress(codec, member(TEXT) + member(b"") + member(b"end")) == TEXT + b"end"
    assert decompress(codec, member(b"ab") * COMPRESSED_MEMBERS_MAX) == b"ab" * COMPRESSED_MEMBERS_MAX
    with pytest.raises(CompressionError, match=f"more than {COMPRESSED_MEMBERS_MAX}"):
        decompress(codec, member(b"") * (COMPRESSED_MEMBERS_MAX + 1))


@pytest.mark.parametrize("codec", COMPRESSING)
def test_the_limit_is_exact(codec):
    data = compress(codec, NOISE[:70_000])
    assert len(decompress(codec, data, 70_000)) == 70_000
    with pytest.raises(CompressionError, match="decompresses to more than 69999 bytes"):
        decompress(codec, data, 69_999)


def bombs():
    zeros = bytes(BOMB_BYTES)
    yield "gzip", Codec.GZIP, gzip.compress(zeros, 9)
    yield "gzip members", Codec.GZIP, gzip.compress(zeros[: BOMB_BYTES // 200], 9) * 200
    yield "xerial", Codec.SNAPPY, compress(Codec.SNAPPY, zeros)
    yield (
        "xerial, one block",
        Codec.SNAPPY,
        XERIAL_HEADER + len(block := snappy.compress(zeros)).to_bytes(4, "big") + block,
    )
    yield "raw snappy", Codec.SNAPPY, snappy.compress(zeros)
    yield "lz4", Codec.LZ4, lz4.frame.compress(zeros)
    yield "lz4 frames", Codec.LZ4, lz4.frame.compress(zeros[: BOMB_BYTES // 200]) * 200
    yield "zstd", Codec.ZSTD, zstandard.compress(zeros)
    yield "zstd of unknown size", Codec.ZSTD, zstd_stream(zeros)
    yield "zstd frames", Codec.ZSTD, zstandard.compress(zeros[: BOMB_BYTES // 200]) * 200


@pytest.mark.parametrize(("codec", "data"), [pytest.param(codec, data, id=name) for name, codec, data in bombs()])
def test_a_bomb_is_refused_before_it_grows(codec, data):
    with pytest.raises(CompressionError):
        decompress(codec, b"", 1)  # the library is loaded: its memory is not the bomb's
    tracemalloc.start()
    begun = time.process_time()
    try:
        with pytest.raises(CompressionError, match=f"decompresses to more than {LIMIT_BYTES} bytes"):
            decompress(codec, data, LIMIT_BYTES)
        assert tracemalloc.get_traced_memory()[1] < LIMIT_BYTES + 3 * len(data) + OVERSHOOT_BYTES
    finally:
        tracemalloc.stop()
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("codec", "data", "reason"),
    [
        (Codec.SNAPPY, b"", "a block without a length"),
        (Codec.SNAPPY, b"\xff\xff\xff\xff\xff\xff", "a block without a length"),
        (Codec.SNAPPY, b"\x80\x80\x80\x40abcdef", "134217728 bytes can't come of 10"),
        (Codec.SNAPPY, XERIAL_HEADER + b"\0\0\1\0abc", "a block of 256 bytes is truncated"),
        (Codec.SNAPPY, XERIAL_HEADER + b"\xff\xff\xff\xff", "a block of 4294967295 bytes is truncated"),
        (Codec.SNAPPY, XERIAL_HEADER + b"\0\0\0\0", "a block without a length"),
        (Codec.ZSTD, zstandard.compress(b"ab") + b"garbage", "error when determining|incomplete|Unknown frame"),
        (Codec.ZSTD, b"", "zstd: "),
        (Codec.ZSTD, b"\x28\xb5\x2f\xfd\xa0\0\0\0\x08\x01\0\0", "content size 134217728 exceeds the 131072 bytes"),
        (5, b"data", "codec 5 is unknown"),
        (7, b"", "codec 7 is unknown"),
        (-1, b"", "codec -1 is unknown"),
    ],
)
def test_garbage_says_what_is_wrong(codec, data, reason):
    with pytest.raises(CompressionError, match=reason):
        decompress(codec, data)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_stream_cut_anywhere_is_refused(codec):
    whole = compress(codec, TEXT)
    for size in {*range(40), *range(0, len(whole), 997), len(whole) - 1}:
        try:
            cut = decompress(codec, whole[:size])
        except CompressionError:
            continue
        assert codec == Codec.SNAPPY  # blocks stand on their own
        assert TEXT.startswith(cut)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_damaged_streams_raise_nothing_but_compression_error(codec):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    whole = compress(codec, TEXT[:3000] + NOISE[:500])
    for number in range(1000):
        data = bytearray(whole if number % 4 else chance.randbytes(chance.randrange(200)))
        for _ in range(chance.randint(1, 4)):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            decompress(codec, bytes(data), 1 << 20)
        except CompressionError:
            pass
        except Exception as other:
            pytest.fail(f"seed {seed}, number {number}, {data.hex()}: {other!r}")


def test_blocks_of_lz4_stand_alone_as_java_clients_demand():
    frame = compress(Codec.LZ4, random.Random(1).randbytes(300_000))
    assert frame[4] & 0x20, "FLG: block independence"


def xerial(*blocks):
    return XERIAL_HEADER + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)


def test_blocks_of_a_xerial_stream_are_bounded_by_what_comes_out_of_them():
    block = bytes(snappy.compress(bytes(1_024)))
    assert len(decompress(Codec.SNAPPY, xerial(*[block] * 5_000))) == 5_000 * 1_024
    assert decompress(Codec.SNAPPY, xerial(*[b"\0"] * COMPRESSED_MEMBERS_MAX)) == b""
    for blocks in ([b"\0"] * (COMPRESSED_MEMBERS_MAX + 1), [b"\0"] * 200_000, [bytes(snappy.compress(b"x"))] * 1_000):
        with pytest.raises(CompressionError, match="blocks"):
            decompress(Codec.SNAPPY, xerial(*blocks))
    with pytest.raises(CompressionError):
        decompress(Codec.SNAPPY, xerial(b""))


def test_no_two_threads_share_a_context_of_zstd():
    from concurrent.futures import ThreadPoolExecutor

    from headrace.protocol.compression import _zstd_contexts

    mine = _zstd_contexts()
    with ThreadPoolExecutor(1) as others:
        assert others.submit(_zstd_contexts).result() is not mine
    assert _zstd_contexts() is mine

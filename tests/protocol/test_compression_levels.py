"""Levels of compression: what any of them wrote every reader reads, and a higher one is no larger by much."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.limits import COMPRESSORS_MAX
from headrace.protocol import compression_levels
from headrace.protocol.compression import Codec, decompress
from headrace.protocol.compression_levels import DEFAULT_LEVELS, compress_at

SEED = 11
LEVELS = {
    Codec.GZIP: [-1, *range(1, 10)],
    Codec.LZ4: list(range(1, 18)),
    Codec.ZSTD: [-131072, -5, -1, *range(1, 23)],
}


@pytest.fixture(scope="module")
def text():
    chance = random.Random(SEED)
    words = [bytes(chance.choices(b"abcdefgh", k=chance.randrange(2, 9))) for _ in range(200)]
    return b" ".join(chance.choices(words, k=20_000))


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec, levels in LEVELS.items() for level in levels])
def test_what_is_compressed_at_any_level_is_read(codec, level, text):
    assert bytes(decompress(codec, compress_at(codec, text, level), len(text))) == text
    assert bytes(decompress(codec, compress_at(codec, b"", level), 0)) == b""


@pytest.mark.parametrize(("codec", "levels"), [(Codec.GZIP, (1, 9)), (Codec.LZ4, (1, 12)), (Codec.ZSTD, (1, 19))])
def test_the_level_is_taken(codec, levels, text):
    low, high = (len(compress_at(codec, text, level)) for level in levels)
    assert high < low


def test_the_levels_of_kafkas_defaults_are_those_of_a_codec_that_nobody_tuned():
    assert set(DEFAULT_LEVELS) == set(LEVELS)
    assert all(level in LEVELS[codec] for codec, level in DEFAULT_LEVELS.items())


def test_compressors_that_are_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(compression_levels._zstd, "by_level", {}, raising=False)
    for level in range(-2 * COMPRESSORS_MAX, 0):
        compress_at(Codec.ZSTD, b"x", level)
        assert len(compression_levels._zstd.by_level) <= COMPRESSORS_MAX


def test_no_two_threads_share_a_compressor(text):
    """One of zstd's holds state: two producers of a process may compress at once."""

    def used():
        compress_at(Codec.ZSTD, text, 5)
        return compression_levels._zstd.by_level[5]

    mine = used()
    with ThreadPoolExecutor(1) as others:
        assert others.submit(used).result() is not mine
    assert used() is mine

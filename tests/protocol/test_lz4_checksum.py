"""The header checksum against the xxhash library, on every length that a header can have."""

import random

import lz4.frame
import pytest
import xxhash

from headrace.protocol.compression import CompressionError
from headrace.protocol.lz4_checksum import with_old_checksum, with_right_checksum, xxh32_short

DATA = b"some text, some text, some text" * 10


def test_the_hash_is_that_of_the_library():
    chance = random.Random(5)
    for size in range(16):
        for _ in range(50):
            data = chance.randbytes(size)
            assert xxh32_short(data) == xxhash.xxh32_intdigest(data)


@pytest.mark.parametrize("store_size", [False, True])
def test_a_broken_header_is_mended(store_size):
    frame = lz4.frame.compress(DATA, store_size=store_size)
    broken = with_old_checksum(frame)
    with pytest.raises(RuntimeError):
        lz4.frame.decompress(broken)
    assert with_right_checksum(broken) == with_right_checksum(frame) == frame
    assert (
        with_old_checksum(frame)[6 + 8 * store_size] == xxhash.xxh32_intdigest(frame[: 6 + 8 * store_size]) >> 8 & 255
    )


@pytest.mark.parametrize("size", range(7))
def test_a_cut_header_is_refused(size):
    with pytest.raises(CompressionError, match="frame of"):
        with_right_checksum(lz4.frame.compress(DATA)[:size])

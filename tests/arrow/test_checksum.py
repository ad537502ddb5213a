"""CRC-32C in kernels: both ways give what the library gives."""

import random

import numpy as np
import pytest
from crc32c import crc32c as library_crc32c

from headrace.arrow import checksum


@pytest.mark.parametrize("way", ["_by_tables", "_by_instruction"])
def test_any_bytes_at_any_place_have_the_sum_of_the_library(way):
    if way == "_by_instruction" and not checksum.has_instruction():
        pytest.skip("a processor without the crc32 instruction")
    kernel = getattr(checksum, way)
    dice = random.Random(4)
    data = np.frombuffer(dice.randbytes(20_000), np.uint8)
    lengths = [0, 1, 7, 8, 9, 63, 3071, 3072, 3073, 6144, 10_001]
    for length in lengths + [dice.randrange(15_000) for _ in range(100)]:
        position = dice.randrange(len(data) - length + 1)
        assert kernel(data, position, position + length) == library_crc32c(data[position : position + length].tobytes())

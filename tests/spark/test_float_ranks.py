"""Ranks of floats: Spark's order, and the same floats again."""

import math
import random
import struct

import pyarrow as pa
import pytest

from headrace.spark.float_ranks import floats_of, ranks_of

ORDERED = [-math.inf, -2.5, -1e-300, -0.0, 0.0, 1e-300, 1.5, 2.5, math.inf, math.nan]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_nan_is_the_largest_and_every_float_comes_back(kind):
    dice = random.Random(1)
    given = [dice.choice([*ORDERED, None]) for _ in range(200)]
    values = pa.chunked_array([pa.array(given[:70], kind), pa.array(given[68:], kind).slice(2)], kind)
    ranks = ranks_of(values)
    assert [str(one) for one in floats_of(ranks).to_pylist()] == [str(one) for one in values.to_pylist()]
    known = {str(value): rank for value, rank in zip(given, ranks.to_pylist(), strict=True) if value is not None}
    ordered = [known[str(value)] for value in ORDERED]
    assert ordered == sorted(ordered)
    assert [index for index, value in enumerate(given) if value is None] == [
        index for index, rank in enumerate(ranks.to_pylist()) if rank is None
    ]


def test_every_nan_is_one():
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF]
    nans = [struct.unpack("<d", struct.pack("<Q", one))[0] for one in bits]
    assert set(ranks_of(pa.chunked_array([pa.array(nans, pa.float64())])).to_pylist()) == {2**63 - 1}
    assert math.isnan(floats_of(pa.chunked_array([pa.array([2**63 - 1], pa.int64())]))[0].as_py())
